"""Models: their values at entries computed by hand, what they are blind to, and what they reach on the real data."""

from dataclasses import replace
from itertools import combinations
from math import cos, e, exp, pi, sin, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import oracles_features as oracle
from adgm import ADGM, ANY, AT_MOST_ONE, EXACTLY_ONE, Formula, Problem, solve
from features.datasets import DATASETS
from features.models import MODELS, own_model, sampled
from features.models.sampled import angle_sines, area_ratios, similar_tuples
from features.pairs import Pair, View
from features.points.descriptors import DESCRIPTORS
from features.points.graphs import all_tuples, draw_tuples
from features.points.keypoints import Keypoints

BUILT_IN = [key for key, dataset in DATASETS.items() if dataset.builtin]
SQUARE = [[0, 0], [10, 0], [11, 10], [0, 10]]  # a little more than a square: only its diagonal 1–3 is Delaunay's


def pair_of(left, right, truth=None, name="pair"):
    left, right = (Keypoints(np.asarray(xy, dtype=float)) for xy in (left, right))
    return Pair(View(None, left), View(None, right), truth, name)


def random_pair(n1=7, n2=9, seed=0):
    rng = np.random.default_rng(seed)
    left = rng.uniform(0, 100, (n1, 2))
    right = np.concatenate([left + rng.normal(0, 2, left.shape), rng.uniform(0, 100, (n2 - n1, 2))])
    return pair_of(left, right, np.arange(n1))


def suited(key, pair):
    """The pair as a model takes it: that of given costs needs a problem beside the points."""
    return replace(pair, given=MODELS["B"].build(pair)) if MODELS[key].given else pair


def energy(problem, *matches):
    """The energy of matching these (i1, i2) and nothing else."""
    x = np.zeros(problem.shape)
    x[tuple(np.transpose(matches))] = 1
    return problem.energy(x)


def assignment(matching, shape):
    x = np.zeros(shape)
    x[np.arange(len(matching)), matching] = 1
    return x


def turn(angle):
    return np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])


# ---- the registry ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", MODELS)
def test_every_model_explains_itself(key):
    model = MODELS[key]
    assert model.label and model.formula.count("{") == model.formula.count("}") > 0
    assert model.use.endswith(".")
    for parameter in model.parameters:
        assert parameter.help and parameter.label
        if parameter.kind != "choice":
            assert parameter.low <= parameter.default <= parameter.high
            assert parameter.step > 0
        assert parameter.paper in (None, parameter.default)
    assert model.values() == {parameter.name: parameter.default for parameter in model.parameters}


@pytest.mark.parametrize("key", MODELS)
def test_the_smaller_side_is_matched_unless_points_may_stay_alone(key):
    for n1, n2, expected in (
        (5, 7, (EXACTLY_ONE, AT_MOST_ONE)),
        (7, 5, (AT_MOST_ONE, EXACTLY_ONE)),
        (6, 6, (EXACTLY_ONE, EXACTLY_ONE)),
    ):
        pair = random_pair(min(n1, n2), max(n1, n2))
        problem = MODELS[key].build(suited(key, pair if n1 <= n2 else Pair(pair.right, pair.left)))
        alone = (AT_MOST_ONE, AT_MOST_ONE)
        assert (problem.rows, problem.cols) == (alone if MODELS[key].optional else expected)
        assert problem.order == max(MODELS[key].orders) or key == "combined"
    asked = MODELS[key].build(
        suited(key, random_pair(5, 7)), rows=AT_MOST_ONE, cols=ANY, candidates=np.eye(5, 7, dtype=bool)
    )
    assert (asked.rows, asked.cols, asked.n) == (AT_MOST_ONE, ANY, 5)


@pytest.mark.parametrize("key", MODELS)
def test_the_true_matching_scores_the_same_however_points_are_shuffled(key):
    pair = suited(key, random_pair())
    shuffled = pair.shuffled(seed=3)
    assert not np.array_equal(pair.truth, shuffled.truth)
    energies = [MODELS[key].build(p).energy(assignment(p.truth, p.shape)) for p in (pair, shuffled)]
    assert np.isclose(*energies)


@pytest.mark.parametrize("dataset", BUILT_IN)
@pytest.mark.parametrize("key", MODELS)
def test_every_model_builds_and_solves_every_built_in_data_set(key, dataset):
    pair = suited(key, DATASETS[dataset].load(images=False).limited(12, 14))
    result = solve(MODELS[key].build(pair), ADGM(max_iter=2000))
    assert result.matching.shape == (pair.shape[0],)
    assert np.isfinite(result.energy)
    used = result.matching[result.matching >= 0]
    assert len(np.unique(used)) == len(used)


@pytest.mark.parametrize("key", MODELS)
@pytest.mark.parametrize("shape", ["twins", "a line"])
def test_degenerate_points_still_build(key, shape):
    left = np.array([[0, 0], [0, 0], [5, 0], [9, 4], [2, 7.0]]) if shape == "twins" else np.outer(range(5), [1.0, 2.0])
    problem = MODELS[key].build(suited(key, pair_of(left, left[::-1])))
    assert np.isfinite(solve(problem, ADGM(max_iter=200)).energy)


def test_errors_name_the_model_and_the_value():
    pair = random_pair()
    for build, words in (
        (lambda: MODELS["B"].build(pair, sigma=3), "Pairwise B has no parameter 'sigma'; it has sigma2"),
        (lambda: MODELS["C"].build(pair, eta=1.5), "1.5"),
        (lambda: MODELS["third"].build(pair, sampling="some"), "'some'"),
        (lambda: MODELS["third"].build(pair.limited(2, 5)), "2 left and 5 right points; a model of order 3"),
        (lambda: MODELS["affine"].build(pair.limited(5, 3)), "a model of order 4 needs 4"),
        (lambda: MODELS["third"].build(random_pair(25, 60), sampling="all"), "full tensor"),
        (lambda: MODELS["B"].build(pair_of(np.empty((0, 2)), [[1, 2]])), "The left side of pair has no point"),
        (lambda: MODELS["combined"].build(pair, descriptor="sift"), "without an image"),
        (lambda: MODELS["given"].build(pair), "pair comes without costs of its own; open a problem file"),
    ):
        with pytest.raises(ValueError, match=words):
            build()


# ---- pairwise models ---------------------------------------------------------------------------------------


def test_pairwise_b_by_hand():
    # Distances 30 and 80: (30 − 80)² / 2500 = 1. Both ordered pairs count; matching one point costs nothing.
    problem = MODELS["B"].build(pair_of([[0, 0], [30, 0]], [[0, 0], [0, 80]]))
    assert np.isclose(energy(problem, (0, 0), (1, 1)), -2 / e)
    assert energy(problem, (0, 0)) == 0
    wider = MODELS["B"].build(pair_of([[0, 0], [30, 0]], [[0, 0], [0, 80]]), sigma2=5000)
    assert np.isclose(energy(wider, (0, 0), (1, 1)), -2 * exp(-0.5))


def test_pairwise_c_by_hand():
    # Lengths 10 and 30: δ = 20 / 40; at right angles: (1 − 0) / 2.
    problem = MODELS["C"].build(pair_of([[0, 0], [10, 0]], [[0, 0], [0, 30]]))
    assert np.isclose(energy(problem, (0, 0), (1, 1)), 2 * (0.5 * 0.5 + 0.5 * 0.5))
    # Turned round and of equal length: δ = 0, (1 + 1) / 2.
    reversed_edge = MODELS["C"].build(pair_of([[0, 0], [10, 0]], [[10, 0], [0, 0]]), eta=0.25)
    assert np.isclose(energy(reversed_edge, (0, 0), (1, 1)), 2 * 0.75)


def test_pairwise_a_by_hand():
    # δ = 1/2 and α = π/2 with σ_l = 1 and σ_a = π/2: ½ e^(1/4) + ½ e − 1, for both directions of the edge.
    given = {"eta": 0.5, "sigma_l": 1, "sigma_a": pi / 2, "weight": 0}
    problem = MODELS["A"].build(pair_of([[0, 0], [10, 0]], [[0, 0], [0, 30]]), **given)
    assert np.isclose(energy(problem, (0, 0), (1, 1)), 2 * (0.5 * exp(0.25) + 0.5 * e - 1))


def test_pairwise_a_counts_an_edge_of_either_graph():
    # In SQUARE 1–3 is Delaunay's diagonal and 0–2 is not. Non-edge on non-edge is free, whatever its shape.
    stretched = np.array(SQUARE) * [1, 1.1]
    problem = MODELS["A"].build(pair_of(SQUARE, stretched), weight=0)
    assert energy(problem, (0, 0), (2, 2)) == 0
    assert energy(problem, (1, 1), (3, 3)) > 0
    assert energy(problem, (0, 1), (2, 3)) > 0  # a non-edge of the left on an edge of the right …
    assert energy(problem, (1, 0), (3, 2)) > 0  # … and the other way round


def test_pairwise_a_weighs_shape_contexts():
    pair = random_pair()
    problem = MODELS["A"].build(pair, weight=3)
    cost = DESCRIPTORS["shape_context"].cost(pair.left, pair.right)
    assert np.isclose(energy(problem, (2, 4)), 3 * cost[2, 4])


# ---- third order -------------------------------------------------------------------------------------------


def test_sines_of_the_angles_by_hand():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    half = sqrt(0.5)
    sines = angle_sines(points, np.array([[0, 1, 2], [1, 2, 0], [0, 2, 1]]))
    assert np.allclose(sines, [[1, half, half], [half, half, 1], [-1, -half, -half]])


def test_third_order_by_hand():
    # A right isosceles triangle against an equilateral one: three orderings turn the same way round, at the squared
    # distance (1 − √¾)² + 2 (√½ − √¾)², three the other way, with plus signs; γ is the mean of both.
    equilateral = [[0, 0], [1, 0], [0.5, sqrt(0.75)]]
    problem = MODELS["third"].build(pair_of([[0, 0], [1, 0], [0, 1]], equilateral), sampling="all")
    near, far = ((1 - s * sqrt(0.75)) ** 2 + 2 * (sqrt(0.5) - s * sqrt(0.75)) ** 2 for s in (1, -1))
    gamma = (near + far) / 2
    assert np.isclose(energy(problem, (0, 0), (1, 1), (2, 2)), -6 * exp(-near / gamma))
    assert np.isclose(energy(problem, (0, 1), (1, 0), (2, 2)), -6 * exp(-far / gamma))
    assert energy(problem, (0, 0), (1, 1)) == 0


@pytest.mark.parametrize("neighbours", [5, 60])
def test_similar_triples_against_the_oracle(neighbours):
    pair = random_pair(5, 6, seed=4)
    drawn = draw_tuples(5, 3, 30, seed=1)
    left, right = pair.left.points.xy, pair.right.points.xy
    found = similar_tuples(left, right, angle_sines, drawn, neighbours, seed=0)
    matches = {
        tuple(zip(a, b, strict=True)): s
        for a, b, s in zip(found.left.tolist(), found.right.tolist(), found.similarity.tolist(), strict=True)
    }
    expected = oracle.third_order(left.tolist(), right.tolist(), drawn.tolist(), neighbours)
    assert len(matches) == len(found.similarity) == len(np.unique(drawn, axis=0)) * neighbours
    assert matches.keys() == expected.keys()
    assert np.allclose([matches[m] for m in expected], list(expected.values()))


def test_third_order_samples_as_published():
    pair = random_pair(20, 30)
    first, same, other = (MODELS["third"].build(pair, seed=seed).potentials[0] for seed in (1, 1, 2))
    triples = len(np.unique(draw_tuples(20, 3, 600, seed=1), axis=0))
    assert len(first.costs) == triples * 600
    assert np.array_equal(first.indices, same.indices) and np.array_equal(first.costs, same.costs)
    assert not np.array_equal(first.indices, other.indices)
    nodes1, nodes2 = np.sort(first.indices // 30, axis=1), np.sort(first.indices % 30, axis=1)
    assert (np.diff(nodes1, axis=1) > 0).all() and (np.diff(nodes2, axis=1) > 0).all()
    assert len(np.unique(np.sort(first.indices, axis=1), axis=0)) == len(first.indices)
    fewer = MODELS["third"].build(pair, tuples=50, neighbours=7).potentials[0]
    assert len(fewer.costs) <= 50 * 7


def test_large_sets_are_sampled_to_stay_within_memory(monkeypatch):
    monkeypatch.setattr(sampled, "MOST_RIGHT", 2000)
    some = sampled.ordered_tuples(40, 3, seed=5)  # of 59 280
    assert 1800 < len(some) <= 2000
    assert len(np.unique(some, axis=0)) == len(some)
    assert all(len(set(triple)) == 3 for triple in some.tolist())
    assert any(triple != sorted(triple) for triple in some.tolist())
    assert np.array_equal(some, sampled.ordered_tuples(40, 3, seed=5))
    monkeypatch.setattr(sampled, "MOST_ENTRIES", 6 * 5000)
    problem = MODELS["third"].build(random_pair(40, 40))
    assert 0 < len(problem.potentials[0].costs) <= 5000


# ---- fourth order ------------------------------------------------------------------------------------------


def test_area_ratios_by_hand():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    quadruple = np.array([[0, 1, 2, 3]])
    assert np.allclose(area_ratios(square, quadruple), [[0.5, -0.5, 0.5, -0.5]])
    # The centroid of a triangle is a third of each corner.
    triangle = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    assert np.allclose(area_ratios(triangle, quadruple) * sqrt(12), [[1, 1, 1, -3]])
    assert np.array_equal(area_ratios(np.outer(range(4), [0.1, 0.3]), quadruple), np.zeros((1, 4)))


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.floats(0.05, 3), st.floats(0.05, 3), st.floats(-pi, pi), st.floats(-3, 3), st.integers(0, 1000))
def test_area_ratios_survive_affine_maps(stretch_x, stretch_y, angle, shear, seed):
    points = np.random.default_rng(seed).uniform(0, 10, (6, 2))
    matrix = turn(angle) @ np.array([[stretch_x, shear], [0, stretch_y]])
    quadruples = all_tuples(points, 4).edges
    before, after = area_ratios(points, quadruples), area_ratios(points @ matrix.T + [5, -7], quadruples)
    assert np.allclose(before, after, atol=1e-6)
    weights, corners = before[..., None], points[quadruples]
    assert np.allclose((weights * corners).sum(axis=1), 0, atol=1e-9)  # they are affine dependencies


def affine_pair(n=10, seed=0):
    """Points, and the same ones stretched ten to one along a slanted axis and turned, in another order."""
    points = np.random.default_rng(seed).uniform(0, 100, (n, 2))
    matrix = turn(1.05) @ np.diag([sqrt(10), 1 / sqrt(10)]) @ turn(0.44)
    return pair_of(points, points @ matrix.T + [40, 90], np.arange(n)).shuffled(seed)


@pytest.mark.parametrize("seed", range(3))
def test_only_the_fourth_order_sees_through_a_strong_affine_map(seed):
    pair = affine_pair(seed=seed)
    accuracy = {key: pair.accuracy(solve(MODELS[key].build(pair)).matching) for key in ("B", "third", "affine")}
    assert accuracy["affine"] == 1
    assert max(accuracy["B"], accuracy["third"]) < 0.5
    # It is the models that fail, not the solver: both prefer what was found to the truth.
    for key in ("B", "third"):
        problem = MODELS[key].build(pair)
        assert solve(problem).energy < problem.energy(assignment(pair.truth, pair.shape))


# ---- the combined model ------------------------------------------------------------------------------------


def test_combined_by_hand():
    pair = pair_of([[0, 0], [10, 0], [0, 10]], [[0, 0], [10, 0], [0, 10]])
    unary = MODELS["combined"].build(pair, w2=0, w3=0, w1=2, unmatched=0.25)
    cost = DESCRIPTORS["shape_context"].cost(pair.left, pair.right)
    assert np.isclose(energy(unary, (0, 1)), 2 * cost[0, 1] - 0.25)
    # Edge 0→1 (length 10, right) on 0→2 (length 10, down): η δ + (1 − η)/2 = 1/4; two neighbours each, both directions.
    edges = MODELS["combined"].build(pair, w1=0, w2=3, w3=0, unmatched=0)
    assert np.isclose(energy(edges, (0, 0), (1, 2)), 2 * (3 / 2) * 0.25)
    # One triangle, matched to itself: similarity 1, shared by three points of weight 4 each.
    triangle = MODELS["combined"].build(pair, w1=0, w2=0, w3=4, unmatched=0)
    assert triangle.order == 3
    assert np.isclose(energy(triangle, (0, 0), (1, 1), (2, 2)), -3 * 4)


@pytest.mark.parametrize("descriptor", DESCRIPTORS)
def test_combined_takes_every_descriptor(descriptor):
    pair = DATASETS["warp"].load().limited(15, 15)
    problem = MODELS["combined"].build(pair, descriptor=descriptor, w2=0, unmatched=0.9)
    cost = DESCRIPTORS[descriptor].cost(pair.left, pair.right)
    assert np.allclose(problem.potentials[0].costs, cost - 0.9)


def test_a_price_for_unmatched_points_decides_how_many_are_matched():
    pair = random_pair(8, 8, seed=2)
    rng = np.random.default_rng(7)
    cluttered = pair_of(
        np.concatenate([pair.left.points.xy, rng.uniform(0, 100, (3, 2))]),
        np.concatenate([pair.right.points.xy, rng.uniform(0, 100, (3, 2))]),
    )
    counts = [int((solve(MODELS["combined"].build(cluttered, unmatched=u)).matching >= 0).sum()) for u in (0, 0.9, 10)]
    assert counts[0] == 0 < counts[1] < counts[2] == 11


# ---- a model of one's own ----------------------------------------------------------------------------------


def springs(left, right, stiffness=1.0, power=2):
    """Distances hardly change."""
    d1, d2 = cdist(left.xy, left.xy), cdist(right.xy, right.xy)
    spring = Formula(d1, d2, lambda a, b: stiffness * np.abs(a - b)[..., 0] ** power)
    return Problem((len(left), len(right)), [spring], rows=EXACTLY_ONE)


def test_a_users_model_takes_one_line(monkeypatch):
    monkeypatch.setitem(MODELS, "springs", own_model(springs))
    model, pair = MODELS["springs"], random_pair()
    assert (model.label, model.use) == ("Springs", "Distances hardly change.")
    assert [(p.name, p.kind, p.default) for p in model.parameters] == [("stiffness", "float", 1.0), ("power", "int", 2)]
    assert pair.accuracy(solve(model.build(pair), ADGM(rho0=5.0)).matching) == 1
    weak, stiff = (energy(model.build(pair, stiffness=s), (0, 0), (1, 1)) for s in (1, 3))
    assert np.isclose(stiff, 3 * weak)
    assert model.build(pair, rows=AT_MOST_ONE).rows == AT_MOST_ONE


def test_a_users_mistakes_are_told():
    with pytest.raises(ValueError, match="stiffness of bad needs a number"):

        def bad(left, right, stiffness="high"):
            return None

        own_model(bad)
    with pytest.raises(ValueError, match="takes 1 arguments"):
        own_model(lambda left: None)
    with pytest.raises(ValueError, match="returned a NoneType"):
        own_model(lambda left, right: None).build(random_pair())


# ---- the real data -----------------------------------------------------------------------------------------


def frames(data_dir, name):
    ending, count = {"house": ("", 111), "hotel": (".txt", 101)}[name]
    return [np.loadtxt(data_dir / name / "labels" / f"{name}{k}{ending}") for k in range(1, count + 1)]


def pairs_apart(count, seed=2017):
    """All pairs of frames in a fixed random order: model A's constants were chosen on the first fifth."""
    every = np.array(list(combinations(range(count), 2)))
    shuffled = np.random.default_rng(seed).permutation(every)
    return shuffled[: len(every) // 5], shuffled[len(every) // 5 :]


@pytest.mark.data
@pytest.mark.parametrize("count", [50, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize(("name", "percent"), [("house", 0.0), ("hotel", 0.19)])
def test_model_a_reaches_the_published_errors_on_pairs_it_was_not_tuned_on(data_dir, name, percent, count):
    points = frames(data_dir, name)
    wrong = 0
    for a, b in pairs_apart(len(points))[1][:count]:
        result = solve(MODELS["A"].build(pair_of(points[a], points[b])))
        wrong += int((result.matching != np.arange(30)).sum())
    assert 100 * wrong / (count * 30) <= percent


@pytest.mark.data
def test_model_b_matches_house_at_every_gap(data_dir):
    points = frames(data_dir, "house")
    method = ADGM(rho0=90)  # n / 10; with smaller ones the widest gaps suffer
    for gap in range(10, 101, 10):
        accuracy = []
        for a in np.linspace(0, 110 - gap, 4).astype(int):
            pair = pair_of(points[a], points[a + gap], np.arange(30))
            accuracy.append(pair.accuracy(solve(MODELS["B"].build(pair), method).matching))
        assert np.mean(accuracy) >= 0.99, f"at gap {gap}"
