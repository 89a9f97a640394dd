"""The Debug page's tools for a whole model: what each computes in the background, and what its tab shows (AppTest)."""

import math
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from features import match
from features.explain import case_of
from features.explain.fitting import Fit
from features.explain.separation import separations
from features.explain.sweeps import Axis, sweep
from features.explain.versus import Line, Versus
from features.judge.intervals import Interval
from features.models import written
from features.recipe import OWN, Recipe
from streamlit_client import component_data
from ui.debug import failures, versus
from ui.jobs.task import Task
from ui.parts.charts import tools as charts
from ui.parts.escape import literal
from ui.parts.run_book import Book
from ui.shell.session_slots import BOOK, CASE, FOCUS, RECIPE, TOOL, WORK

WRONG = Recipe("random", {"inliers": 8, "outliers": 6, "noise": 8.0}, "B", {"sigma2": 1.0})


@pytest.fixture(scope="module")
def case():
    found = case_of(WRONG)
    assert found.wrong
    return found


def opened(tool: str, case=None, **state) -> AppTest:
    test = AppTest.from_string("from ui.debug import page\npage.show()", default_timeout=60)
    test.session_state[TOOL] = tool
    if case is not None:
        test.session_state[CASE.name] = case
        test.session_state[FOCUS.name] = case.wrong[0] if case.wrong else None
    for name, value in state.items():
        test.session_state[name] = value
    return ran(test)


def ran(test: AppTest) -> AppTest:
    test.run()
    assert not test.exception
    return test


def asked(test: AppTest, label: str) -> AppTest:
    """Press a button that begins long work, wait for its end, and draw the page again."""
    ran_button = next(one for one in test.button if one.label == label)
    ran_button.click().run()
    assert not test.exception
    end = test.session_state[WORK.name].task.wait(60)
    assert end.status == "finished", end.error
    return ran(test)


def texts(test: AppTest) -> str:
    kinds = (test.caption, test.markdown, test.info, test.warning, test.error, test.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


# ---- the tabs ----------------------------------------------------------------------------------------------------


def test_a_sweep_shows_a_picture_of_every_setting_and_is_noted_in_the_run_book(case):
    test = opened("Sweep", case)
    key = f"sweep 1 {case.recipe.model}"
    assert test.selectbox(key=key).value == "model.sigma2"
    test.number_input(key=f"{key} count").set_value(3)
    test.number_input(key=f"{key} model.sigma2 to").set_value(900.0).run()
    asked(test, "Run 3 settings")
    buttons = [one.label for one in test.button if (one.key or "").startswith("sweep open")]
    assert len(buttons) == 3 and buttons[-1].startswith("900: ")
    book = test.session_state[BOOK.name]
    assert [entry.origin for entry in book] == ["Sweep"] * 3
    ran(test)
    assert len(book) == 3  # once each, however often they are drawn


def test_the_smallest_change_is_found_and_can_be_opened(case):
    test = opened("Sweep", case)
    i, j = case.wrong[0]
    asked(test, f"Which model.sigma2 corrects {i} → {j}?")
    assert f"left point {i}" in texts(test) and "instead of 1" in texts(test)
    assert any(one.key == "change open" for one in test.button)


def test_an_ablation_is_a_table_with_a_line_for_every_change(case):
    test = opened("Ablation", case, **{"ablation sample": 1})
    asked(test, "Leave out, halve, double")
    frame = test.dataframe[0].value
    assert list(frame["model"]) == ["as it is", "model.sigma2 = 2"] and frame["sample"].notna().all()


def test_failures_are_counted_by_cause(case):
    test = opened("Failures", case, **{"failures count": 2})
    asked(test, "Look for failures")
    assert "wrong points" in texts(test) and "on 2 pairs" in texts(test)
    frame = test.dataframe[0].value
    assert len(frame) == 2 and all(text.startswith("data:image/png") for text in frame["matching"])
    assert abs(frame["regret"]).is_monotonic_decreasing
    assert failures.CAUSES.keys() >= set(test.button_group[-1].options)


def test_a_fit_shows_both_sets_of_pairs_before_and_after_and_goes_to_match(case):
    test = opened("Fit", case, **{"fit pairs": 6})
    assert "3 pairs to learn from, 3 others that judge" in [one.label for one in test.expander]
    asked(test, "Fit the model")
    found = test.session_state[WORK.name].task.progress().value
    assert isinstance(found, Fit) and found.test[1].error < found.test[0].error
    assert [one.label for one in test.metric] == ["Right on 3 training pairs", "Right on 3 test pairs"]
    assert "test, after" in texts(test) and "--param sigma2=" in texts(test)
    next(one for one in test.button if one.label == "Use it on Match").click().run()
    assert test.session_state[RECIPE.name].model_params == found.recipe.model_params


# ---- right or wrong, and two models ------------------------------------------------------------------------------


def test_ready_models_are_judged_by_part_and_go_to_match_as_formulas(case):
    third = case_of(replace(WRONG, model="A", model_params={"eta": 0.25}))
    test = opened("Right or wrong", third)
    parts = component_data(test, "parts")["parts"]
    assert [one["name"] for one in parts] == ["descriptors", "edges", "edges: change of length", "edges: turn"]
    assert parts[1]["auc"] == round(separations(third.recipe, third.pair, whole=True)[1].auc, 3)
    assert component_data(test, "parts")["curves"]
    next(one for one in test.button if one.label == "Change its formula on Match").click().run()
    chosen = test.session_state[RECIPE.name]
    assert written(chosen.model) and chosen.model_params == {"eta": 0.25}
    assert "nobody knows" in texts(opened("Right or wrong", replace(case, pair=replace(case.pair, truth=None))))


def test_two_models_are_compared_on_the_same_pairs_and_a_pair_opens(case):
    test = opened("Versus", case, **{versus.PAIRS: 6})
    against = test.selectbox(key=versus.AGAINST)
    assert against.value == versus.DEFAULTS and "Pairwise B" not in against.options
    against.set_value("Pairwise C").run()
    asked(test, "Compare")
    fights = test.session_state[WORK.name].task.progress().value
    found = Versus.of(fights)
    assert found.names == ("Pairwise B", "Pairwise C") and literal(found.verdict) in texts(test)
    assert list(test.dataframe[0].value["pairs"]) == ["6"]
    shown = test.dataframe[1].value
    assert list(shown["difference"]) == [100 * one.gain for one in found.duels]
    assert all(one.first.name in list(shown["pair"]) for one in fights)


def test_what_is_wrong_with_the_formula_to_compare_with_is_told(case):
    own = replace(case, recipe=replace(case.recipe, model="edges change", model_params={}))
    test = opened("Versus", own, **{versus.AGAINST: versus.FORMULA})
    assert "change it" in texts(test) and not any(one.label == "Compare" for one in test.button)
    field = test.text_area(key=f"versus formula {own.recipe.model}")
    field.set_value("edges abs(d1 - d)").run()
    assert "Line 1, column 16" in texts(test) and not any(one.label == "Compare" for one in test.button)
    field.set_value("edges abs(d1 - d2)").run()
    assert any(one.label == "Compare" for one in test.button)


def test_what_a_model_can_be_compared_with(monkeypatch):
    now = replace(WRONG, model="edges abs(d1 - d2)", model_params={})
    monkeypatch.setattr(versus.address, "current", lambda: now)
    offered = versus.opponents(replace(WRONG, model_params={"sigma2": 1.0, "rows": "any"}))
    assert [*offered][:2] == [versus.DEFAULTS, f"{versus.ON_MATCH}: Your formula"]
    assert offered[versus.DEFAULTS].model_params == {"rows": "any"}
    assert all(not one.misfit and one.dataset_params == WRONG.dataset_params for one in offered.values())
    assert {one.model for one in offered.values()} >= {"A", "B", "C", "third", now.model}
    pairwise = versus.opponents(replace(WRONG, method="sm"))
    assert "third" not in {one.model for one in pairwise.values()}


def test_a_pair_of_ones_own_has_no_others_to_fit_or_to_fail(case):
    own = replace(case, recipe=replace(case.recipe, dataset=OWN, dataset_params={}))
    assert all("your own" in texts(opened(tool, own)) for tool in ("Fit", "Failures", "Versus"))
    assert opened("Ablation", own).number_input(key="ablation sample").disabled
    third = replace(case, recipe=replace(case.recipe, model="third", model_params={}))
    assert "no number to be fitted" in texts(opened("Fit", third))


def test_the_run_book_filters_and_opens_without_a_case():
    book = Book()
    for sigma2 in (1.0, 900.0):
        book.add(match(replace(WRONG, model_params={"sigma2": sigma2})), "Match")
    test = opened("Runs", **{BOOK.name: book})
    assert list(test.dataframe[0].value["run"]) == [1, 2]
    test.text_input(key="book words").set_value("sigma2=900").run()
    assert list(test.dataframe[0].value["run"]) == [2]
    test.text_input(key="book words").set_value("nothing of the kind").run()
    assert "No run has these words" in texts(test) and not test.exception
    assert "No run yet" in texts(opened("Runs"))


# ---- work that is stopped ----------------------------------------------------------------------------------------


def test_stop_ends_a_sweep_between_two_runs_and_keeps_what_there_is(case):
    cells = []

    def work(report):
        for cell in sweep(case.recipe, Axis.of(case.recipe, "model.sigma2", count=30)):
            cells.append(cell)
            if len(cells) == 2:
                task.stop()
            report(0.1, "", list(cells))

    task = Task(work)
    end = task.start().wait(60)
    assert end.status == "stopped" and len(end.value) == 2


# ---- charts ------------------------------------------------------------------------------------------------------


def test_the_charts_have_a_mark_for_every_cell_and_a_click_finds_it(case):
    one, two = Axis("model.sigma2", (1.0, 900.0)), Axis("data.noise", (0.0, 8.0))
    cells = list(sweep(case.recipe, one))
    chart = charts.sweep_chart([one], cells, case.sense)
    assert [mark["value"] for mark in chart["series"][1]["data"]] == [round(100 * cell.accuracy, 1) for cell in cells]
    both = list(sweep(case.recipe, one, two))
    assert len(charts.sweep_chart([one, two], both, case.sense)["series"][0]["data"]) == 4
    assert charts.clicked([{"series_index": 0, "data_indices": [3]}], 4) == 3
    assert charts.clicked([{"data_indices": [4]}, {}], 4) is None
    rows = [{"model": "A", "score": 1.0, "verdict": None}, {"model": "B", "score": 2.0, "verdict": "both agree"}]
    parallel = charts.parallel_chart(rows, ["model", "score"])
    assert [axis["type"] for axis in parallel["parallelAxis"]] == ["category", "value"]
    wide = [{"score": value, "verdict": None} for value in (1.0, 1e4)]
    assert charts.parallel_chart(wide, ["score"])["parallelAxis"][0]["type"] == "log"
    assert [series["data"] for series in parallel["series"]] == [[["A", 1.0]], [["B", 2.0]]]


def test_the_chart_of_two_models_has_a_bar_for_every_interval_in_the_colour_of_what_is_decided():
    gains = [Interval(0.2, 0.1, 0.3, 9), Interval(-0.2, -0.3, -0.1, 9), Interval(0.1, -0.1, 0.3, 9)]
    alone = Interval(0.5, -math.inf, math.inf, 1)
    lines = [Line(str(k), (gain, gain), gain, 0, 0, 0) for k, gain in enumerate([*gains, alone])]
    drawn = charts.gains_chart(lines)["series"]
    assert [one["data"] for one in drawn[::2]] == [[[10, 0], [30, 0]], [[-30, 1], [-10, 1]], [[-10, 2], [30, 2]], []]
    assert [one["data"] for one in drawn[1::2]] == [[[20, 0]], [[-20, 1]], [[10, 2]], [[50, 3]]]
    assert [one["color"] for one in drawn[1::2]] == [charts.GREEN, charts.VERMILION, charts.GREY, charts.GREY]
