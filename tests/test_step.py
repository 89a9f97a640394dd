"""One iteration by hand: every number that a sub-step shows follows from numbers that are shown, before and after."""

import re
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from features.explain import lessons
from test_learn import Visit
from ui.learn import step
from ui.learn.chapters import CHAPTERS
from ui.learn.splitting import LAST
from ui.learn.step import PARTS

CHAPTER = CHAPTERS["step"]
ITERATIONS = pytest.mark.parametrize("iteration", [1, 2, LAST])
FINE = 0.5001 * 10.0**-step.DIGITS  # numbers are shown rounded


def values(part: str, iteration: int, cell: str = step.CELL, term: str = "") -> dict[str, object]:
    return {"part": part, "iteration": iteration, "cell": cell, "term": term}


def matrices(part: str, iteration: int, cell: str = step.CELL) -> dict[str, np.ndarray]:
    """What is shown, by title."""
    cells = step.cells(values(part, iteration, cell), answered=True)
    return {one["title"]: np.array(one["values"]) for one in cells if one["kind"] == "matrix"}


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+\.\d+|(?<=\(x)-?\d+\b", text.replace("−", "-"))]


@ITERATIONS
def test_p_is_the_sum_of_the_products_that_are_shown(iteration):
    for k, other in (("₁", "Block x₂, held fixed"), ("₂", "Block x₁, held fixed")):
        for row in range(4):
            for col in range(4):
                shown = matrices(f"p{k}", iteration, f"{row}-{col}")
                costs = next(each for title, each in shown.items() if title.startswith("F("))
                assert_allclose(shown[f"p{k}"][row, col], (costs * shown[other]).sum(), atol=16 * FINE)
                assert lessons.costs_beside(4 * row + col).min() >= -1 - 1e-12


@ITERATIONS
def test_c_is_made_of_three_matrices_that_are_shown(iteration):
    rho = lessons.trail()[iteration - 1].rho
    for k, other, sign in (("₁", "x₂", -1), ("₂", "x₁", 1)):
        shown = matrices(f"c{k}", iteration)
        made = shown[f"Block {other}, held fixed"] + sign * shown["Multiplier y"] / rho - shown[f"p{k}"] / rho
        assert_allclose(shown[f"Target c{k}"], made, atol=(2 + 2 / rho) * FINE)


@ITERATIONS
def test_x_is_c_less_the_threshold_and_the_bars_are_that_line_of_c(iteration):
    for k, axis in (("₁", 0), ("₂", 1)):
        shown = matrices(f"x{k}", iteration)
        assert_allclose(shown[f"New block x{k}"].sum(axis=axis), 1, atol=4 * FINE)
        for row, col in ((0, 0), (1, 3), (3, 2)):
            cells = step.cells(values(f"x{k}", iteration, f"{row}-{col}"), answered=True)
            bars = next(one for one in cells if one["kind"] == "bars")
            line = (slice(None), col) if axis == 0 else (row, slice(None))
            assert_allclose(bars["c"], shown[f"Target c{k}"][line], atol=FINE)
            assert_allclose(bars["x"], shown[f"New block x{k}"][line], atol=FINE)
            assert_allclose(bars["x"], np.maximum(np.array(bars["c"]) - bars["tau"], 0), atol=1e-12)


@ITERATIONS
def test_y_moves_by_rho_times_the_difference(iteration):
    shown, rho = matrices("y", iteration), lessons.trail()[iteration - 1].rho
    moved = rho * (shown["Block x₁"] - shown["Block x₂"])
    assert_allclose(shown["Multiplier y after"], shown["Multiplier y before"] + moved, atol=(2 + 2 * rho) * FINE)


def test_what_a_sub_step_makes_is_what_the_next_one_begins_with():
    for iteration in (1, 2, LAST):
        at = {part: matrices(part, iteration) for part in PARTS}
        for k in "₁₂":
            assert_allclose(at[f"p{k}"][f"p{k}"], at[f"c{k}"][f"p{k}"])
            assert_allclose(at[f"c{k}"][f"Target c{k}"], at[f"x{k}"][f"Target c{k}"])
            assert_allclose(at[f"x{k}"][f"New block x{k}"], at["y"][f"Block x{k}"])
        assert_allclose(at["x₁"]["New block x₁"], at["p₂"]["Block x₁, held fixed"])
        assert_allclose(at["c₁"]["Multiplier y"], at["y"]["Multiplier y before"])
    for before, after in pairwise(range(1, LAST + 1)):
        assert_allclose(matrices("y", before)["Multiplier y after"], matrices("c₁", after)["Multiplier y"])
        assert_allclose(matrices("y", before)["Block x₂"], matrices("p₁", after)["Block x₂, held fixed"])


@pytest.mark.parametrize("part", PARTS)
def test_every_number_in_words_is_on_the_screen(part):
    """Or made of such in the same line."""
    for cell in ("1-3", "0-0", "3-2"):
        cells = step.cells(values(part, 2, cell), answered=True)
        seen = [each for one in cells if one["kind"] == "matrix" for each in np.ravel(one["values"])]
        seen += [each for one in cells if one["kind"] == "bars" for each in (*one["c"], *one["x"], one["tau"])]
        seen += [c - one["tau"] for one in cells if one["kind"] == "bars" for c in one["c"]]
        made = step.parts(values(part, 2, cell))
        seen += [made.neighbour, made.multiplier, made.cost, made.target, made.rho]
        lines = next(one for one in cells if one["kind"] == "words")["lines"]
        found = [number for line in lines for number in numbers(line)]
        assert found or part[0] == "p"
        if part[0] == "p":  # the products: each is one of an entry of F and one of the other block
            both = [one for one in cells if one["kind"] == "matrix" and not one["title"].startswith("p")]
            costs, other = (np.ravel(one["values"]) for one in both)
            seen += list(costs * other)
        for number in found:
            nearest = min(abs(number - each) for each in seen)
            assert nearest <= 3 * FINE, (number, lines)


def test_one_multiplication_is_an_entry_of_the_cost_times_an_entry_of_the_block():
    cells = step.cells(values("p₁", 2, "1-3", "2-2"), answered=True)
    lines = next(one for one in cells if one["kind"] == "words")["lines"]
    cost, entry, product = numbers(lines[-1])
    assert lines[1] == "F(B4, C3) × x₂ at C3" and abs(cost * entry - product) <= 3 * FINE
    assert cost == pytest.approx(lessons.costs_beside(7)[10], abs=FINE)
    assert [one.get("picked") for one in cells if one["kind"] == "matrix"] == [[[2, 2]], [[2, 2]], [[1, 3]]]


def test_c_is_a_question_mark_until_it_is_answered():
    def target(answered: bool) -> float:
        shown = step.cells(values("c₁", 2), answered)
        return next(one for one in shown if one.get("title") == "Target c₁")["values"][1][3]

    assert target(False) is None and target(True) == pytest.approx(CHAPTER.answer(values("c₁", 2)), abs=FINE)
    lines = step.cells(values("c₁", 2), answered=False)[-1]["lines"]
    assert lines[-1] == "= ?"


def test_each_sub_step_lights_the_term_that_acts_and_all_terms_are_written_once():
    assert [CHAPTER.lit(values(part, 2)) for part in PARTS[:3] + PARTS[-1:]] == [
        "cost",
        "multiplier penalty",
        "rule",
        "multiplier",
    ]
    for name in ("cost", "multiplier", "penalty", "rule"):
        assert CHAPTER.formula.count(f"{{{name}:") == 1


def test_steps_go_through_an_iteration_and_on_to_the_next():
    visit = Visit(chapter="step", part="x₂")
    for part, iteration in (("y", ""), ("", "3"), ("c₁", "3")):
        visit.press("Step forward")
        assert (visit.query("part"), visit.query("iteration")) == (part, iteration)
    for _ in range(2):
        visit.press("Step back")
    assert (visit.query("part"), visit.query("iteration")) == ("y", "")
    visit = Visit(chapter="step", iteration=str(LAST), part="y")
    assert next(button for button in visit.test.button if button.label == "Step forward").disabled


def test_addresses_from_before_the_sub_steps_open_the_same_entry():
    visit = Visit(chapter="step", iteration="3", cell="1-1-2")
    assert (visit.query("part"), visit.query("cell"), visit.query("iteration")) == ("c₂", "1-2", "3")
    for text in ("", "9-9", "x", "1-2-3-4"):
        assert step.cell_of(text) == step.cell_of(step.CELL)
