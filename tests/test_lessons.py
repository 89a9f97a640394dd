"""What the chapters of the Learn page claim holds in numbers; every number that they say is counted again here."""

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from adgm import ADGM, prices, reference
from adgm.costs.tables import Runtime
from adgm.reference import Iterate
from features import penalty_study
from features.explain import lessons, planar
from features.recipe import OWN, Recipe
from ui.learn import formula, order, outliers, penalty, plane, rounding, simplex, splitting, step, verdicts
from ui.learn.assignment import SIX
from ui.learn.chapters import CHAPTERS


def test_one_of_six_matchings_is_best_and_the_terms_add_up():
    ranked = lessons.ranking(lessons.triangles())
    assert ranked[0].name == "A3 B1 C2"
    assert len({each.name for each in ranked}) == 6
    assert ranked[0].energy < ranked[1].energy - 0.5  # no tie: the question has one answer
    for each in ranked:
        assert_allclose(sum(term.cost for term in each.terms), each.energy)
    assert {each.name for each in ranked} == set(SIX)


def test_structure_repairs_what_descriptors_confuse():
    assert lessons.structure(0.0).right == 18
    assert lessons.structure(1.0).right == 30


def test_the_first_formula_is_what_the_page_adds_up():
    """Σ over i < j of |d1 − d2|, from the points alone."""
    sides = [np.array(side) for side in (lessons.LEFT, lessons.RIGHT)]
    assert "Σ_{i<j}" in CHAPTERS["assignment"].formula
    for each in lessons.ranking(lessons.triangles()):
        left, right = sides[0], sides[1][list(each.matching)]
        edges = [(0, 1), (0, 2), (1, 2)]
        expected = sum(abs(np.hypot(*(left[a] - left[b])) - np.hypot(*(right[a] - right[b]))) for a, b in edges)
        assert each.energy == pytest.approx(expected)
    assert "0.53" in CHAPTERS["assignment"].told(CHAPTERS["assignment"].defaults)


def test_each_block_keeps_its_half_of_the_rules_until_both_agree():
    trail, problem = lessons.trail(), lessons.problem_of(lessons.SPLIT)
    assert len(trail) == 10 and trail[-1].converged  # the slider's range
    for state in trail[1:]:
        first, second = (lessons.sums(problem.matrix(block)) for block in state.blocks)
        assert first.cols and second.rows
    assert [str(lessons.sums(problem.matrix(block))) for block in trail[1].blocks] == ["columns", "rows"]
    assert [str(lessons.sums(problem.matrix(block))) for block in trail[-1].blocks] == ["both", "both"]


def test_blocks_that_agree_are_called_a_matching_only_where_they_are_one():
    for k, state in enumerate(lessons.trail()):
        one, two = (np.round(block, 12).reshape(4, 4) for block in state.blocks)
        hard = set(np.unique(one)) <= {0, 1} and (one == two).all()
        assert splitting.same_matching(k) == hard == ("same matching" in splitting.apart({"k": k}))
        distance = ((state.blocks[0] - state.blocks[1]) ** 2).sum()
        assert k == 0 or f"‖x₁ − x₂‖² = {distance:.3g}" in splitting.apart({"k": k})
    assert "agree, but on 0.25 everywhere, which is no matching" in splitting.apart({"k": 0})


def test_rounding_finds_the_matching_of_largest_sum_and_says_what_it_changes():
    problem, chapter = lessons.problem_of(lessons.SPLIT), CHAPTERS["rounding"]
    matchings = [np.eye(4)[list(each)].ravel() for each in permutations(range(4))]
    final = lessons.rounded(lessons.trail()[-1]).matching
    for k, state in enumerate(lessons.trail()[1:], 1):
        now = lessons.rounded(state)
        chosen = np.eye(4)[list(now.matching)].ravel()
        assert now.total == pytest.approx(max((each * state.x).sum() for each in matchings))
        assert now.energy == pytest.approx(problem.energy(chosen))
        assert now.block_energy == pytest.approx(problem.energy(state.x))
        x = state.x.reshape(4, 4)
        is_matching = set(np.unique(x.round(9))) <= {0, 1} and (x.sum(axis=0).round(9) == 1).all()
        assert (abs(now.lost) < 1e-9) == is_matching  # until then the energy changes
        said = rounding.told({"rounds": k})
        assert ("costs the same" in said) == is_matching
        assert is_matching or f"{abs(now.lost):.2f} {'more' if now.lost > 0 else 'less'}" in said
        largest = x.argmax(axis=1)
        assert ("is no matching" in rounding.collided({"rounds": k})) == (len(set(largest)) < 4)
        if len(set(largest)) == 4:
            assert tuple(largest) == now.matching
        assert (now.matching == final) == (k >= int(chapter.answer({})))
    assert not ((lessons.trail()[6].x == 0) | (lessons.trail()[6].x == 1)).all()
    assert chapter.told(chapter.defaults).startswith("6: 3 iterations before the run ends")


def test_outside_the_triangle_at_least_one_entry_is_zero_and_beyond_a_corner_two():
    rng = np.random.default_rng(0)
    for first, second in rng.uniform(-2, 2, (300, 2)):
        c = np.array([first, second, 1 - first - second])
        zeros, top = int((lessons.nearest(c) == 0).sum()), np.sort(c)
        assert (zeros >= 1) == (c.min() < 0) or abs(c.min()) < 1e-9
        assert (zeros == 2) == (top[2] - top[1] >= 1)


def test_c_sums_to_one_on_the_triangle_and_not_in_the_step_by_hand():
    assert sum(simplex.target(simplex.FIRST)) == pytest.approx(1)
    assert simplex.target("1,1,1") == simplex.target(simplex.FIRST)  # a link that leaves the plane is not followed
    for state in lessons.trail()[1:]:
        targets = [problem.reshape(4, 4).sum(axis=axis) for problem, axis in zip(state.targets, (0, 1), strict=True)]
        assert (np.abs(np.array(targets) - 1) > 0.5).all()
    c = np.array([0.75, 0.45, -0.2])
    assert_allclose(lessons.nearest(c + 5), lessons.nearest(c))
    assert lessons.threshold(c + 5) == pytest.approx(lessons.threshold(c) + 5)


def test_the_projection_takes_one_threshold_from_all():
    for c in ([0.75, 0.45, -0.2], [1.6, -0.1, -0.5], [0.2, 0.5, 0.3]):
        x, tau = lessons.nearest(c), lessons.threshold(c)
        assert_allclose(x, np.maximum(np.array(c) - tau, 0.0), atol=1e-12)
        assert_allclose(x.sum(), 1.0)
    assert (lessons.nearest([1.6, -0.1, -0.5]) == [1, 0, 0]).all()


def test_the_parts_of_an_entry_add_up_to_its_target():
    trail, method = lessons.trail(), lessons.SPLIT.method_object()
    for before, after in pairwise(trail):
        assert isinstance(after, Iterate)
        for block in (0, 1):
            for entry in range(16):
                made = lessons.parts(method, before, after, block, entry)
                assert_allclose(made.neighbour + made.multiplier + made.cost, made.target, atol=1e-12)
    third = lessons.turned_recipe("third", 60.0, 1.6)
    for coupling in ("adgm1", "adgm2"):  # three blocks, star and chain
        method = replace(third, method=coupling).method_object()
        before = method.init(lessons.problem_of(third))
        after = reference.step(lessons.problem_of(third), method, before)
        for block in range(3):
            made = lessons.parts(method, before, after, block, 5)
            assert_allclose(made.neighbour + made.multiplier + made.cost, made.target, atol=1e-9)


def test_a_small_first_penalty_is_often_but_not_always_better_and_takes_longer():
    """What the claim, the question and the answer of chapter 6 say, counted in the shipped table."""
    table = np.genfromtxt(penalty_study.FILE, delimiter=",", names=True)
    rhos, energy, iterations = lessons.RHOS, penalty_study.study().energies, penalty_study.study().iterations
    assert_allclose(energy.T, [table[f"energy_{rho:g}".replace(".", "")] for rho in rhos])
    lower, higher = (energy[:, 0] < energy[:, -1] - 1e-5).sum(), (energy[:, 0] > energy[:, -1] + 1e-5).sum()
    assert lower > higher > 0  # often, not always
    reached = [int((energy[:, k] < table["best"] + 1e-5).sum()) for k in range(len(rhos))]
    assert max(reached) == reached[0] and reached[0] < penalty_study.SEEDS
    medians = np.median(iterations, axis=0)
    assert medians[0] > 20 * medians[rhos.index(1.0)]
    chapter = CHAPTERS["penalty"]
    one = rhos.index(1.0)
    assert chapter.told(chapter.defaults) == (
        f"0.001: {reached[0]} of 100 end at the best energy known, {reached[one]} with 1, {reached[-1]} with 30. It is "
        f"better than 30 in {lower} problems, worse in {higher}. It takes longer: {medians[0]:,.0f} iterations, "
        f"with 1 only {medians[one]:,.0f} (medians)."
    )
    for rho, count, median in zip(rhos, reached, medians, strict=True):
        said = penalty.hundredfold({"rho": rho, "rule": penalty.YOURS})
        assert (
            f"{count} end at the best energy known with ρ₀ = {rho:g}; the median takes {median:,.0f} iterations" in said
        )
    excess = np.sort(penalty_study.study().excess, axis=0)  # the band leaves out ten of a hundred on either side
    low, high = np.quantile(excess, penalty_study.BAND, axis=0)
    assert (excess[9] <= low).all() and (low <= excess[10]).all()
    assert (excess[89] <= high).all() and (high <= excess[90]).all()
    assert (table["best"][:, None] <= energy + 1e-5).all()  # nothing is below the best


def test_a_sample_of_the_shipped_study_comes_out_again():
    study, rhos = penalty_study.study(), (0.3, 1.0, 30.0)
    for seed in (0, 61):
        best, energies, iterations = penalty_study.row(seed, rhos)
        at = [lessons.RHOS.index(rho) for rho in rhos]
        assert best == pytest.approx(study.best[seed], abs=1e-5)
        assert_allclose(energies, study.energies[seed, at], atol=1e-5)
        assert_allclose(iterations, study.iterations[seed, at])
    assert penalty.excess(lessons.penalised(1.0)) == pytest.approx(study.excess[0, lessons.RHOS.index(1.0)], abs=1e-4)


def test_the_papers_rule_and_ours_find_the_best_energy_of_the_problem_shown():
    runs = {rule: lessons.penalised(rule) for rule in ("paper", "ours")}
    assert all(penalty.excess(run) < 1e-4 for run in runs.values())
    assert runs["ours"].result.iterations < runs["paper"].result.iterations


@pytest.mark.parametrize("count", [1, 2, 299, 301, 599, 2393])
def test_a_thinned_curve_keeps_its_ends(count):
    at = penalty.thinned(count)
    assert at[0] == 0 and at[-1] == count - 1 and len(at) == len(set(at)) <= penalty.POINTS


def test_a_converged_run_is_drawn_down_to_its_last_residual():
    run = lessons.penalised(0.1)  # of 447 iterations
    drawn = penalty.curves(run).history
    assert drawn["iteration"][-1] == run.result.iterations
    assert drawn["residual"][-1] == run.result.history["residual"][-1] <= 1e-6


def test_distances_fail_and_angles_survive():
    assert lessons.turned("B", 0.0, 1.0).right == lessons.turned("third", 0.0, 1.0).right == 10
    assert lessons.turned("B", 60.0, 1.0).right == 10  # turning alone leaves distances as they are
    assert lessons.turned("B", 60.0, 1.6).right <= 2
    assert lessons.turned("third", 60.0, 1.6).right == 10


def test_four_cases_of_a_failure_each_of_them_proved():
    for example in lessons.EXAMPLES.values():
        careful = lessons.careful(example.recipe)
        assert lessons.proved(example.recipe)
        assert careful.metrics.energy == pytest.approx(example.lowest, abs=1e-9)
    faults = {"ADGM": ["the costs", "the solver", "both"], "ADGM+": ["the costs", "neither", "the costs"]}
    for solver, expected in faults.items():
        assert [verdicts.at_fault({"problem": name, "solver": solver}) for name in lessons.EXAMPLES] == expected
    third = {"problem": "third", "solver": "ADGM"}
    assert lessons.EXAMPLES["third"].recipe == lessons.LUCK  # chapter 10 says so
    assert "(-77.97) costs less than what was found (-71.00), and less than the truth (-77.95)" in CHAPTERS[
        "verdict"
    ].told(third)
    assert "prove that the solver is stuck. Whether the costs are wrong, too," in verdicts.compared(third)
    assert "prove that the costs are wrong" in verdicts.compared({"problem": "first", "solver": "ADGM"})


def test_a_fair_price_keeps_outliers_out_and_a_high_one_costs_right_matches():
    prices = [price for price in outliers.PRICES if price <= 0.9] + [3.0]
    counts = {price: (lessons.priced(price).right, lessons.strays(lessons.priced(price))) for price in prices}
    assert counts[0.9] == (15, 1) and counts[3.0] == (10, 14) and counts[0.5][0] == 13 and counts[0.7][0] == 15
    assert all(counts[price][0] < 15 for price in prices if price <= 0.5)
    assert lessons.priced(3.0).metrics.matched == 24  # of 25: "nearly all"
    assert sum(len(side) for side in lessons.pair_of(lessons.OUTLIERS).outliers()) == 20
    chapter = CHAPTERS["outliers"]
    told = chapter.told(chapter.defaults)
    assert "more: 10 right and 14 wrong at price 3, 15 and 1 at 0.9." in told and "at 0.5 only 13 right" in told


def test_a_price_on_every_match_leaves_the_published_algorithm_with_nothing():
    published, default = lessons.trapped("adgm1"), lessons.trapped("adgm")
    assert all((p.costs >= 0).all() for p in published.problem.potentials if p.order(published.problem.shape) == 1)
    assert published.metrics.matched == 0 and published.result.status == "converged" and published.result.note
    assert default.result.energy < published.result.energy == 0 and default.result.state.stage == prices.AGAIN


def test_the_price_is_u_for_a_match_and_edges_count_beside_it():
    one, two = (lessons.problem_of(lessons.priced_recipe(price)) for price in (0.5, 0.9))
    x = lessons.priced(0.9).result.assignment.astype(float)
    assert one.energy(x) - two.energy(x) == pytest.approx(0.4 * x.sum())
    assert one.order == 2 and one.energies([x, x])[1] > 0
    assert "[F2]" in CHAPTERS["outliers"].formula


def test_some_starts_are_lucky_and_a_few_runs_suffice():
    energies = lessons.lucky_starts()
    assert len(energies) == 30
    assert 10 <= lessons.reached(energies) <= 20
    assert lessons.chance(1, energies) < 0.7 < 0.85 < lessons.chance(5, energies)
    assert_allclose(lessons.EXAMPLES["third"].lowest, energies.min())
    chapter = CHAPTERS["luck"]
    chance = 100 * (1 - (1 - lessons.reached(energies) / 30) ** 5)
    assert chapter.told(chapter.defaults).startswith(
        f"10 to 20: {lessons.reached(energies)} of 30. The best of 5 runs reaches it with probability {chance:.0f} %"
    )
    assert energies.min() < lessons.solved(lessons.LUCK).metrics.truth_energy - 0.01  # the best is not the truth


@pytest.mark.parametrize("key", ["assignment", "split", "simplex", "step", "penalty", "order", "verdict", "outliers"])
def test_a_chapter_runs_before_anything_is_compiled(key, monkeypatch):
    """All but chapter 2, which takes longer, and 10, which solves thirty of the problem of 8."""

    def compiled(*_, **__):
        raise AssertionError("compiled code is asked for")

    monkeypatch.setattr(ADGM, "step", compiled)
    monkeypatch.setattr(Runtime, "__init__", compiled)
    monkeypatch.setattr(lessons, "solved", lessons.solved.__wrapped__)
    lessons.trail.cache_clear()
    chapter = CHAPTERS[key]
    assert not (chapter.needs and chapter.needs(chapter.defaults))
    chapter.prepare(chapter.defaults)


@pytest.mark.long
def test_no_chapter_compiles_more_than_the_three_kernels_of_edges():
    code = (
        "import numba.core.dispatcher as d; used = set(); load = d.Dispatcher.compile\n"
        "def note(self, sig):\n    used.add(self.py_func.__module__); return load(self, sig)\n"
        "d.Dispatcher.compile = note\n"
        "from ui.learn.chapters import CHAPTERS\n"
        "for each in CHAPTERS.values(): each.prepare(each.defaults)\n"
        "print(sorted(name for name in used if name.startswith('adgm')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["['adgm._kernels.edges']"]


def problems() -> dict[str, tuple[object, ADGM]]:
    """Every problem that a chapter shows, with ADGM as published."""
    recipes = {
        "structure": lessons.structure_recipe(1.0),
        "split": lessons.SPLIT,
        "penalty": lessons.PENALTY,
        "distances": lessons.turned_recipe("B", 60.0, 1.6),
        "angles": lessons.turned_recipe("third", 60.0, 1.6),
        "wrong": lessons.WRONG,
        "stuck": lessons.STUCK,
        "outliers": lessons.OUTLIERS,
        "luck": lessons.LUCK,
    }
    found = {name: (lessons.problem_of(recipe), ADGM(rho0=0.4)) for name, recipe in recipes.items()}
    return found | {"triangles": (lessons.triangles(), ADGM(rho0=0.4))}


@pytest.mark.parametrize(
    "name",
    ["triangles", "structure", "split", "penalty", "distances", "angles", "wrong", "stuck", "outliers", "luck"],
)
def test_the_reference_equals_the_solver_iterate_by_iterate(name):
    problem, method = problems()[name]
    mine = theirs = method.init(problem)
    for _ in range(4 if problem.n > 500 else 12):
        mine, theirs = reference.step(problem, method, mine), method.step(problem, theirs)
        assert_allclose(mine.blocks, theirs.blocks, atol=1e-9)
        assert_allclose(mine.duals, theirs.duals, atol=1e-9)
        assert_allclose([mine.rho, mine.gap, mine.change], [theirs.rho, theirs.gap, theirs.change], atol=1e-9)
        if mine.converged:
            break


def test_dragged_points_travel_to_match_with_their_costs():
    moved = [[[1.0, 1], [4, 1], [1, 5]], [[2.0, 2], [5, 2], [2, 5]]]
    pair = lessons.triangle_pair(*moved)
    problem = Recipe(OWN, model="given").problem(pair)
    best = lessons.ranking(lessons.triangles(*moved))[0]
    x = np.eye(3)[list(best.matching)].ravel()
    assert problem.energy(x) == pytest.approx(best.energy)
    assert pair.left.points.labels == lessons.NAMES and not pair.judged


# ---- sentences with a number or a comparison that no other test counts -----------------------------------------


def test_trying_all_matchings_of_twenty_points_takes_more_than_the_page_says():
    assert "with 20 there are more than 10¹⁸" in CHAPTERS["assignment"].question.because
    assert 10**18 < math.factorial(20) < 10**19 and math.factorial(3) == len(SIX)


def test_a_wrong_match_costs_more_in_edges_than_it_saves_in_looks():
    """What the answer of chapter 2 gives as the reason."""
    alone, together = lessons.structure(0.0), lessons.structure(1.0)

    def costs(found: lessons.Solved) -> tuple[float, float]:
        x = found.result.assignment.astype(float)
        by_order = together.problem.energies([x, x])
        return by_order[0], by_order[1]

    (looks_alone, edges_alone), (looks, edges) = costs(alone), costs(together)
    assert looks > looks_alone and edges_alone - edges > looks - looks_alone


def test_what_is_asked_about_the_copy_is_what_the_page_then_shows():
    order_ = CHAPTERS["order"]
    assert tuple(order_.question.then.values()) == order.COPY
    assert "by 60° and enlarged 1.6 times" in order_.task and "by 60° and enlarged 1.6 times" in order_.sheet.task
    assert set(order.MODEL) | {"both", "neither"} == set(order_.question.options)
    assert CHAPTERS["outliers"].question.then == {"price": outliers.FAIR}
    assert "from 3 to 0.9" in CHAPTERS["outliers"].question.text and (outliers.HIGH, outliers.FAIR) == (3.0, 0.9)
    assert (penalty_study.SEEDS, penalty_study.BAND) == (100, (0.1, 0.9))  # "the ten best and ten worst"
    assert "of 9 iterations" in CHAPTERS["rounding"].sheet.question and splitting.LAST == 9
    assert len(lessons.EXAMPLES) == 3 and all(lessons.solved(e.recipe).right < 8 for e in lessons.EXAMPLES.values())
    assert ADGM().growth == 2 and formula.SYMBOLS["beta"].words.endswith("2 in the paper")


def lagrangian(blocks: Sequence[NDArray[np.float64]], y: NDArray[np.float64], rho: float) -> float:
    one, two = blocks
    costs = sum(one[k] * float(lessons.costs_beside(k) @ two) for k in range(16))
    return float(costs + y @ (one - two) + rho / 2 * ((one - two) ** 2).sum())


def test_each_block_in_turn_makes_the_lagrangian_as_small_as_it_gets():
    """The claim of the step by hand: no other block that obeys the rule makes L smaller."""
    rng = np.random.default_rng(0)
    for before, after in pairwise(lessons.trail()):
        y, rho = before.duals[0], before.rho
        old, new = before.blocks, after.blocks
        values = [lagrangian(each, y, rho) for each in (old, (new[0], old[1]), new)]
        assert values[0] >= values[1] - 1e-12 and values[1] >= values[2] - 1e-12
        for _ in range(20):
            other = rng.dirichlet(np.full(4, 0.5), 4)
            assert lagrangian((other.T.ravel(), old[1]), y, rho) >= values[1] - 1e-9  # columns sum to one
            assert lagrangian((new[0], other.ravel()), y, rho) >= values[2] - 1e-9
        assert "as small as it gets for one block after the other" in CHAPTERS["step"].claim
    largest = min(lessons.costs_beside(k).min() for k in range(16))
    assert largest == pytest.approx(-1) and "scaled to −1 at most" in step.told({"part": "p₁", "iteration": 1})


def test_speaker_notes_say_what_the_numbers_say():
    gaps = [state.gap for state in lessons.trail()[1:]]
    assert "iteration 1, where the blocks differ most" in CHAPTERS["split"].talk.say and gaps[0] == max(gaps)
    assert "at last nothing is matched" in CHAPTERS["outliers"].talk.say
    assert lessons.priced(min(outliers.PRICES)).metrics.matched == 0
    assert lessons.structure(0.05).right < 30 == lessons.structure(0.25).right  # a first line turns orange again
    energies = [lessons.penalised(rho).metrics.energy for rho in lessons.RHOS]
    jumps = np.diff(energies)
    assert "the energy jumps" in CHAPTERS["penalty"].talk.say and (jumps > 1).any() and (jumps < -1).any()
    assert plane.COMPARED[0] == min(planar.RHOS) and plane.COMPARED[-1] == max(planar.RHOS)
    second = splitting.blocks(1)[1].argmax(axis=1)
    assert "largest entry another row needs" in CHAPTERS["rounding"].talk.say and len(set(second)) < 4


def test_plain_adgm_gets_stuck_at_nothing_where_each_match_alone_costs():
    assert "can get stuck at no match at all" in CHAPTERS["outliers"].question.because
    assert lessons.trapped("adgm1").metrics.matched == 0 < lessons.trapped("adgm").metrics.matched
