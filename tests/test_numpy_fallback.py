"""A run that begins in NumPy while its kernels are compiled ends as one that did not have to wait."""

import itertools
import threading

import numpy as np
import pytest

from adgm import METHODS
from adgm.machine.numpy_fallback import compiled
from adgm.machine.numpy_fallback import plain as plain_problem
from adgm.run import Run
from features.judge.metrics import matched_pairs
from features.recipe import Recipe
from tests.problems import mixed, planted
from ui.choice.sidebar import Chosen
from ui.jobs.job import Job
from ui.jobs.numpy_fallback import NumpyFallback, quick_enough
from ui.match import page_run
from ui.match.lead import going
from ui.shell.warmup import latest, stage_of

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
    assert quick_enough(method, problem.order, problem.shape)
    asked = itertools.count()
    fallback = NumpyFallback(method, lambda: next(asked) >= looks)
    ours = Run(plain_problem(problem), fallback).finish(every=20)
    alone = Run(problem, method).finish(every=20)
    assert (ours.status, ours.matching.tolist()) == (alone.status, alone.matching.tolist())
    assert ours.energy == pytest.approx(alone.energy)
    for name in ("rho", "energy", "gap", "change"):  # later on the last bits of sums decide when rho grows
        np.testing.assert_allclose(ours.history[name][:60], alone.history[name][:60], rtol=1e-5, atol=1e-9)
    assert fallback.polish == method.polish


def test_photographs_begin_in_numpy_too_and_end_as_with_compiled_code():
    recipe = Recipe("portrait", {}, "photo", points="sift", point_params={"left": 60, "right": 60})
    pair = recipe.pair()
    problem, method = recipe.problem(pair), METHODS["adgm"].make()
    assert quick_enough(method, 2, (500, 500), sparse=True) and not quick_enough(method, 2, (500, 500))
    asked = itertools.count()
    ours = Run(plain_problem(problem), NumpyFallback(method, lambda: next(asked) >= 10_000)).finish(every=20)
    assert ours.matching.tolist() == Run(problem, method).finish(every=20).matching.tolist()


def test_a_run_that_waits_for_the_compiler_says_what_it_has_found():
    pair = RECIPE.pair()
    method = NumpyFallback(METHODS["adgm"].make(), lambda: False)
    job = Job(method, plain_problem(RECIPE.problem(pair)), lacks_kernels=method.lacks_kernels).start()
    while job.snapshot().status != "compiling":
        job.rest(0.01)
    told = going(page_run.Run(job, Chosen(pair, RECIPE), 1), job.snapshot(), None)
    right = int(pair.correct(matched_pairs(job.problem, job.snapshot().best)).sum())
    assert told.badge == "First answer" and told.strong.startswith(f"{right} of {pair.has_partner.sum()} points")
    assert "polished as soon as the solver is compiled" in told.rest
    job.stop()


def test_waiting_for_the_compiler_is_neither_computing_nor_over():
    problem, there = RECIPE.problem(RECIPE.pair()), threading.Event()
    method = NumpyFallback(METHODS["adgm"].make(max_iter=30), there.is_set)
    job = Job(method, plain_problem(problem), lacks_kernels=method.lacks_kernels).start()
    while job.snapshot().status != "compiling":
        job.rest(0.01)
    held = job.snapshot()
    assert held.active and held.iteration == 30 and held.best is not None  # what was rounded can be seen
    job.rest(0.3)
    assert job.snapshot().elapsed == held.elapsed
    there.set()
    end = job.wait()
    assert end.status == "iteration limit" and end.iteration == 30
    assert end.best_energy == pytest.approx(Run(problem, method.method).finish().energy)


def test_a_run_that_waits_for_the_compiler_can_be_stopped_and_one_that_needs_it_first_builds_nothing():
    problem, built = RECIPE.problem(RECIPE.pair()), []
    method = NumpyFallback(METHODS["adgm"].make(max_iter=5), lambda: False)
    at_its_end = Job(method, plain_problem(problem), lacks_kernels=method.lacks_kernels).start()
    at_once = Job(METHODS["adgm1"].make(), lambda: built.append(problem), lacks_kernels=lambda state: True).start()
    for job in (at_its_end, at_once):
        while job.snapshot().status != "compiling":
            job.rest(0.01)
        job.stop()
        assert job.wait().status == "stopped"
    assert at_its_end.result().matching.size and not built


def test_a_comparison_waits_for_the_kernels_of_all_its_methods():
    def needed(order, *keys):
        return latest(stage_of(key, METHODS[key].make(), order) for key in keys)

    assert needed(2, "adgm1") == "plain"
    assert needed(2, "adgm1", "rrwm") == "sparse" and needed(3, "adgm", "tm") == "third order"
    assert needed(2, "adgm+", "rrwm") == "portfolio"
    assert needed(2, "fusion", "adgm+", "adgm1") == needed(3, "adgm+", "fusion") == "fusion"
