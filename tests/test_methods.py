"""What every method owes its user, whatever it is: one contract, held by all of METHODS."""

import warnings
from dataclasses import fields
from functools import cache
from itertools import product

import numpy as np
import pytest

from adgm import ANY, EXACTLY_ONE, METHODS, Dense, Problem, Sparse, iterate, solve
from adgm.options import options
from adgm.problem import CONSTRAINTS
from tests.oracles import energy
from tests.problems import mixed, planted

ORDERS = (1, 2, 3, 4)
GENERAL = {key: entry for key, entry in METHODS.items() if not entry.products}  # the others: tests/test_products.py
CASES = [(key, order) for key, entry in GENERAL.items() for order in ORDERS if order in entry.orders]


def informed(shape, order, seed=0, **options):
    """A planted problem whose unary costs point to the planted matching too, so that every method can find it."""
    problem, truth = planted(shape, order, seed)
    small = min(shape)
    rows, cols = (np.arange(small), truth[:small]) if shape[0] <= shape[1] else (truth[:small], np.arange(small))
    unary = -0.3 * np.random.default_rng(seed).random(shape)
    unary[rows, cols] = -0.5
    return Problem(shape, [*problem.potentials, Dense(unary)], **options), (rows, cols)


def takes(key, problem):
    return not METHODS[key].refusal(problem)


def test_every_method_and_every_option_says_in_plain_words_what_it_does():
    for key, entry in METHODS.items():
        assert entry.does.endswith(".") and len(entry.does) > 30, key
        for name, one in options(type(entry.make())).items():
            assert one.help.endswith("."), (key, name)


@pytest.mark.parametrize(("key", "order"), CASES)
def test_every_method_finds_the_planted_matching(key, order):
    for problem, truth in (planted((7, 7), order), planted((7, 7), order, seed=1)):
        if takes(key, problem):
            np.testing.assert_array_equal(solve(problem, METHODS[key].make()).matching, truth)
    problem, (rows, cols) = informed((7, 7), order)
    assert sorted(map(tuple, solve(problem, METHODS[key].make()).pairs)) == sorted(zip(rows, cols, strict=True))


def without_two(shape):
    """All candidates but two."""
    candidates = np.ones(shape, bool)
    candidates[0, 1] = candidates[2, 0] = False
    return candidates


@cache
def posed(shape, order, rows, cols, some):
    """The same problem, with its tables, for every method."""
    return mixed(shape, order, rows=rows, cols=cols, candidates=without_two(shape) if some else None)


@pytest.mark.parametrize("sides", list(product(CONSTRAINTS, repeat=2)), ids=str)
@pytest.mark.parametrize(("key", "order"), CASES)
def test_matchings_obey_the_constraints(key, order, sides):
    rows, cols = sides
    shapes = [s for s in ((3, 4), (4, 3), (3, 3)) if not (rows == EXACTLY_ONE and cols != ANY and s[0] > s[1])]
    shapes = [s for s in shapes if not (cols == EXACTLY_ONE and rows != ANY and s[1] > s[0])]
    for shape in shapes:
        for mask in (None, without_two(shape)):
            problem = posed(shape, order, rows, cols, mask is not None)
            if not takes(key, problem):
                assert METHODS[key].one_to_one and ANY in sides
                continue
            result = solve(problem, METHODS[key].make())
            matched = problem.matrix(result.assignment) > 0
            assert mask is None or not matched[~mask].any()
            for axis, constraint in ((1, rows), (0, cols)):
                counts = matched.sum(axis=axis)
                assert constraint == ANY or (counts <= 1).all()
                assert constraint != EXACTLY_ONE or (counts == 1).all()


@pytest.mark.parametrize(("key", "order"), CASES)
def test_energies_are_those_of_the_matching_in_the_users_units(key, order):
    problem = mixed((4, 3), order, seed=3)
    result = solve(problem, METHODS[key].make())
    chosen = result.assignment.astype(float)
    assert result.energy == pytest.approx(energy(problem, problem.matrix(chosen).ravel()), rel=1e-9, abs=1e-9)
    assert result.energy == result.state.best_energy
    for name, values in result.history.items():
        assert len(values) == result.iterations and not np.isnan(values).any(), name
    assert {"seconds", "energy"} <= result.history.keys()


@pytest.mark.parametrize(("key", "order"), CASES)
def test_a_run_repeats_itself(key, order):
    first, again = (solve(mixed((4, 5), order, seed=5), METHODS[key].make()) for _ in range(2))
    np.testing.assert_array_equal(first.assignment, again.assignment)
    np.testing.assert_array_equal(first.history["energy"], again.history["energy"])
    assert (first.iterations, first.status, first.energy) == (again.iterations, again.status, again.energy)


@pytest.mark.parametrize(("key", "order"), CASES)
def test_watching_a_run_closely_does_not_change_its_matching(key, order):
    problem = mixed((4, 5), order, seed=5)
    whole, watched = (solve(problem, METHODS[key].make(), every=every) for every in (50, 1))
    np.testing.assert_array_equal(whole.assignment, watched.assignment)
    assert whole.energy == pytest.approx(watched.energy, rel=1e-12)


@pytest.mark.parametrize(("key", "order"), CASES)
def test_a_stopped_run_has_a_matching_and_can_go_on(key, order):
    problem = mixed((4, 5), order, seed=5)
    method = METHODS[key].make()
    stopped = solve(problem, method, watch=lambda state: state.iteration >= 1, every=1)
    assert stopped.status == "stopped" and stopped.iterations <= 1
    assert stopped.energy == pytest.approx(problem.energy(stopped.assignment))
    at_once = solve(problem, method, watch=lambda state: True)
    assert at_once.status == "stopped" and at_once.iterations == 0 and np.isfinite(at_once.energy)
    whole = solve(problem, method)
    resumed = solve(problem, method, start=stopped.state)
    np.testing.assert_array_equal(resumed.assignment, whole.assignment)
    assert resumed.iterations == whole.iterations


@pytest.mark.parametrize(("key", "order"), CASES)
def test_steps_leave_earlier_states_as_they_were(key, order):
    problem = mixed((3, 4), order, seed=7)
    method = METHODS[key].make()
    states = []
    for state in iterate(method, problem):
        states.append((state, state.x.copy()))
        if len(states) > 4:
            break
    for state, x in states:
        np.testing.assert_array_equal(state.x, x)
    ended = solve(problem, method).state
    assert method.step(problem, ended, 5).iteration == ended.iteration


@pytest.mark.parametrize("key", METHODS)
def test_bad_options_are_refused_by_name(key):
    make = METHODS[key].make
    method = make()
    for name in {f.name for f in fields(method)} & {"max_iter", "tol", "rounding", "start", "variant", "norm", "jump"}:
        for wrong in (-1, float("nan"), "nonsense"):
            with pytest.raises(ValueError, match=name):
                make(**{name: wrong})
    with pytest.raises(TypeError):
        make(no_such_option=1)


@pytest.mark.parametrize("key", GENERAL)
def test_what_a_method_does_not_take_is_said_in_a_sentence(key):
    entry = METHODS[key]
    for order in ORDERS:
        refusal = entry.refusal(mixed((3, 4), order))
        assert bool(refusal) == (order not in entry.orders)
        assert not refusal or (entry.label in refusal and refusal.endswith("."))
    free = mixed((3, 4), min(o for o in ORDERS if o in entry.orders), cols=ANY)
    assert bool(entry.refusal(free)) == entry.one_to_one
    bare, _ = planted((4, 4), 2)
    assert not entry.needs_unary or "unary" in entry.refusal(bare)
    assert entry.label and entry.cite


@pytest.mark.parametrize(("key", "order"), CASES)
def test_degenerate_problems_end_without_a_warning(key, order):
    for shape in ((1, 3), (3, 1), (2, 2)):
        n = shape[0] * shape[1]
        lonely = np.ones(shape, bool)
        lonely[0] = shape[0] == 1
        nothing = Sparse(np.zeros((0, order), int), [])
        for mask in (None, lonely):
            for unary in (np.zeros(shape), -np.ones(shape), 1e98 * np.arange(n).reshape(shape)):
                problem = Problem(shape, [nothing, Dense(unary)], candidates=mask)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    result = solve(problem, METHODS[key].make(), time_limit=20)
                assert np.isfinite(result.energy) and np.isfinite(result.x).all()


def test_what_methods_ask_of_a_problem():
    assert {key for key, entry in METHODS.items() if not entry.one_to_one} == {
        *("adgm", "adgm+", "adgm1", "adgm2", "fusion", "lap")
    }
    assert {key for key, entry in METHODS.items() if entry.needs_unary} == {"lap"}
    assert {key for key, entry in METHODS.items() if entry.products} == {"faq"}


@pytest.mark.parametrize(("key", "copies"), [("adgm1", 3), ("adgm2", 3), ("bcagm", 4), ("bcagm-lap", 4), ("bcagm3", 3)])
def test_how_many_copies_of_the_matching_a_method_has(key, copies):
    problem = mixed((3, 4), 3)
    assert METHODS[key].make().init(problem).blocks.shape == (copies, problem.n)
