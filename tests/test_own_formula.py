"""Your own formula in the sidebar, without a browser: what is typed, the record, the sliders, and what is judged."""

from dataclasses import replace
from functools import partial

import pytest

from features.explain.separation import separations, whole_and_parts
from features.formulas.edit import with_parameter
from features.formulas.quantities import QUANTITIES
from features.formulas.ready import READY
from features.formulas.records import parameter
from features.formulas.text import model_text, parse
from features.recipe import Recipe
from test_match_page import PAGE, SMALL, Page
from ui.choice.formula import judged, own_model
from ui.choice.formula.drawings import all_drawings
from ui.shell.session_slots import RUN, START, widget_key

SPRINGS = "edges (d1 - d2)^2 / s2\ns2 = 100 in 1..1000"
TEXT = "edges (d1 - d2)^2 / s2 + w * turn; w = 2 in 0..5 # a weight\ns2 = 100 in 1..1000"


class Typing(Page):
    """The page, with what a browser types into the editor."""

    script = (
        """
import streamlit as st
from ui.choice.formula import own_model
if "typed" in st.session_state:
    own_model.receive(st.session_state.pop("typed"))
"""
        + PAGE
    )

    def type(self, text: str) -> "Typing":
        return self.send({"text": text, "serial": 1})

    def send(self, sent: object) -> "Typing":
        self.test.session_state["typed"] = sent
        self.run()
        return self


@pytest.fixture
def typing() -> Typing:
    return Typing(SMALL | {"model": SPRINGS, "model.s2": "50"}, unfolded=False)


# ------------------------------------------------------------------ the text and the record


def test_your_own_formula_begins_with_the_model_that_was_chosen_before():
    page = Typing(SMALL | {"model": "C", "model.eta": "0.3", "model.rows": "any"}, unfolded=False)
    page.set("model", own_model.OWN)
    assert page.recipe.model == READY["C"].rstrip() and page.recipe.model_params == {"eta": 0.3, "rows": "any"}
    assert page.component("version")["text"] == page.recipe.model
    assert Recipe.from_query(page.address) == page.recipe
    page.set("model", "B")
    assert page.recipe.model == "B" and not page.component("version")
    page.set("model", own_model.OWN)
    page.test.session_state["panel Start from"] = True
    page.run().press("start from third")
    assert page.component("version")["text"] == page.recipe.model and "triangles" in page.recipe.model


@pytest.mark.parametrize("model", ["photo", "combined"])
def test_a_model_without_a_formula_gives_way_to_the_first_one(model):
    assert own_model.start_from(Recipe(model=model)).model == own_model.FIRST
    assert parse(own_model.FIRST).model is not None


def test_a_mistake_is_told_and_the_last_model_stays(typing):
    before, editor = typing.recipe, typing.component("version")
    assert editor["text"] == SPRINGS and editor["mistakes"] == []
    typing.type("edges (d1 - d3)^2 /")
    told = typing.component("version")
    assert typing.recipe == before and told["text"] == "edges (d1 - d3)^2 /" and told["kept"]
    assert told["version"] == editor["version"] and told["mistakes"][0]["column"] == 20
    typing.run()  # also when something else changes
    assert typing.component("version")["mistakes"] == told["mistakes"]
    typing.type("edges (d1 - d2)^2 / s2 + w * turn  \n")
    assert typing.recipe.model == "edges (d1 - d2)^2 / s2 + w * turn" and typing.component("version")["mistakes"] == []
    assert typing.component("version")["version"] == editor["version"]  # the browser's own text
    assert Recipe.from_query(typing.address) == typing.recipe


def test_parameters_that_remain_keep_their_values_and_constraints_stay(typing):
    typing.set("model formula s2", 80.0)
    assert typing.recipe.model_params == {"s2": 80.0} and typing.address["model.s2"] == "80.0"
    typing.type("edges abs(d1 - d2) / s2 * k\ns2 = 100 in 1..1000")
    assert typing.recipe.model_params == {"s2": 80.0}
    typing.type("edges abs(d1 - d2) / s2 * k\ns2 = 5 in 1..10")  # 80 is no value of it any more
    assert typing.recipe.model_params == {}
    declared = {"s2": parameter("s2", 1, 0, 10)}
    assert own_model.fitting(declared, {"s2": 3.0, "gone": 1.0, "rows": "any"}) == {"s2": 3.0, "rows": "any"}


def test_another_text_replaces_what_was_typed(typing):
    typing.type("edges (")
    version = typing.component("version")["version"]
    typing.test.session_state[widget_key("model")] = "B"
    typing.run().set("model", own_model.OWN)
    assert typing.component("version")["text"] == READY["B"].rstrip()
    assert typing.component("version")["version"] != version


def test_what_a_browser_sends_may_be_anything(typing):
    before = typing.recipe
    for sent in (None, 7, "edges d1", {"text": 3}, {"serial": 1}):
        assert typing.send(sent).recipe == before
    typing.type("edges d1 " * 600)
    assert "at most" in typing.component("version")["mistakes"][0]["message"] and typing.recipe == before


def test_the_range_of_a_slider_is_part_of_the_text(typing):
    typing.test.session_state["panel Ranges"] = True
    typing.run().set("model formula range s2 high", 500.0)
    assert model_text(typing.recipe.model).parameters == (parameter("s2", 100.0, 1.0, 500.0),)
    typing.set("model formula range s2 default", 900.0)
    assert model_text(typing.recipe.model).parameters[0].high == 900.0
    before = typing.recipe
    typing.set("model formula range s2 low", 1000.0)
    assert typing.recipe == before and any("is empty" in one.value for one in typing.test.toast)


@pytest.mark.parametrize("name", ["s2", "w", "new"])
def test_a_declared_range_replaces_the_one_before_and_nothing_else(name):
    text = TEXT if name != "new" else f"{TEXT}\nedges new * change"
    changed = with_parameter(text, parameter(name, 3.0, 2.0, 4.0, 0.5))
    before, after = model_text(text), model_text(changed)
    assert "# a weight" in changed and replace(after, declared=()) == replace(before, declared=())
    found = {one.name: one for one in after.parameters}
    assert found.pop(name) == parameter(name, 3.0, 2.0, 4.0, 0.5)
    assert found == {one.name: one for one in before.parameters if one.name != name}


def test_every_quantity_has_a_drawing_of_what_it_measures():
    drawn = all_drawings()
    assert set(drawn) == {f"{one.order} {one.name}" for one in QUANTITIES}
    assert all(one.get("bold") or one.get("area") for one in drawn.values())
    own = [f"{one.order} {one.name}" for one in QUANTITIES if one.costs is None and one.name not in ("gap", "mean_gap")]
    assert len({repr(drawn[key]) for key in own}) == len(own)


# ------------------------------------------------------------------ a run that follows


def test_a_run_follows_a_change_of_the_formula_if_that_is_wanted(typing):
    assert RUN.name not in typing.test.session_state
    typing.type("edges (d1 - d2)^2 / s2 + turn\ns2 = 100 in 1..1000")
    first = typing.test.session_state[RUN.name]
    assert first.chosen.record == typing.recipe
    typing.set("model formula s2", 60.0)
    second = typing.test.session_state[RUN.name]
    assert second is not first and second.chosen.record.model_params["s2"] == 60.0
    typing.set("run every change", False).set("model formula s2", 70.0)
    assert typing.test.session_state[RUN.name] is second and START.name not in typing.test.session_state


# ------------------------------------------------------------------ right and wrong


def test_the_histograms_follow_the_sliders(typing):
    before = typing.component("parts")["parts"]
    assert [one["name"] for one in before] == ["edges"] and sum(before[0]["counts"][0]) == before[0]["totals"][0] > 0
    typing.set("model formula s2", 5.0)
    after = typing.component("parts")["parts"]
    assert after[0]["ends"][1] == pytest.approx(10 * before[0]["ends"][1]) and after[0]["auc"] == before[0]["auc"]
    curves = typing.component("parts")["curves"]
    assert [one["over"] for one in curves] == ["d1", "d2", "s2"] and all(len(one["y"]) == 80 for one in curves)


def test_a_sum_is_judged_as_a_whole_and_by_part():
    recipe = Recipe("random", {"inliers": 9, "outliers": 2}, "C")
    pair, problem = recipe.pair(), recipe.problem()
    found = whole_and_parts(recipe, pair, problem)
    assert [one.name for one in found] == ["edges", "edges: change of length", "edges: cosine of the turn"]
    assert [one.auc for one in found[1:]] == [one.auc for one in separations(recipe, pair)]
    single = whole_and_parts(replace(recipe, model="B"), pair, replace(recipe, model="B").problem(pair))
    assert [one.name for one in single] == ["edges"]


@pytest.mark.parametrize(
    "model, truth, complaint",
    [
        ("edges 1 / (d1 - d1)", True, "a cost must be a finite number"),
        ("points scale1 - scale2", True, "no size of their own"),
        ("edges change", False, "is unknown"),
    ],
)
def test_why_there_is_no_histogram_is_a_sentence(model, truth, complaint):
    recipe = Recipe("random", {"inliers": 6}, model)
    pair = recipe.pair() if truth else replace(recipe.pair(), truth=None)
    found = judged.judged(recipe, pair, partial(recipe.problem, pair))
    assert complaint in found.complaint and not found.parts


def test_a_model_that_takes_too_long_to_judge_says_so(monkeypatch):
    monkeypatch.setattr(judged, "SECONDS", -1.0)
    recipe = Recipe("random", {"inliers": 6}, "edges d1 - d2")
    assert judged.judged(recipe, recipe.pair(), recipe.problem).complaint == judged.LATE
