"""A run that begins in NumPy while its kernels are compiled ends as one that did not have to wait."""

import itertools

import numpy as np
import pytest

from adgm import METHODS
from adgm.plain import compiled
from adgm.plain import plain as plain_problem
from adgm.run import Run
from adgm.warmup import STAGES
from features.recipe import Recipe
from tests.problems import mixed, planted
from ui.jobs.meanwhile import Meanwhile, possible
from ui.warmup import latest, stage_of

RECIPE = Recipe("random", {"inliers": 10, "outliers": 3, "noise": 8}, "B")


@pytest.mark.parametrize("order", [2, 3])
def test_plain_tables_are_the_compiled_ones(order):
    for problem in (mixed(order=order), planted(order=order)[0]):
        plain = plain_problem(problem)
        x = np.random.default_rng(0).random((max(2, order), problem.n))
        assert plain.scale == pytest.approx(problem.scale)
        assert plain.energies(x) == pytest.approx(problem.energies(x))
        for slot in range(len(x)):
            np.testing.assert_allclose(plain.contract(x, slot), problem.contract(x, slot), atol=1e-9)
        compiled(plain)
        assert plain.energies(x) == problem.energies(x)


@pytest.mark.parametrize("key", ["adgm", "adgm1"])
@pytest.mark.parametrize("looks", [0, 3, 10_000])  # how often the code is not there yet
def test_the_change_over_does_not_change_the_run(key, looks):
    problem = RECIPE.problem(RECIPE.pair())
    method = METHODS[key].make()
    assert possible(method, problem.order, problem.shape)
    asked, waited = itertools.count(), []
    borrowing = Meanwhile(method, lambda: next(asked) >= looks, lambda: waited.append(True))
    ours = Run(plain_problem(problem), borrowing).finish(every=20)
    alone = Run(problem, method).finish(every=20)
    assert (ours.status, ours.matching.tolist()) == (alone.status, alone.matching.tolist())
    assert ours.energy == pytest.approx(alone.energy)
    for name in ("rho", "energy", "gap", "change"):  # later on the last bits of sums decide when rho grows
        np.testing.assert_allclose(ours.history[name][:60], alone.history[name][:60], rtol=1e-5, atol=1e-9)
    assert bool(waited) == (looks == 10_000)
    assert borrowing.polish == method.polish


def test_a_comparison_waits_for_the_kernels_of_all_its_methods():
    def needed(order, *keys):
        return latest(stage_of(key, METHODS[key].make(), order) for key in keys)

    assert needed(2, "adgm1") == "plain"
    assert needed(2, "adgm1", "rrwm") == "sparse" and needed(3, "adgm", "tm") == "third order"
    assert needed(2, "adgm+", "rrwm") == "portfolio"
    assert needed(2, "fusion", "adgm+", "adgm1") == needed(3, "adgm+", "fusion") == list(STAGES)[-1] == "fusion"
