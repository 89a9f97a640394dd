"""Confidence: by hand, and that precision rises and the number falls as more of it is asked for."""

import numpy as np
import pytest

from adgm import METHODS, Dense, Problem, Sparse, solve
from features.datasets import DATASETS
from features.judge.confidence import confidences, gains
from features.models import MODELS


def test_gain_and_rival_by_hand():
    unary = np.array([[-1.0, -0.5], [0.0, -2.0]])
    problem = Problem((2, 2), [Dense(unary), Sparse([[0, 3]], [-0.25], symmetric=True)])
    both = np.array([1, 0, 0, 1])
    # Each of the two matches loses its own cost and both orders of the pair.
    np.testing.assert_allclose(gains(problem, both), [1.5, 0.5, 0.0, 2.5])
    expected = [1 / (1 + np.exp(-(1 + 0.8 * gain - 0.26 * 0.5))) for gain in (1.5, 2.5)]
    np.testing.assert_allclose(confidences(problem, both), expected)


@pytest.mark.parametrize("key", [key for key, model in MODELS.items() if not model.given])
def test_a_match_without_which_the_energy_is_worse_by_more_is_surer(key):
    """The gain is what leaving the match out costs, whatever the order of the model."""
    pair = DATASETS["random"].load(images=False, inliers=8, outliers=2)
    problem = MODELS[key].build(pair, rows="at_most_one", cols="at_most_one")
    result = solve(problem, METHODS["adgm"].make())
    chosen = np.flatnonzero(result.assignment)
    gain = gains(problem, result.assignment)[chosen]
    for variable, told in zip(chosen, gain, strict=True):
        without = result.assignment.astype(float)
        without[variable] = 0
        assert problem.energy(without) - result.energy == pytest.approx(told, rel=1e-9, abs=1e-12)


def test_precision_rises_and_the_number_falls_with_the_threshold():
    pair = DATASETS["portrait"].load()
    problem = MODELS["photo"].build(pair)
    result = solve(problem, METHODS["adgm"].make())
    sure, right = confidences(problem, result.assignment), pair.correct(result.pairs)
    assert ((sure > 0) & (sure < 1)).all() and len(sure) == len(right) > 60
    precision = [right[sure >= cut].mean() for cut in (0.0, 0.8, 0.95)]
    assert precision[0] - 0.02 <= precision[1] <= precision[2] + 0.02
    assert precision[2] > 0.95
