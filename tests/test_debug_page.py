"""The Debug page without a browser, and the background work behind it."""

import threading
import time
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from features.explain import Case, case_of
from features.explain.calibration import Bin, Calibration
from features.explain.lessons import FAILING
from features.recipe import Recipe
from ui.debug import confidence, path_to_truth
from ui.debug.page import TABS
from ui.jobs.scheduler import JobPool, Visitor
from ui.jobs.task import Task
from ui.shell.session_slots import AGAIN, CASE, FOCUS, TOOL, WORK
from ui.shell.session_slots import RECIPE as RECIPE_SLOT

RECIPE = Recipe("random", {"inliers": 8, "outliers": 3, "noise": 30.0, "seed": 0}, "B")


@pytest.fixture(scope="module")
def case() -> Case:
    found = case_of(RECIPE)
    assert len(found.wrong) > 3
    return found


def page(case: Case | None = None, **slots) -> AppTest:
    test = AppTest.from_string("from ui.debug import page\npage.show()", default_timeout=120)
    if case is not None:
        test.session_state[CASE.name] = case
    for name, value in slots.items():
        test.session_state[{"focus": FOCUS.name, "tool": TOOL, "again": AGAIN.name}[name]] = value
    return run(test)


def run(test: AppTest) -> AppTest:
    test.run()
    assert not test.exception
    return test


def text(test: AppTest) -> str:
    return "\n".join(str(one.value) for one in [*test.markdown, *test.caption, *test.info, *test.success])


def finish(test: AppTest) -> AppTest:
    """Wait for the background work, then draw what came of it."""
    assert test.session_state[WORK.name].task.wait().status == "finished"
    return run(test)


def test_without_a_case_the_page_says_how_to_get_one():
    test = page()
    assert "Why? Open in Debug" in text(test)
    assert test.button(key="debug Run what is chosen now").label == "Run what is chosen now"


def test_without_a_case_a_real_failure_is_opened_and_says_that_it_is_an_example():
    test = finish(page())
    assert test.session_state[CASE.name].wrong and "An example" in text(test)


@pytest.mark.parametrize("verdict", FAILING)
def test_every_example_opens_a_case_with_its_verdict(verdict):
    test = page()
    test.button(key=f"debug An example: {verdict}").click()
    found = finish(run(test)).session_state[CASE.name]
    assert found.metrics.verdict == verdict and found.wrong


def test_a_row_is_run_again_in_the_background_and_becomes_the_case(case):
    test = finish(page(again=RECIPE))
    found = test.session_state[CASE.name]
    assert found.wrong == case.wrong and "Model prefers this" in text(test)


def test_a_row_whose_data_are_not_here_offers_to_fetch_them_and_leaves_the_other_doors_open(monkeypatch, tmp_path):
    for name in ("ADGM_DATA_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    test = page(again=Recipe("house", {}, "A"))
    assert any(button.label == "Download CMU House" for button in test.button)
    test.button(key=f"debug An example: {next(iter(FAILING))}").click()
    assert finish(run(test)).session_state[CASE.name].wrong


def test_a_run_that_failed_leaves_the_doors_open_and_can_be_tried_again():
    impossible = Recipe("random", {"inliers": 8}, "given")  # which gives none
    test = page(again=impossible)
    assert test.session_state[WORK.name].task.wait().status == "failed"
    test = run(test)
    assert test.error and test.button(key="debug Run what is chosen now")
    first = test.session_state[WORK.name]
    test.session_state[RECIPE_SLOT.name] = impossible
    run(test).button(key="debug Run what is chosen now").click()
    assert run(test).session_state[WORK.name] is not first


def test_the_ledger_is_about_the_match_in_focus(case):
    match = case.wrong[1]
    said = text(page(case, focus=match))
    assert f"**Left {match[0]} → right {match[1]}**" in said
    assert repr(case.ledger(match).total) in said and "to the last digit" in said
    whole = page(case, focus=match)  # the ledger is what opens for a match; without one, the histograms do
    assert page(case).session_state[TOOL] == TABS[0].label == "Right or wrong"
    whole.selectbox[0].set_value("the whole matching")
    assert f"{len(case.wrong)} matches differ" in text(run(whole))


def test_other_runs_say_what_they_prove_and_can_be_looked_at(case):
    test = page(case, tool="Ledger")
    test.button(key="ask ('retry', 'careful')").click()
    test = finish(run(test))
    assert "The careful search ends with" in text(test)
    test.button(key="look careful").click()
    run(test)
    assert test.session_state[CASE.name] is not case


@pytest.mark.parametrize("tab", [tab.label for tab in TABS])
def test_every_tab_is_drawn_for_any_case(case, tab):
    perfect = replace(case, answer=case.truth)
    unknown = replace(case, pair=replace(case.pair, truth=None))
    drawn = [text(page(one, tool=tab)) for one in (case, perfect, unknown)]
    assert "Model prefers this" in drawn[0] and "Both agree" in drawn[1] and "truth is unknown" in drawn[2]
    assert len(set(drawn)) == 3


def test_margins_stability_and_calibration_are_found_and_told(case):
    test = page(case, tool="Confidence")
    for question in ("('margins', 10000000.0)", "('stability', 2.0, 20)"):
        test.button(key=f"ask {question}").click()
        test = finish(run(test))
    said = text(test)
    margins = case.margins(steps=confidence.STEPS)
    assert f"{sum(m.certified for m in margins)} of {len(margins)} margins certified" in said
    assert "20 runs, points moved by 2 px" in said
    test.number_input(key="calibrate on").set_value(2)
    run(test).button(key="ask ('calibration', 2.0, 2)").click()
    assert "matches of 2 pairs" in text(finish(run(test)))


@pytest.mark.parametrize(
    ("claimed", "right", "count", "said"),
    [
        (0.9, 0.9, 400, "90 % **does** mean 90 %: of 400"),
        (0.9, 0.7, 400, "90 % **does not** mean 90 %"),
        (0.9, 1.0, 19, "only 19 matches are claimed at about 90 %, too few to judge by"),
        (0.7, 0.7, 400, "nothing is claimed at about 90 %"),
    ],
)
def test_a_share_is_called_true_only_where_enough_matches_tell(claimed, right, count, said):
    assert confidence.verdict(Calibration((Bin(claimed, right, count),), count)).startswith(said)


def test_the_way_back_names_where_the_model_errs(case):
    found = case.way_back()
    said = path_to_truth.sentence(found)
    assert f"The model errs at exchange {found.first_dear + 1}" in said and f"{len(found.steps)} exchanges" in said
    assert said in text(page(case, tool="Way back"))


# ---- the task ----------------------------------------------------------------------------------------------------


def test_a_task_reports_and_a_stopped_one_keeps_what_it_has():
    half, go = threading.Event(), threading.Event()

    def work(report):
        report(0.5, "half", [1])
        half.set()
        go.wait(60)
        report(0.6, "more")
        raise AssertionError("it was stopped before")

    task = Task(work, pool=JobPool(1)).start()
    assert half.wait(60)
    assert (task.progress().share, task.progress().text, task.progress().active) == (0.5, "half", True)
    task.stop()
    go.set()
    end = task.wait()
    assert (end.status, end.value) == ("stopped", [1])


def test_a_task_ends_with_its_result_or_with_a_sentence():
    def fails(error):
        def work(report):
            raise error

        return Task(work, pool=JobPool(1)).start().wait()

    assert Task(lambda report: 7, pool=JobPool(1)).start().wait().value == 7
    assert fails(ValueError("take fewer")).error == "take fewer"
    assert "RuntimeError: oh" in fails(RuntimeError("oh")).error
    assert "memory" in fails(MemoryError()).error


def test_a_task_waits_for_its_turn_and_is_given_up_when_nobody_watches():
    pool, hold = JobPool(1), threading.Event()
    first = Task(lambda report: hold.wait(60), pool=pool).start()
    while first.progress().status == "waiting":
        time.sleep(0.01)
    second = Task(lambda report: None, pool=pool, visitor=Visitor(patience=0.05)).start()
    assert second.wait().status == "abandoned"
    hold.set()
    assert first.wait().status == "finished" and not pool.computing and not pool.queue
