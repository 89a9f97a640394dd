"""Models that people write as formulas: their problems, their quantities, and that they are models like any other."""

import itertools
import math

import numpy as np
import pytest

from adgm import AT_MOST_ONE
from experiments.spec import Panel, Variant
from features.explain.case import case_of, parted
from features.explain.separation import separations
from features.explain.sweeps import Axis
from features.explain.trials import needs_images
from features.formulas import build
from features.formulas.expression import (
    RESERVED,
)
from features.formulas.link import packed, unpacked
from features.formulas.quantities import ORDERS, QUANTITIES, Measured
from features.formulas.ready import READY
from features.formulas.split import as_formula
from features.formulas.text import model_text
from features.formulas.typeset import curve
from features.models import MODELS
from features.models.sampled import nearest_tuples
from features.points.graphs import delaunay_triangles, draw_tuples, nearest
from features.points.keypoints import Keypoints
from features.recipe import Recipe
from formula_problems import SPRINGS, pair_of, true_energies

# ---- the same problems -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", READY)
def test_a_ready_model_and_its_text_are_the_same_problem(key):
    pair = pair_of()
    ready, mine = MODELS[key], MODELS[READY[key]]
    assert (mine.orders, mine.sense, mine.label) == (ready.orders, ready.sense, ready.label)
    known = {one.name: one for one in ready.parameters}
    for one in mine.parameters:
        other = known[one.name]
        assert (one.default, one.low, one.high) == (other.default, other.low, other.high)
    for share in (None, 0.3):
        values = {}
        if share is not None:
            values = {p.name: p.low + share * (p.high - p.low) for p in mine.parameters if p.kind == "float"}
            values |= {"seed": 5} if "seed" in known else {}
        a, b = ready.build(pair, **values), mine.build(pair, **values)
        assert true_energies(a, pair) == true_energies(b, pair)
        assert (a.rows, a.cols, a.scale) == (b.rows, b.cols, b.scale)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("C", {"eta": 0.2, "rows": "any"}),
        ("third", {}),
        ("third", {"tuples": 9, "neighbours": 4, "seed": 3}),
        ("third", {"sampling": "all", "tuples": 5}),
        ("affine", {"neighbours": 7}),
    ],
)
def test_a_ready_model_is_opened_as_a_formula_with_its_values(key, values):
    recipe, pair = Recipe("random", model=key, model_params=values), pair_of(6, 7)
    opened = as_formula(recipe)
    assert opened.model != key and opened.method == recipe.method
    a, b = recipe.problem(pair), opened.problem(pair)
    assert true_energies(a, pair) == true_energies(b, pair) and a.rows == b.rows
    assert as_formula(Recipe(model="photo")) is None


def test_a_formula_is_swept_and_declared_in_an_experiment():
    text = "edges k * change + turn\nk = 1 in 0..4"
    recipe = Recipe("random", {"inliers": 5}, text)
    assert Axis.parse(recipe, "model.k=0..4:3").values == (0.0, 2.0, 4.0)
    panel = Panel("Mine", "random", text, varies="model.k", values=(0.5, 2.0), count=2)
    unit = panel.setup(2.0, {}, 0, Variant("adgm", "adgm"), 0)
    assert unit.model == text and unit.model_params == {"k": 2.0}
    with pytest.raises(ValueError, match="Line 1, column 7"):
        Panel("Mine", "random", "edges d", count=2)


def test_an_edge_that_is_turned_round_counts_as_the_mean():
    pair = pair_of()
    problem = MODELS["edges max(dx1, 0) * dx2"].build(pair)
    xy = pair.left.points.xy, pair.right.points.xy
    (i1, j1), (i2, j2) = (0, 3), (4, 1)
    x = np.zeros(pair.shape)
    x[i1, i2] = x[j1, j2] = 1
    forth = max(xy[0][j1, 0] - xy[0][i1, 0], 0) * (xy[1][j2, 0] - xy[1][i2, 0])
    back = max(xy[0][i1, 0] - xy[0][j1, 0], 0) * (xy[1][i2, 0] - xy[1][j2, 0])
    assert np.isclose(problem.energy(x), forth + back)
    assert problem.potentials[0].symmetric


@pytest.mark.parametrize("text", [READY["C"], "edges max(dx1, 0) * dx2 on delaunay", "edges 2"])
def test_many_edges_are_computed_when_they_are_needed_at_the_same_costs(text, monkeypatch):
    pair = pair_of(6, 7)
    stored = MODELS[text].build(pair)
    monkeypatch.setattr(build, "MOST_NUMBERS", -1)
    lazy = MODELS[text].build(pair)
    assert callable(lazy.potentials[0].left) and not callable(stored.potentials[0].left)
    assert true_energies(lazy, pair) == true_energies(stored, pair)


def test_a_price_lets_points_stay_alone_and_a_graph_says_where_edges_live():
    pair = pair_of()
    problem = MODELS["edges 1 on delaunay of left\nprice 2 * u\nu = 1 in 0..5"].build(pair, u=3)
    assert (problem.rows, problem.cols) == (AT_MOST_ONE, AT_MOST_ONE)
    assert np.allclose(problem.unary, -6)
    edges, _ = problem.potentials
    assert edges.left_edges is not None and edges.right_edges is None
    both = MODELS["edges 1 on 3 nearest of both"].build(pair).potentials[0]
    assert both.where == "both"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("points 1 / (x1 - x1)", "gives inf for the left point 0 and the right point 0, where x1 ="),
        ("edges log(d1 - 1000)", "gives nan for the left edge"),
        ("edges 9^9^9^9", "gives inf"),
        ("triangles area1 * 1e99 * 1e9", "left triangle"),
        ("points scale1", "no size of their own"),
        ("edges d1\nprice 1e300", "The price is"),
        ("triangles a1 sample 20000 per point", "too large"),
    ],
)
def test_what_cannot_be_computed_is_told_with_an_example(text, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        MODELS[text].build(pair_of())


def test_sampled_tuples_are_as_many_as_asked_for_and_the_nearest(monkeypatch):
    pair = pair_of(7, 8)
    n2 = pair.shape[1]

    def lefts(text, **values):
        (potential,) = MODELS[text].build(pair, **values).potentials
        tuples, times = np.unique(potential.indices // n2, axis=0, return_counts=True)
        return tuples.tolist(), set(times.tolist()), potential

    drawn, times, potential = lefts("triangles similarity exp(-gap) sample 2 per point with 5 nearest by ab, bc, ca")
    assert drawn == np.unique(draw_tuples(7, 3, 14, 0), axis=0).tolist() and times == {5}
    xy1, xy2 = pair.left.points.xy, pair.right.points.xy

    def sides(xy, triple):
        return np.array([np.linalg.norm(xy[triple[(k + 1) % 3]] - xy[triple[k]]) for k in range(3)])

    mine = sides(xy1, drawn[0])
    gaps = sorted(((sides(xy2, other) - mine) ** 2).sum() for other in itertools.permutations(range(8), 3))
    rows = (potential.indices // n2 == drawn[0]).all(axis=1)
    assert np.allclose(np.sort(potential.costs[rows])[::-1], np.sort(-np.exp(-np.array(gaps[:5])))[::-1])
    assert lefts("triangles a1 - a2 on delaunay with 2 nearest")[0] == delaunay_triangles(xy1).edges.tolist()
    assert len(lefts("triangles a1 - a2 sample all with 2 nearest")[0]) == math.comb(7, 3)
    assert lefts("triangles a1 - a2 sample all")[1] == {math.perm(8, 3)}
    assert lefts("quadruples u1 - u2 sample 9 with 2 nearest", seed=4)[0] == (
        np.unique(draw_tuples(7, 4, 9, 4), axis=0).tolist()
    )


def test_a_parameter_moves_without_looking_up_tuples_again(monkeypatch):
    asked = []

    def counted(*args):
        asked.append(args)
        return nearest_tuples(*args)

    monkeypatch.setattr(build, "nearest_tuples", counted)
    pair, text = pair_of(7, 8), "triangles k * gap with 4 nearest by a, b, c"
    costs = [MODELS[text].build(pair, k=k).potentials[0].costs for k in (1.0, 2.0)]
    assert len(asked) == 1 and np.allclose(2 * costs[0], costs[1])
    MODELS[text].build(pair, seed=1)
    MODELS[text].build(pair_of(7, 8, seed=3))
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("clause", "sides"), [("left", [1, 0]), ("right", [0, 1]), ("both", [1, 1]), ("either", [1, 1])]
)
def test_edges_live_on_the_graphs_that_are_named(clause, sides):
    pair = pair_of(6, 7)
    (potential,) = MODELS[f"edges 1 on 2 nearest of {clause}"].build(pair).potentials
    graphs = [nearest(view.points.xy, 2).adjacency() for view in (pair.left, pair.right)]
    join = np.logical_and if clause == "both" else np.logical_or
    for i1, j1, i2, j2 in itertools.product(range(6), range(6), range(7), range(7)):
        if i1 == j1 or i2 == j2:
            continue
        near = [graph[i, j] for graph, i, j, used in zip(graphs, (i1, i2), (j1, j2), sides, strict=True) if used]
        expected = near[0] if len(near) == 1 else join(*near)
        found = potential.lives(*(np.array([node]) for node in (i1, j1, i2, j2)))[0]
        assert found == expected


def test_a_formula_about_pixels_gets_the_images():
    assert needs_images(Recipe("random", model="points sift"))
    assert needs_images(Recipe("random", model="points looks\nedges change"))
    assert not needs_images(Recipe("random", model="points shape_context"))


# ---- quantities --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", QUANTITIES, ids=lambda one: f"{one.name}{one.order}")
def test_every_quantity_is_explained_and_can_be_used(one):
    assert one.label and one.tip.endswith(".")
    assert not set(one.written) & RESERVED
    if one.images and one.name != "looks":
        return
    what = next(word for word, order in ORDERS.items() if order == one.order)
    problem = MODELS[f"{what} {' + '.join(one.written)}"].build(pair_of(size=1, angle=1))
    assert np.isfinite(problem.energy(np.ones(problem.shape)))


def test_quantities_are_what_they_say():
    rng = np.random.default_rng(2)
    points = Keypoints(rng.uniform(0, 50, (4, 2)), angle=rng.uniform(-3, 3, 4), size=rng.uniform(1, 9, 4))
    a, b, c, d = points.xy
    triple = Measured(points, tuple(np.array([[0], [1], [2]])), 3)
    angles = np.array([triple[name][0] for name in "abc"])
    assert np.isclose(angles.sum(), math.pi)
    assert np.isclose(math.cos(angles[0]), (b - a) @ (c - a) / np.linalg.norm(b - a) / np.linalg.norm(c - a))
    assert np.allclose([abs(triple[f"s{name}"][0]) for name in "abc"], np.sin(angles))
    assert np.isclose(triple["bc"][0], np.linalg.norm(c - b))
    assert np.isclose(triple["area"][0], triple["ab"][0] * triple["ca"][0] * math.sin(angles[0]) / 2)
    four = Measured(points, tuple(np.array([[0], [1], [2], [3]])), 4)
    assert np.allclose(d, a + four["u"][0] * (b - a) + four["v"][0] * (c - a))
    lengths = [np.linalg.norm(p - q) for p, q in ((a, c), (b, d), (a, d), (b, c))]
    assert np.isclose(four["cross"][0], lengths[0] * lengths[1] / lengths[2] / lengths[3])
    edge = Measured(points, (np.array(0), np.array(1)), 2)
    assert np.isclose(edge["dir"], math.atan2(b[1] - a[1], b[0] - a[0]))
    assert np.isclose(math.cos(edge["heading"]), math.cos(edge["dir"] - points.angle[0]))
    assert np.isclose(edge["reach"], edge["d"] / points.size[0])


@pytest.mark.parametrize("one", [one for one in QUANTITIES if one.order == 2 and one.sided], ids=lambda one: one.name)
def test_a_quantity_of_edges_knows_whether_it_changes_when_they_are_turned(one):
    rng = np.random.default_rng(3)
    points = Keypoints(rng.uniform(0, 50, (6, 2)), angle=rng.uniform(-3, 3, 6), size=rng.uniform(1, 9, 6))
    i, j = np.arange(5), np.arange(1, 6)
    forth, back = (Measured(points, nodes, 2)[one.name] for nodes in ((i, j), (j, i)))
    assert np.array_equal(forth, back) == one.even


# ---- a model like any other --------------------------------------------------------------------------------------


def test_a_formula_is_a_model_in_links_files_and_programs():
    recipe = Recipe("random", {"inliers": 6}, SPRINGS, {"s2": 50.0, "rows": "any"}, "adgm1")
    assert Recipe.from_query(recipe.to_query()) == recipe
    assert Recipe.from_json(recipe.to_json()) == recipe
    assert recipe.orders == (1, 2, 3) and recipe.title.endswith("Springs on a graph, ADGM1 (star)")
    assert all(len(word) < 400 for word in recipe.to_query().values())
    with pytest.raises(ValueError, match="no parameter"):
        Recipe(model=SPRINGS, model_params={"s3": 1.0})
    with pytest.raises(ValueError, match="Line 1, column 7"):
        Recipe.from_query({"model": "edges d"})
    with pytest.raises(ValueError, match="There is no model"):
        Recipe(model="springs")
    with pytest.raises(ValueError, match="damaged"):
        Recipe.from_query({"model": "~xyz"})
    with pytest.raises(ValueError, match="too long"):
        unpacked(packed("edges d1 " + " " * 20_000))


def test_the_exported_program_of_a_formula_runs(capsys):
    recipe = Recipe("random", {"inliers": 5, "outliers": 0}, "edges (d1 - d2)^2 / s2\ns2 = 10", {"s2": 5.0})
    exec(recipe.as_python(), {})
    assert "Random points" in capsys.readouterr().out


@pytest.mark.parametrize("model", ["A", "C", SPRINGS])
def test_the_parts_of_a_sum_add_up_to_it(model):
    recipe = Recipe("random", {"inliers": 7, "outliers": 1}, model)
    pair = recipe.pair()
    problem = recipe.problem(pair)
    split, names = parted(recipe, pair, problem)
    assert len(set(names)) == len(names) == len(split.potentials)
    expected = {"A": 4, "C": 2, SPRINGS: 4}
    assert len(names) == expected[model]
    assert np.allclose(np.sum(true_energies(split, pair), 1), np.sum(true_energies(problem, pair), 1))


def test_the_ledger_of_model_c_has_its_length_and_its_direction():
    book = case_of(Recipe("random", {"inliers": 6, "outliers": 4, "noise": 15.0}, "C")).ledger()
    assert book.lines and set(book.names) == {"edges: change of length", "edges: cosine of the turn"}
    assert book.exact


@pytest.mark.parametrize(
    "model, expected",
    [
        ("third", ["triangles"]),  # whose parameters are words, which no formula has
        ("edges change\nprice 0.3", ["edges", "price"]),
        (
            "points x1 - x2\nedges turn + change\nedges turn + d1 - d2",
            ["points", "edges: turn (2)", "edges: change of length", "edges: turn (4)", "edges: length"],
        ),
    ],
)
def test_parts_have_names_of_their_own_also_where_nothing_is_a_sum(model, expected):
    recipe = Recipe("random", {"inliers": 6, "outliers": 1}, model)
    pair = recipe.pair()
    assert parted(recipe, pair, recipe.problem(pair))[1] == expected
    assert [one.name for one in separations(recipe, pair)] == expected


def test_a_curve_is_the_cost_over_one_name():
    term = model_text("edges similarity exp(-(d1 - d2)^2 / s2)").terms[0]
    found = curve(term, "d1", {"s2": 100.0}, fixed={"d2": 20.0})
    assert np.allclose(found.y, -np.exp(-((found.x - 20) ** 2) / 100))
    assert (found.label, found.unit, found.fixed) == ("length", "px", {"d2": 20.0})
    over = curve(term, "s2", {"s2": 100.0}, fixed={"d1": 30.0, "d2": 20.0})
    assert np.allclose(over.y[1:], -np.exp(-100 / over.x[1:]))
