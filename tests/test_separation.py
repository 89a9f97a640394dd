"""Right and wrong tuples of a formula: their histograms and the AUC, against brute force."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.explain.separation import auc, separations, table, told
from features.recipe import Recipe
from formula_problems import pair_of
from ui.parts.canvas import separation


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.lists(st.integers(0, 5), min_size=1, max_size=8))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_the_auc_is_the_share_of_pairs_in_the_right_order(right, wrong):
    pairs = [(b > a) + 0.5 * (b == a) for a, b in itertools.product(right, wrong)]
    assert np.isclose(auc(np.array(right, float), np.array(wrong, float)), np.mean(pairs))


def test_a_potential_that_knows_the_answer_separates_and_a_constant_does_not():
    pair = Recipe("random", {"inliers": 8, "outliers": 3, "noise": 0.0, "seed": -1}).pair()
    text = "points 1\nedges abs(d1 - d2)\ntriangles similarity exp(-gap)"
    recipe = Recipe("random", model=text)
    points, edges, triangles = separations(recipe, pair)
    assert points.auc == 0.5 and points.overlap == 1.0
    assert edges.auc > 0.99 and triangles.auc > 0.99
    assert points.right.sum() == 8 and points.wrong.sum() == pair.shape[0] * pair.shape[1] - 8
    for bar, examples in zip(edges.right, edges.right_examples, strict=True):
        assert len(examples) == min(bar, 3)
        for matches in examples:
            assert pair.correct(matches).all()
    assert not any(pair.correct(matches).all() for bar in edges.wrong_examples for matches in bar)
    assert [one.auc for one in separations(recipe, pair)] == [0.5, edges.auc, triangles.auc]


def test_right_and_wrong_tuples_are_those_that_brute_force_finds():
    pair = pair_of(6, 7, seed=5)
    recipe = Recipe("random", model="triangles similarity exp(-gap / mean_gap) sample 2 per point with 12 nearest")
    (found,) = separations(recipe, pair)
    (potential,) = recipe.problem(pair).potentials
    stored = {
        frozenset(map(tuple, np.stack(np.divmod(row, 7), 1).tolist())): cost
        for row, cost in zip(potential.indices, potential.costs, strict=True)
    }
    right, wrong, unseen = [], [], 0
    for left in np.unique(potential.indices // 7, axis=0).tolist():
        for order in itertools.permutations(range(7), 3):
            matches = frozenset(zip(left, order, strict=True))
            true = all(pair.truth[i] == j for i, j in matches)
            (right if true else wrong).append(stored.get(matches, 0.0))
            unseen += true and matches not in stored
    assert (found.right.sum(), found.unseen) == (len(right), unseen) and unseen > 0
    assert found.auc == pytest.approx(auc(np.array(right), np.array(wrong)), abs=0.02)


@pytest.mark.parametrize("clause", ["", "on 2 nearest of left", "on 2 nearest of both", "on 2 nearest"])
def test_edges_are_told_apart_where_they_live(clause):
    pair = pair_of(6, 7, seed=6)
    recipe = Recipe("random", model=f"edges abs(d1 - d2) {clause}")
    (found,) = separations(recipe, pair)
    (formula,) = recipe.problem(pair).potentials
    right, wrong = [], []
    for (i1, i2), (j1, j2) in itertools.combinations(itertools.product(range(6), range(7)), 2):
        nodes = [np.array([node]) for node in (i1, j1, i2, j2)]
        if i1 == j1 or i2 == j2 or not (not clause or formula.lives(*nodes)[0]):
            continue
        true = pair.truth[i1] == i2 and pair.truth[j1] == j2
        (right if true else wrong).append(formula.between(*nodes)[0])
    assert found.right.sum() == len(right)
    assert found.auc == pytest.approx(auc(np.array(right), np.array(wrong)), abs=0.02)


def test_a_histogram_of_equal_costs_has_one_bar():
    (found,) = separations(Recipe("random", model="points 2"), pair_of())
    assert (np.diff(found.edges) > 0).all() and found.right.max() == found.right.sum() == 8


@pytest.mark.parametrize(
    ("share", "shown"), [(1.0, "1.000"), (0.99996, "0.999"), (0.00002, "0.001"), (0.0, "0.000"), (0.1234, "0.123")]
)
def test_only_what_never_errs_is_said_never_to_err(share, shown):
    assert told(share, 3, 1.0) == shown
    pair = pair_of(6, 7, seed=6)
    (found,) = separations(Recipe("random", model="edges abs(d1 - d2)"), pair)
    nearly = replace(found, auc=share)
    assert table([nearly]).lines[0][3] == shown and separation.part(nearly)["auc"] == float(shown)
    assert ("100.0 %" in nearly.verdict) == (share == 1.0) and (" 0.0 %" in nearly.verdict) == (share == 0.0)
    assert table([replace(found, auc=float("nan"))]).lines[0][3] == "nan"
