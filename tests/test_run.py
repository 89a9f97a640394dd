"""The only loop and the only clock: pieces make a whole, limits hold for everything, names open the front door."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from adgm import ADGM, METHODS, Dense, Formula, Problem, Run, State, solve
from adgm.machine.deadline import TimeUp, carried, check_time, deadline
from adgm.methods import Entry
from adgm.search.portfolio import Portfolio
from oracles import allowed
from problems import distances, mixed, planted, squared_difference


class Clock:
    """Time that passes only when somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Toil:
    """A method that only takes time: so much to begin, so much for an iteration."""

    clock: Clock
    beginning: float = 0.0
    each: float = 0.01
    last: int = 10**9

    def init(self, problem):
        self.clock.now += self.beginning
        return State(iteration=0, x=np.ones(problem.n))

    def step(self, problem, state, n=1):
        n = min(n, self.last - state.iteration)
        self.clock.now += n * self.each
        return replace(state, iteration=state.iteration + n, trace={"energy": np.ones(n)})

    def done(self, state):
        return state.iteration >= self.last


@pytest.mark.parametrize("each", [1e-4, 1e-3, 0.1, 0.9])
@pytest.mark.parametrize("beginning", [0.0, 2.0])
@pytest.mark.parametrize("every", [1, 50, 100_000])
def test_a_time_limit_holds_for_beginning_and_iterations(beginning, each, every):
    clock = Clock()
    result = Run(mixed(), Toil(clock, beginning, each), time_limit=3.0, clock=clock).finish(every=every)
    assert result.status == "time limit"
    assert 3.0 <= clock.now <= 4.0
    assert_allclose(result.seconds, clock.now)
    assert len(result.history["energy"]) == result.iterations == round((clock.now - beginning) / each)


def test_a_run_that_ends_in_time_is_not_cut_short():
    clock = Clock()
    result = Run(mixed(), Toil(clock, each=0.01, last=120), time_limit=3.0, clock=clock).finish()
    assert (result.status, result.iterations) == ("iteration limit", 120)


@dataclass(frozen=True)
class Finder(Toil):
    """Finds something better at some iterations, and takes a second for each of them."""

    news: tuple[int, ...] = ()

    def init(self, problem):
        return replace(super().init(problem), best=np.zeros(problem.n, bool), best_energy=0.0)

    def step(self, problem, state, n=1):
        state = super().step(problem, state, 1)
        return replace(state, best_energy=-float(sum(at <= state.iteration for at in self.news)))


@pytest.mark.parametrize(("news", "found"), [((), 0.5), ((4,), 4.5), ((2, 7), 7.5), ((10,), 10.5)])
def test_the_time_to_the_best_matching_is_when_it_was_first_held(news, found):
    clock = Clock()
    result = Run(mixed(), Finder(clock, 0.5, 1.0, 10, news), clock=clock).finish()
    assert (result.seconds, result.seconds_to_best) == (10.5, found)
    clock = Clock()
    bare = Run(mixed(), Toil(clock, 0.5, 1.0, 10), clock=clock).finish()
    assert bare.seconds == bare.seconds_to_best == 10.5  # it holds none before the end


LIMITS = np.geomspace(0.05, 2.0, 20)
SIDES = [{}, {"rows": "exactly_one"}, {"cols": "exactly_one"}, {"rows": "exactly_one", "cols": "exactly_one"}]


def small(number: int) -> Problem:
    """One of many random problems: three orders, four shapes with rules that fit them, some pairs left out."""
    rng = np.random.default_rng(number)
    order, sides = 1 + number % 3, SIDES[number % 4]
    shape = [(3, 4), (2, 4), (4, 2), (3, 3)][number % 4]
    mask = rng.random(shape) < 0.9 if number % 5 == 0 and not sides else None
    return mixed(shape, order, number, candidates=mask, **sides)


@pytest.mark.parametrize("key", METHODS)
def test_whatever_the_limit_every_method_gives_a_matching_and_says_what_happened(key):
    """Sixty problems, each under one of twenty limits from 0.05 to 2 s. Every look at the clock takes from two
    thousandths to a twentieth of a second, so that limits cut anywhere, in tables and in steps."""
    for number in range(60):
        problem = products(number) if METHODS[key].products else small(number)
        if METHODS[key].refusal(problem):
            continue
        limit, look, clock = LIMITS[number % 20], (0.002, 0.01, 0.05)[number // 20 % 3], Clock()

        def ticking(clock=clock, look=look):
            clock.now += look
            return clock.now

        run = Run(problem, METHODS[key].make(), time_limit=limit, clock=ticking)
        result = run.finish()
        late = run.seconds + run.overhead - limit  # by the clock above
        assert late <= 1.0
        assert allowed(problem, problem.matrix(result.assignment))
        assert_allclose(result.energy, problem.energy(result.assignment), atol=1e-9)
        assert result.seconds_to_best <= result.seconds
        over = run.state is not None and run.method.done(run.state)
        assert (result.status == "time limit") == (not over)


def products(number: int) -> Problem:
    """A quadratic assignment problem, for methods that take no other."""
    left, right = np.random.default_rng(number).random((2, 3, 3))
    costs = np.einsum("ij,st->isjt", left, right).reshape(9, 9)
    return Problem((3, 3), [Dense(costs)], rows="exactly_one", cols="exactly_one")


def test_a_run_that_is_out_of_time_builds_no_tables_to_tell_what_its_matching_costs():
    """Whoever has not looked at a pairwise cost yet pays for those of its matching alone."""
    seen, clock = 0, Clock()

    def counted(a, b):
        nonlocal seen
        cost = squared_difference(a, b)
        seen += cost.size
        clock.now += 1e-5 * cost.size
        return cost

    rng = np.random.default_rng(0)
    formula = Formula(distances(rng.random((30, 2))), distances(rng.random((30, 2))), counted)
    problem = Problem((30, 30), [formula, Dense(rng.random((30, 30)))], rows="exactly_one")
    for key in ("lap", "adgm"):
        seen, clock.now = 0, 0.0
        result = Run(problem, METHODS[key].make(), time_limit=0.5, clock=clock).finish()
        assert allowed(problem, problem.matrix(result.assignment))
        assert clock.now <= 1.0 and seen < 900**2 / 4


def test_dual_decomposition_has_a_matching_before_its_first_sweep():
    problem = mixed((5, 6), 2, seed=3)
    state = METHODS["dd"].make().init(problem)
    assert state.best is not None and state.best_energy < 0
    assert state.best_energy == pytest.approx(problem.energy(state.best))


@pytest.mark.parametrize(
    "method", [ADGM(), ADGM(rho0="auto"), METHODS["rrwm"].make(), METHODS["dd"].make(), Portfolio()]
)
def test_a_time_limit_holds_while_tables_are_built(method):
    """Every evaluation of the formula takes its time; the answer is a matching all the same."""
    clock = Clock()
    rng = np.random.default_rng(0)

    def slow(a, b):
        cost = squared_difference(a, b)
        clock.now += cost.size * 1e-5
        return cost

    formula = Formula(distances(rng.random((30, 2))), distances(rng.random((30, 2))), slow)  # 8 s for all columns
    problem = Problem((30, 30), [formula], rows="exactly_one")
    result = Run(problem, method, time_limit=2.0, clock=clock).finish()
    assert result.status == "time limit"
    assert clock.now <= 3.0
    assert allowed(problem, problem.matrix(result.assignment))
    assert_allclose(result.energy, problem.energy(result.assignment))


def test_a_deadline_around_a_run_ends_it_too():
    """ADGM+ asks for a lower bound, which is a run of its own: its time is the portfolio's."""
    clock = Clock()
    pairs = Problem((12, 12), [Formula(np.eye(12), np.eye(12), lambda a, b: np.abs(a - b)[..., 0])])
    Run(pairs, Portfolio(max_iter=50), clock=clock).finish()  # builds all tables

    def ticking() -> float:
        clock.now += 0.01
        return clock.now

    result = Run(pairs, Portfolio(max_iter=50), time_limit=1.0, clock=ticking).finish()
    assert clock.now < 3.0
    assert allowed(pairs, pairs.matrix(result.assignment))


def test_pieces_make_the_whole():
    problem, method = mixed((4, 5), 3), ADGM(max_iter=400, warmup=30, patience=10)
    whole = solve(problem, method)
    run = Run(problem, method)
    assert run.state is None and run.iteration == 0 and run.status is None
    assert run.advance(7).iteration == 0
    sizes = iter([1, 7, 40, 3] * 100)
    while run.status is None:
        before = run.iteration
        asked = next(sizes)
        state = run.advance(asked)
        assert state.iteration == before + len(state.trace["residual"]) <= before + asked
    assert run.status == whole.status
    assert_array_equal(run.best()[0], whole.assignment)
    assert run.best()[1] == whole.energy
    assert_array_equal(run.history.arrays()["residual"], whole.history["residual"])
    assert_array_equal(run.history.arrays()["iteration"], np.arange(1, run.iteration + 1))
    assert run.advance(5) is run.state  # it is over


def test_a_time_limit_changes_no_iterate():
    problem, method = mixed((4, 5), 3), ADGM(max_iter=300)
    one, other = solve(problem, method), solve(problem, method, time_limit=1000.0)
    assert_array_equal(one.history["residual"], other.history["residual"])
    assert_array_equal(one.state.blocks, other.state.blocks)
    states = []
    solve(problem, method, time_limit=1000.0, every=100, watch=lambda s: states.append(s) and None)
    assert [len(s.trace.get("residual", ())) for s in states] == [0] + [100] * (len(states) - 1)


def test_a_run_goes_on_from_a_changed_state():
    run = Run(mixed((4, 5), 2), ADGM(rho0=1e-3, growth=1.0, max_iter=400))
    with pytest.raises(ValueError, match="call advance first"):
        run.change(lambda state: state)
    run.advance()
    run.advance(50)
    run.change(lambda state: replace(state, rho=50.0))
    assert run.advance(1).trace["rho"][0] == 50.0


def test_the_best_matching_is_the_methods_own_or_what_a_stopped_run_rounds_to():
    problem, _ = planted()
    run = Run(problem, ADGM(rho0=0.1))
    seen = []
    while run.status is None:
        run.advance(10)
        seen.append(run.best()[1])
        assert run.best()[1] <= run.rounded()[1]
        assert allowed(problem, problem.matrix(run.best()[0]))
    assert seen[-1] == run.state.best_energy == run.result().energy


def test_a_history_of_ones_own_sees_every_iteration_once():
    class Last:
        def __init__(self):
            self.seen = []

        def add(self, columns):
            assert {"iteration", "seconds", "residual"} <= {*columns} or not columns["iteration"].size
            self.seen.extend(columns["iteration"])

        def arrays(self):
            return {}

    record = Last()
    result = Run(mixed((4, 5), 2), ADGM(max_iter=77, tol=0.0), history=record).finish(every=10)
    assert_array_equal(record.seen, np.arange(1, 78))
    assert result.history == {}


def test_what_a_matching_pays_needs_no_tables():
    for order in (1, 2, 3, 4):
        problem = mixed((3, 4), order, seed=order)
        result = solve(problem)
        fresh = mixed((3, 4), order, seed=order)
        assert_allclose(fresh.paid(result.assignment), result.energy)
        assert "runtime" not in vars(fresh)


def test_methods_are_called_by_name():
    problem, truth = planted()
    for name in ("rrwm", "adgm", "adgm+"):
        assert_array_equal(solve(problem, name).matching, truth)
    with pytest.raises(ValueError, match="there is no method 'magic'; the methods are adgm, "):
        solve(problem, "magic")
    with pytest.raises(ValueError, match="RRWM takes order 2, and this problem is of order 3"):
        solve(mixed(order=3), "rrwm")


def test_a_method_of_ones_own_is_one_line(monkeypatch):
    """What a newcomer does first: a record with init, step and done, and its line in METHODS."""

    @dataclass(frozen=True)
    class Identity:
        def init(self, problem):
            return State(iteration=0, x=problem.vector(np.eye(*problem.shape)))

        def step(self, problem, state, n=1):
            return replace(state, iteration=1, converged=True)

        def done(self, state):
            return state.converged

    monkeypatch.setitem(METHODS, "identity", Entry("Identity", Identity, range(1, 100), "a test"))
    result = solve(mixed((3, 4), 2, rows="exactly_one"), "identity")
    assert (result.status, result.iterations) == ("converged", 1)
    assert_array_equal(result.matching, [0, 1, 2])


@dataclass(frozen=True)
class Poor:
    """A method whose best matching is nobody's, while its relaxed assignment rounds to a good one."""

    over: bool = False

    def init(self, problem):
        nobody = np.zeros(problem.n, bool)
        good = np.eye(*problem.shape).reshape(-1)
        return State(iteration=0, x=good, best=nobody, best_energy=problem.energy(nobody))

    def step(self, problem, state, n=1):
        return replace(state, iteration=state.iteration + 1)

    def done(self, state):
        return self.over


def test_a_run_that_goes_on_may_round_to_better_than_its_method_has():
    problem = Problem((3, 3), [Dense(-np.eye(3))])
    run, over = Run(problem, Poor()), Run(problem, Poor(over=True))
    run.advance()
    over.advance()
    assert run.best()[1] == run.result().energy == -3.0
    assert_array_equal(run.best()[0].reshape(3, 3), np.eye(3) > 0)
    assert over.best()[1] == 0.0  # whoever is done has said its last word


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("inner", [False, True])
def test_deadlines_around_a_deadline_stay_in_force(outer, inner):
    def looked() -> bool:
        try:
            check_time()
        except TimeUp:
            return True
        return False

    with deadline(lambda: outer):
        with deadline(lambda: inner):
            assert looked() == carried(looked)() == (outer or inner)
        assert looked() == outer
    assert not looked()
