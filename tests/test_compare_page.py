"""The Compare page: the worker behind it against the plain loop, its limits, and the page itself (AppTest)."""

import csv
import io
import json
import shlex
import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from adgm import METHODS, State
from adgm.methods import ANY_ORDER, Entry
from features.__main__ import parser
from features.cli.arguments import recipe_and_pair
from features.judge import comparison
from features.plots.stage import common
from features.recipe import Recipe
from ui.compare.page import table_records
from ui.jobs import comparison as module
from ui.jobs.comparison import Series, matching_of, picture
from ui.jobs.scheduler import JobPool, Visitor
from ui.shell.session_slots import panel_key, widget_key

SMALL = Recipe("random", {"inliers": 6, "outliers": 1}, "B")


@dataclass(frozen=True)
class Slow:
    """A method that takes its time, or fails; it matches nothing in particular."""

    pause: float = 0.02
    fault: str = ""
    seed: int = 0

    def init(self, problem):
        if self.fault:
            raise {"refused": ValueError("this one wants another problem"), "broken": RuntimeError("oh")}[self.fault]
        return State(iteration=0, x=np.full(problem.n, 1 / problem.shape[1]))

    def step(self, problem, state, n=1):
        ends = time.thread_time() + self.pause * n  # of computing, which is what a time limit counts
        while time.thread_time() < ends:
            time.sleep(0)
        return State(iteration=state.iteration + n, x=state.x)

    def done(self, state):
        return False


@pytest.fixture
def slow(monkeypatch):
    """Two methods that never end by themselves, and two that fail."""
    for key, options in (("slow", {}), ("refused", {"fault": "refused"}), ("broken", {"fault": "broken"})):
        monkeypatch.setitem(
            METHODS, key, Entry(key, lambda options=options, **more: Slow(**options, **more), ANY_ORDER, "")
        )
    monkeypatch.setattr(module, "load", lambda setup: None)


def setups(*methods: str, setup: Recipe = SMALL) -> list[Recipe]:
    return [Recipe(setup.dataset, setup.dataset_params, setup.model, setup.model_params, key) for key in methods]


def begin(*methods: str, setup: Recipe = SMALL, **options) -> Series:
    pair = setup.pair()
    return Series(pair, setup.problem(pair), setups(*methods, setup=setup), **options).start()


def test_the_worker_comes_to_what_the_plain_loop_comes_to():
    pair, problem = SMALL.pair(), SMALL.problem()
    methods = comparison.fitting(problem)
    end = begin(*methods, references=comparison.references(pair)).wait(60)
    plain = list(comparison.compare(SMALL, pair, problem))
    assert end.status == "finished" and end.parts == end.total == len(methods) + len(comparison.references(pair))
    assert [row.key for row in end.rows] == [row.key for row in plain] == [*methods, *comparison.references(pair)]
    for mine, theirs in zip(end.rows, plain, strict=True):
        assert mine.metrics == theirs.metrics and mine.result.status == theirs.result.status
        np.testing.assert_array_equal(mine.pairs, theirs.pairs)


def test_a_curve_never_falls_and_ends_with_the_result():
    for entrant in begin("adgm1", "rrwm", "sm").wait(60).entrants:
        seconds, scores = np.array(entrant.curve).T
        assert (np.diff(seconds) >= 0).all() and (np.diff(scores) >= 0).all() and (seconds > 0).all()
        assert scores[-1] == pytest.approx(entrant.row.metrics.score, rel=1e-12)  # summed up in another order
        assert seconds[-1] == entrant.row.result.seconds
        assert entrant.picture.startswith(b"\x89PNG")


def test_each_matching_has_one_picture_the_best_whole_of_others_what_differs():
    hard = replace(SMALL, dataset_params={"inliers": 8, "noise": 60.0})
    end = begin("adgm1", "sm", "rrwm", setup=hard).wait(60)
    distinct = {matching_of(entrant): entrant.picture for entrant in end.entrants}
    assert len(distinct) > 1 and len(set(distinct.values())) == len(distinct)
    pair, best = hard.pair(), next(row for row in end.rows if comparison.is_best(row, end.rows)).pairs
    assert picture(pair, best) in distinct.values()
    truth = {(i, int(j)) for i, j in enumerate(pair.truth) if j >= 0}
    ours = set(map(tuple, best.tolist()))
    for row in end.rows:
        theirs = set(map(tuple, row.pairs.tolist()))
        found = {line[1:] for line in common(pair, best, row.pairs)}
        assert (not found) if theirs == ours else found & theirs == ours & theirs and found - theirs <= truth - ours
    right = np.array(sorted(truth))
    assert common(pair, right, right[:0]) == set()  # right in one, missed in the other: a difference


def test_gaps_are_told_with_and_without_dd_and_never_without_a_bound():
    alone = begin("adgm1", "sm").wait(60)
    beside = begin("adgm1", "sm", "dd").wait(60)
    for end in (alone, beside):
        assert np.isfinite(end.lower) and all(row.gap >= 0 for row in end.rows)
        assert all(row.metrics.energy >= end.lower - 1e-9 for row in end.rows)
    assert beside.rows[2].gap == 0.0  # seven points: DD proves its matching
    np.testing.assert_allclose(alone.lower, beside.lower, rtol=1e-6)
    assert all(row.gap is None for row in begin("adgm1", bounded=False).wait(60).rows)
    third = begin("adgm1", setup=Recipe("random", {"inliers": 6, "outliers": 0}, "third")).wait(60)
    assert not third.bound_note and third.rows[0].gap >= 0
    many = begin("adgm1", setup=Recipe("random", {"inliers": 6, "outliers": 0}, "B", {"cols": "any"})).wait(60)
    assert many.bound_note and many.rows[0].gap is None


def test_a_method_that_fails_is_a_row_with_its_reason(slow):
    end = begin("refused", "adgm1", "broken", bounded=False).wait()
    assert end.status == "finished"
    refused, fine, broken = end.rows
    assert refused.refusal == "this one wants another problem" and "oh" in broken.refusal
    assert fine.metrics is not None
    records = list(table_records("similarity", end.rows))
    assert [record["Status"] for record in records] == [refused.refusal, fine.result.status, broken.refusal]
    assert records[0]["Score"] is None


def test_a_method_beyond_its_time_shows_what_it_had(slow):
    end = begin("slow", "sm", time_limit=0.2, bounded=False).wait()
    assert end.rows[0].result.status == "time limit"
    assert end.status == "finished" and end.rows[0].metrics.matched > 0


def test_stop_keeps_what_there_is_and_leaves_out_the_rest(slow):
    series = begin("sm", "slow", "adgm1")
    while len(series.progress().rows) < 1 or series.progress().current != "slow":
        time.sleep(0.01)  # pytest's own limit ends what never happens
    series.stop()
    end = series.wait(10)
    assert end.status == "stopped" and "adgm1" not in [row.key for row in end.rows]
    assert end.rows[0].key == "sm" and not end.active


def test_nobody_watching_ends_it(slow):
    end = begin("slow", "slow", visitor=Visitor(patience=0.3)).wait(20)
    assert end.status == "abandoned" and len(end.rows) < 2


def test_a_crash_is_told_as_one(slow, monkeypatch, caplog):
    def broken(self, recipe):
        raise RuntimeError("oh")

    monkeypatch.setattr(Series, "_compete", broken)
    end = begin("adgm1", bounded=False).wait(20)
    assert end.status == "failed" and end.error == "The comparison stopped unexpectedly (RuntimeError: oh)."
    assert "background work failed" in caplog.text


def test_a_short_comparison_ends_while_a_long_one_goes_on_and_places_are_given_back(slow):
    pool = JobPool(running=1, waiting=3)
    first = begin("slow", pool=pool, bounded=False)
    while first.progress().current != "slow":
        time.sleep(0.01)
    second = begin("sm", pool=pool, bounded=False)
    assert second.wait(60).status == "finished" and first.progress().active
    first.stop()
    assert not first.wait(20).active and not pool.computing and not pool.queue and not pool.members


def test_a_full_queue_is_a_sentence(slow):
    pool = JobPool(running=1, waiting=0)
    pool.admit("somebody's run", Visitor())
    with pytest.raises(ValueError, match="already waiting"):
        begin("slow", pool=pool)


def test_nothing_to_compare_is_a_sentence():
    with pytest.raises(ValueError, match="tick at least one"):
        begin()


# ---- the same on the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setup", "options"),
    [
        (SMALL, {}),
        (Recipe("turntable", {"landmarks": "seen in both views"}, "C", {"eta": 0.7}), {"adgm1": {"rho0": 0.25}}),
        (Recipe("random", {}, "third", {"rows": "at_most_one"}), {"tm": {"max_iter": 7}}),
    ],
)
def test_the_command_line_says_the_same(setup, options):
    words = shlex.split(comparison.as_command(setup, ["adgm1", "tm", "ransac"], options, 2.5))
    assert words[:4] == ["python", "-m", "features", "compare"]
    asked = parser().parse_args(words[3:])
    assert asked.methods == "adgm1,tm,ransac" and asked.time_limit == 2.5
    given = [f"{key}.{name}={value}" for key, values in options.items() for name, value in values.items()]
    assert asked.option == given
    asked.method, asked.option = None, []
    read, _ = recipe_and_pair(asked)
    assert (read.dataset, read.dataset_params) == (setup.dataset, setup.dataset_params)
    assert (read.model, read.model_params) == (setup.model, setup.model_params)


# ---- the page ----------------------------------------------------------------------------------------------------


def page() -> None:
    from ui.compare import page as compare

    if (share := compare.show()) is not None:
        share()


@pytest.fixture
def app():
    at = AppTest.from_function(page, default_timeout=60)
    at.query_params["data"] = "random"
    at.query_params["data.inliers"] = "6"
    at.query_params["model"] = "B"
    at.session_state[panel_key("Methods")] = True  # it is open
    at.run()
    assert not at.exception
    return at


def compared(at: AppTest) -> AppTest:
    at.button(key="compare").click().run()
    assert not at.exception
    at.session_state["compared"].series.wait(60)
    return at.run()


def test_all_that_fit_are_ticked_and_the_others_say_why(app):
    recipe = Recipe("random", {"inliers": 6}, "B")
    problem = recipe.problem()
    ticked = app.button_group[0].value
    assert ticked == [*comparison.fitting(problem), *comparison.references(recipe.pair())]
    said = "\n".join(one.value for one in app.markdown)
    for entry in METHODS.values():
        assert (entry.refusal(problem) in said) if entry.refusal(problem) else (entry.label not in said)


def test_the_page_shows_every_method_and_offers_every_export(app):
    at = compared(app)
    assert not at.exception and not at.error
    frame = at.dataframe[0].value
    series = at.session_state["compared"].series
    assert len(frame) == len(series.keys)
    assert {"Method", "Correct", "Accuracy", "Score", "/ truth", "/ best", "Gap", "Iterations", "Seconds"} <= {*frame}
    assert frame["/ best"].max() == 1.0 and frame["Gap"].min() == 0.0
    assert any("All done" in one.value for one in at.markdown)
    assert "python -m features compare --dataset random" in at.code[0].value
    rows = series.progress().rows
    table = list(csv.DictReader(io.StringIO(comparison.table_csv(rows).decode())))
    assert [row["method"] for row in table] == [row.label for row in rows]
    assert [float(row["gap"]) for row in table] == [row.gap for row in rows]
    assert json.loads(comparison.matchings_json(series.pair, rows))["methods"][0]["gap"] == rows[0].gap


def test_unticked_methods_do_not_run_and_stay_unticked(app):
    app.button_group[0].set_value(["adgm1", "sm"]).run()
    at = compared(app)
    assert [row.key for row in at.session_state["compared"].series.progress().rows] == ["adgm1", "sm"]
    at.session_state[widget_key("model")] = "C"
    at.run()
    assert at.button_group[0].value == ["adgm1", "sm"]
    assert any("model has changed" in one.value for one in at.info)


def test_another_pair_hides_the_comparison(app):
    app.button_group[0].set_value(["sm"]).run()
    at = compared(app)
    at.session_state[widget_key("data", "random", "inliers")] = 7
    at.run()
    assert any("Another pair" in one.value for one in at.info) and not at.dataframe


def test_the_worker_is_the_only_thread_that_is_left_and_it_ends():
    before = threading.active_count()
    series = begin("sm")
    series.wait(30)
    assert threading.active_count() <= before


def test_only_a_gap_that_is_proved_to_be_none_is_told_as_none():
    row = begin("lap").wait(60).rows[0]
    for gap, told in ((0.0, 0.0), (1e-9, 0.01), (0.012301, 1.24), (0.5, 50.0)):
        (one,) = table_records("cost", [replace(row, gap=gap)])
        assert one["Gap"] == told
        assert f"{told:.2f}%" in comparison.table([replace(row, gap=gap)]).lines[0]
