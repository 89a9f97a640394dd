"""The Match page without a browser: what every control does to the record of the run, and what errors look like."""

import json
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from adgm import METHODS
from commands import pairs_of_command, pairs_of_python
from features.datasets import DATASETS
from features.models import MODELS
from features.points.keypoints import DETECTORS
from features.recipe import Recipe
from streamlit_client import component_data
from ui.choice import address, widgets
from ui.choice.sidebar import Chosen
from ui.match import live
from ui.shell.session_slots import CANVAS, RUN, START, panel_key, widget_key

SMALL = {"data": "random", "data.inliers": "8", "data.outliers": "2", "model": "B", "method": "adgm1"}
# The page, and what it takes the user's choice to be.
PAGE = """
import streamlit as st
from ui.match import page as match
from ui.choice import sidebar
from ui.choice import address as url_state
if "turn to" in st.session_state:
    url_state.turn_to(st.session_state.pop("turn to"))
original = sidebar.sidebar
def listening(**options):
    st.session_state["chosen"] = chosen = original(**options)
    return chosen
match.sidebar = listening
match.show()()  # and what can be taken away
match.sidebar = original
"""


PANELS = ("Points", "Model's settings", "Solver", "Options of the method")


class Page:
    """The page under AppTest, opened at an address, with all panels of the sidebar unfolded or none."""

    script = PAGE

    def __init__(self, words: dict[str, str] | None = None, *, unfolded: bool = True) -> None:
        self.test = AppTest.from_string(self.script, default_timeout=120)
        for label in PANELS if unfolded else ():
            self.test.session_state[panel_key(label)] = True
        for name, value in (words or {}).items():
            self.test.query_params[name] = value
        self.run()

    def run(self) -> "Page":
        self.test.run()
        assert not self.test.exception
        return self

    @property
    def chosen(self) -> Chosen:
        found = self.test.session_state["chosen"]
        assert isinstance(found, Chosen)
        return found

    @property
    def recipe(self) -> Recipe:
        return self.chosen.recipe

    @property
    def address(self) -> dict[str, str]:
        found = self.test.query_params.items()
        return {name: text if isinstance(text, str) else text[0] for name, text in found}

    def set(self, key: str, value: Any) -> "Page":
        """Change a widget, by its key or, of the choice, by its words: "model B sigma2"."""
        widgets = ("selectbox", "slider", "number_input", "toggle", "select_slider", "button_group", "checkbox")
        for kind in widgets:
            for widget in self.test.get(kind):
                if widget.key in (key, widget_key(key)):
                    widget.set_value(value)
                    return self.run()
        raise AssertionError(f"no widget has the key {key!r}")

    def press(self, key: str) -> "Page":
        self.test.button(key=key).click()
        return self.run()

    def start(self) -> "Page":
        """Run what is chosen to its end."""
        if self.test.selectbox(key="pace").value != "full speed":
            self.set("pace", "full speed")
        self.press("go")
        if RUN.name not in self.test.session_state:
            return self  # refused
        self.test.session_state[RUN.name].job.wait(60)
        return self.run()

    @property
    def result(self) -> Any:
        return self.test.session_state[RUN.name].matching

    def says(self, text: str) -> bool:
        told = [*self.test.markdown, *self.test.caption, *self.test.error, *self.test.warning, *self.test.info]
        lead = [unescape(element.proto.body) for element in self.test.get("html")]
        parts = (self.answers, self.component("empty"))  # the results, and where photographs are dropped
        sent = [json.dumps(part, ensure_ascii=False) for part in parts]
        return any(text in words for words in [*(element.value for element in told), *lead, *sent])

    def component(self, part: str) -> dict[str, Any]:
        return component_data(self.test, part)

    @property
    def answers(self) -> dict[str, Any]:
        """The results below the picture."""
        return self.component("summary")


@pytest.fixture(scope="module")
def page() -> Page:
    """One page for tests that look at a single control each; what they change does not matter to the others."""
    return Page(SMALL)


# ------------------------------------------------------------------ controls and the record


def test_a_newcomer_gets_the_first_example_and_the_first_preset():
    page = Page()
    assert page.recipe.dataset == "turntable" and page.recipe.model == "C"
    assert page.recipe.method == widgets.PRESETS["fast"].method
    assert page.test.selectbox(key="pace").value == "25/s, then faster"
    assert page.chosen.pair.truth is not None


ADDRESSES: dict[str, dict[str, str]] = {
    "as it opens": {},
    "given points": SMALL,
    "detected points": SMALL | {"points": "orb", "points.left": "12", "points.right": "15"},
    "model and solver": SMALL
    | {"model": "B", "model.sigma2": "900", "model.rows": "any", "method": "adgm1", "method.growth": "3"},
    "defaults spelled out": SMALL | {"model": "B", "model.sigma2": "2500", "method": "adgm1", "method.growth": "2"},
    "points that the pair has not": {"data": "portrait", "points": "given"},
}


@pytest.mark.parametrize("words", ADDRESSES.values(), ids=ADDRESSES)
def test_what_is_chosen_does_not_depend_on_which_panels_are_unfolded(words):
    folded, unfolded = Page(words, unfolded=False), Page(words)
    assert folded.recipe == unfolded.recipe
    assert folded.chosen.complaint == unfolded.chosen.complaint
    assert folded.recipe.to_query() == unfolded.recipe.to_query()
    assert folded.chosen.pair.digest == unfolded.chosen.pair.digest
    assert len(folded.test.sidebar.selectbox) < len(unfolded.test.sidebar.selectbox)


def test_another_model_keeps_the_constraints_also_where_nobody_sees_them():
    page = Page(SMALL | {"model": "B", "model.sigma2": "900", "model.rows": "any"}, unfolded=False)
    page.set("model", "C")
    assert page.recipe.model == "C" and page.recipe.model_params == {"rows": "any"}


def other(parameter: Any) -> Any:
    """A value that is not the default."""
    if parameter.kind == "choice":
        return next(choice for choice in parameter.choices if choice != parameter.default)
    step = 1 if parameter.kind == "int" else 0.5
    up = parameter.default + step
    return up if up <= parameter.high else parameter.default - step


@pytest.mark.parametrize("key", [key for key, one in DATASETS.items() if one.builtin])
def test_every_parameter_of_a_data_set_is_in_the_record(page, key):
    page.set("data", key)
    for parameter in DATASETS[key].parameters:
        value = other(parameter)
        page.set(f"data {key} {parameter.name}", value)
        assert page.recipe.dataset == key
        assert page.recipe.dataset_params[parameter.name] == value
        page.set(f"data {key} {parameter.name}", parameter.default)
        assert parameter.name not in page.recipe.dataset_params


@pytest.mark.parametrize("key", [key for key, one in MODELS.items() if not one.given])
def test_every_parameter_of_a_model_is_in_the_record_and_can_be_reset(page, key):
    page.set("data", "random").set("model", key)
    for parameter in MODELS[key].parameters:
        value = other(parameter)
        page.set(f"model {key} {parameter.name}", value)
        assert page.recipe.model == key
        assert page.recipe.model_params[parameter.name] == pytest.approx(value)
    page.press(f"reset {key}")
    wanted = {p.name: p.paper for p in MODELS[key].parameters if p.paper is not None and p.paper != p.default}
    assert page.recipe.model_params == wanted
    page.set("model", "B")


def test_constraints_are_in_the_record(page):
    for side in ("rows", "cols"):
        for rule in ("at_most_one", "any", "exactly_one"):
            page.set(f"model {side}", rule)
            assert page.recipe.model_params[side] == rule
        page.set(f"model {side}", widgets.AUTOMATIC)
        assert side not in page.recipe.model_params


def test_a_preset_sets_the_method_and_resets_its_options(page):
    for name, preset in widgets.presets().items():
        page.set("preset", name)
        assert (page.recipe.method, page.recipe.method_options) == (preset.method, {})
    page.set("preset", "paper").set("method adgm1 rho0", widgets.OWN_VALUE).set("method adgm1 rho0 value", 0.5)
    page.set("method adgm1 seed", 7).set("method adgm1 warmup", 10).set("method adgm1 start", "random").set(
        "method adgm1 max_iter", 50
    )
    changed = {"rho0": 0.5, "seed": 7, "warmup": 10, "start": "random", "max_iter": 50}
    assert page.recipe.method_options == changed
    assert page.recipe.method_object() == METHODS["adgm1"].make(**changed)
    page.set("method", "adgm2")
    assert page.recipe.method == "adgm2" and page.test.session_state[widget_key("preset")] is None
    page.set("preset", "paper")
    assert (page.recipe.method, page.recipe.method_options) == ("adgm1", {})


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_chosen_with_all_its_options_at_their_defaults(page, method):
    page.set("method", method)
    assert (page.recipe.method, page.recipe.method_options) == (method, {})


def test_detected_points_replace_the_data_sets_own():
    page = Page({"data": "turntable", "model": "C", "method": "adgm1"})
    for detector in list(DETECTORS)[:2]:
        page.set("points", detector).set("points left", 12).set("points right", 15)
        assert (page.recipe.dataset, page.recipe.points) == ("turntable", detector)
        assert page.chosen.pair.shape[0] <= 12 and page.chosen.pair.shape[1] <= 15
        assert page.chosen.pair.truth is None
        words = page.chosen.record.to_query()
        assert words["points"] == detector and words["points.left"] == "12" and not page.chosen.own
        again = Page(words)
        assert np.array_equal(again.chosen.pair.left.points.xy, page.chosen.pair.left.points.xy)


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe("random", {"inliers": 9, "noise": 2.5}, "B", {"sigma2": 900.0, "rows": "any"}, "adgm2", {"growth": 3.0}),
        Recipe("turntable", {"landmarks": "seen in both views"}, "third", {"seed": 3}, "adgm1", {"rho0": 0.25}),
        Recipe("warp", {"map": "affine"}, "combined", {"descriptor": "sift"}, "rrwm"),
        Recipe("warp", {"map": "affine"}, "C", check="homography"),
    ],
)
def test_the_address_restores_the_record(recipe):
    words = recipe.to_query()
    page = Page(words)
    assert page.recipe == recipe
    assert page.address == words  # and nothing else: no token


def test_an_address_that_makes_no_sense_gives_a_sentence_and_the_first_example():
    for words in ({"data": "nowhere"}, {"data": "random", "data.inliers": "many"}, SMALL | {"method.rho0": "-1"}):
        page = Page(words)
        assert page.says("The address of this page could not be followed")
        assert page.recipe.dataset == "turntable"


def test_a_change_is_not_undone_by_a_browser_that_had_not_heard_of_the_one_before(monkeypatch):
    page = Page(SMALL)
    before = dict(page.test.query_params)
    page.set("data random inliers", 9)
    page.test.query_params = before  # what the next message says that was sent before the answer came
    page.set("data random outliers", 3)
    assert page.recipe.dataset_params == {"inliers": 9, "outliers": 3}
    assert (page.address["data.inliers"], page.address["data.outliers"]) == ("9", "3")
    page.test.query_params = SMALL | {"data.inliers": "12"}
    monkeypatch.setattr(address, "went_back", lambda: True)  # another address of the history is followed
    assert page.run().recipe.dataset_params == {"inliers": 12, "outliers": 2}


def test_a_link_of_another_page_is_followed():
    page = Page(SMALL)
    page.test.session_state["turn to"] = "learn"
    page.run()
    page.test.query_params = SMALL | {"data.inliers": "12"}
    page.test.session_state["turn to"] = "match"
    assert page.run().recipe.dataset_params == {"inliers": 12, "outliers": 2}
    page.test.query_params = SMALL  # only once
    assert page.run().recipe.dataset_params == {"inliers": 12, "outliers": 2}


def test_how_matches_are_checked_is_kept_and_stands_in_the_address():
    page = Page(SMALL).set("check", "homography")
    for inliers in (9, 10):
        page.set("data random inliers", inliers)
        assert (page.recipe.check, page.recipe.dataset_params["inliers"]) == ("homography", inliers)
    assert page.address["check"] == "homography"
    assert Page(page.address).recipe == page.recipe
    page.set("check", "automatic")
    assert "check" not in page.address


# ------------------------------------------------------------------ runs


def test_the_end_of_a_run_is_shown_also_when_iterations_came_after_the_page_had_drawn_its_pause():
    page = Page(SMALL | {"method.tol": "1e-300"})
    page.set("pace", "10 iterations/s").press("go")
    job = page.test.session_state[RUN.name].job
    page.press("step")
    job.rest(60)
    page.run()
    drawn = page.test.select_slider[0].value
    assert drawn == str(job.snapshot().iteration)
    job.step(3)
    job.rest(60)
    page.run()
    assert page.test.select_slider[0].value == str(int(drawn) + 3)  # it was left at its end, and follows it
    page.test.select_slider[0].set_value(drawn)
    assert page.run().test.select_slider[0].value == drawn  # but not when somebody looks back
    page.press("stop")
    job.wait(60)
    page.run()
    assert page.test.select_slider[0].value in ("rounded", "best found")


def test_the_same_seed_gives_the_same_matching_in_the_app_the_command_line_and_python(tmp_path):
    page = Page(SMALL | {"method.start": "random", "method.seed": "3"}).start()
    found = page.result.pairs.tolist()
    recipe = page.recipe
    assert recipe.run().pairs.tolist() == found
    assert pairs_of_command(recipe.as_command(output="out"), tmp_path) == found
    assert pairs_of_python(recipe.as_python(), tmp_path) == found
    shown = [element.value.strip() for element in page.test.get("code")]
    assert recipe.as_python().strip() in shown and recipe.as_command() in shown


def test_start_again_repeats_the_run_and_two_runs_are_compared():
    page = Page(SMALL).start()
    first = page.result
    keep = next(button for button in page.test.button if button.label == "Keep as run A")
    keep.click()
    page.run()
    assert page.says("Kept as run A")
    page.start()
    assert page.result.pairs.tolist() == first.pairs.tolist()
    assert page.says("Both runs found the same matching.")
    page.set("model", "C")
    assert page.says("The settings have changed since this run")
    page.set("method adgm1 max_iter", 1).start()
    assert page.says("in common") or page.says("the same matching")
    assert page.says("**A:** Run 1")


@pytest.mark.parametrize("answers_before", range(1, 7))
def test_a_run_that_ends_while_the_page_is_drawn_is_shown_with_its_result(answers_before, monkeypatch):
    page = Page(SMALL).start()
    ticks, fragment = [], live.st.fragment

    def listening(part: Any, *, run_every: float | None) -> Any:
        ticks.extend([run_every] if part is live._show else [])
        return fragment(part, run_every=run_every)

    monkeypatch.setattr(live.st, "fragment", listening)
    job = page.test.session_state[RUN.name].job
    ended = job.snapshot()
    answers = iter([replace(ended, status="running")] * answers_before)
    job.snapshot = lambda: next(answers, ended)
    page.run()
    shown = any(button.label == "Keep as run A" for button in page.test.button)
    assert shown == (ticks[-1] is None)  # or else the next tick sees the end
    assert not shown or (page.says("Converged") and not page.test.button(key="go").disabled)


def test_scrubbing_changes_what_is_drawn():
    page = Page(SMALL).start()

    def lines() -> int:
        sent = page.component("lines")
        return sum(kind != sent["missed"] for kind in sent["lines"]["kind"])

    assert lines() == len(page.result.pairs)
    page.test.select_slider[0].set_value("0")
    page.run()
    assert lines() == len(page.test.session_state[RUN.name].job.frames()[0].assignment.nonzero()[0])


def test_a_run_on_another_pair_is_not_forgotten():
    page = Page(SMALL).start()
    name = page.chosen.pair.name
    page.set("data", "turntable")
    assert page.says(f"Run 1 was on {name}: choose that pair again")


# ------------------------------------------------------------------ errors are sentences


def test_a_method_that_does_not_take_the_problem_says_so_before_start():
    page = Page(SMALL | {"model": "third", "method": "ipfp"})
    assert page.test.button(key="go").disabled
    assert page.says(METHODS["ipfp"].refusal(page.recipe.problem(page.chosen.pair)))
    page.set("model", "combined").set("model combined w3", 0.5)
    assert page.says("of order 3")
    page.set("model combined w3", 0.0)
    assert not page.test.button(key="go").disabled and page.says("points, order 2")


def test_a_sampled_tensor_takes_what_it_is_limited_to():
    page = Page({"data": "random", "data.inliers": "150", "data.outliers": "100", "model": "third", "method": "adgm1"})
    assert not page.test.button(key="go").disabled
    assert page.says("150 × 250 points, order 3, about 216 MB")


def test_partners_set_by_hand_are_the_truth_that_a_run_is_judged_by():
    page = Page(SMALL)
    slot = f"canvas edits {CANVAS}"
    kept, truth = page.test.session_state[slot], page.chosen.pair.truth
    assert kept.truth.tolist() == truth.tolist()
    swapped = ((0, int(truth[1])), (1, int(truth[0])))
    page.test.session_state[slot] = replace(kept, revision=1, partners=swapped)
    page.run().start()
    assert page.chosen.pair.truth.tolist() == [truth[1], truth[0], *[-1] * (len(truth) - 2)]
    assert page.result.metrics.possible == 2
    page.test.session_state[slot] = replace(kept, revision=2)
    assert not page.run().says("· run 1")  # with another truth it is another pair


@pytest.mark.parametrize(
    "words",
    [
        {"data": "![x](//e.org/)"},
        SMALL | {"data.inliers": "![x](//e.org/)"},
        SMALL | {"method.![x](//e)": "1"},
    ],
)
def test_nothing_in_a_link_is_read_as_markdown(words):
    page = Page(words)
    (said,) = (warning.value for warning in page.test.warning if "could not be followed" in warning.value)
    assert r"\!\[x\]\(" in said and "![x]" not in said


def test_a_run_that_is_asked_for_without_a_pair_is_not_asked_for_again(monkeypatch, tmp_path):
    for name in ("ADGM_DATA_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    page = Page({"data": "house"})
    page.test.session_state[START.name] = True  # as a row of Experiments does
    page.run()
    assert START.name not in page.test.session_state
    assert any(button.label == "Download CMU House" for button in page.test.button)
