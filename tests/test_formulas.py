"""Models that people write as formulas: what is read, what is refused, and that they are models like any other."""

import itertools
import math
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adgm import AT_MOST_ONE, Problem
from experiments.spec import Panel, Variant
from features.explain.case import case_of, parted
from features.explain.separation import auc, separations
from features.explain.sweeps import Axis
from features.explain.trials import needs_images
from features.formulas import build, toml_file
from features.formulas.build import model_of
from features.formulas.expression import (
    FUNCTIONS,
    LONGEST,
    MOST_NODES,
    OPERATIONS,
    RESERVED,
    Node,
    Wrong,
    evaluate,
    read,
    write,
)
from features.formulas.link import packed, unpacked
from features.formulas.quantities import ORDERS, QUANTITIES, Measured, written
from features.formulas.ready import READY
from features.formulas.records import FormulaError
from features.formulas.split import as_formula
from features.formulas.text import model_text, parse
from features.formulas.typeset import curve, tree
from features.models import MODELS
from features.models.sampled import nearest_tuples
from features.pairs import Pair, View
from features.points.graphs import delaunay_triangles, draw_tuples, nearest
from features.points.keypoints import Keypoints
from features.recipe import Recipe

SPRINGS = """\
name        Springs on a graph   # a comment
points      w * shape_context
edges       similarity exp(-(d1 - d2)^2 / s2)          on delaunay of left
triangles   (area1 - area2)^2 / g                      sample 3 per point with 5 nearest by sa, sb, sc
price       u / 2
s2 = 100 in 1..1000 step 10; u = 0.5 in 0..2
"""


def pair_of(n1=8, n2=9, seed=0, **columns):
    rng = np.random.default_rng(seed)
    left = rng.uniform(0, 100, (n1, 2))
    right = np.concatenate([left + rng.normal(0, 3, left.shape), rng.uniform(0, 100, (n2 - n1, 2))])
    sides = (Keypoints(xy, **{name: rng.uniform(1, 3, len(xy)) for name in columns}) for xy in (left, right))
    return Pair(*(View(None, points) for points in sides), np.arange(n1)).shuffled(1)


def true_energies(problem: Problem, pair: Pair):
    x = np.zeros(pair.shape)
    x[np.arange(pair.shape[0]), pair.truth] = 1
    other = np.roll(x, 1, axis=1)
    return [problem.energies([one] * max(2, problem.order)) for one in (x, other, (x + 2 * other) / 3)]


# ---- expressions -------------------------------------------------------------------------------------------------

leaves = st.one_of(
    st.floats(0, 1e9, allow_nan=False).map(lambda value: Node("number", value=value)),
    st.sampled_from(["d1", "d2", "s2", "_q", "pi"]).map(lambda name: Node("name", name=name)),
)
calls = [(name, count) for name, one in FUNCTIONS.items() for count in range(one.arguments[0], one.arguments[1] + 1)]


def grown(inner):
    def of(kind, count):
        return st.tuples(*[inner] * count).map(lambda args: Node(kind, args))

    operations = [of(kind, 1 if kind in ("neg", "not") else 2) for kind in OPERATIONS]
    return st.one_of(*operations, *(of(name, count) for name, count in calls))


expressions = st.recursive(leaves, grown, max_leaves=12)


@given(expressions)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_what_is_written_is_read_again(node):
    assert read(write(node)) == node


@pytest.mark.parametrize(
    "text",
    [
        "-x^2",
        "2^-x",
        "2^3^x / 7",
        "a - b - x",
        "a / b / x",
        "-x * -a",
        "a + b * x ^ 2",
        "(a < b) + (x >= 1) * 2",
        "-(-x)",
    ],
)
def test_operations_bind_as_in_python(text):
    names = {"a": 1.5, "b": 0.25, "x": 3.0}
    assert evaluate(read(text), names) == eval(text.replace("^", "**"), {}, names)


def test_values_are_arrays_and_booleans_are_numbers():
    x = np.array([-2.0, 0.5, 3.0])
    for text, expected in {
        "where(x > 0 and not x > 1, 10, x)": [-2.0, 10.0, 3.0],
        "(x > 0) + (x > 0)": [0.0, 2.0, 2.0],
        "min(x, 1, 0.7)": [-2.0, 0.5, 0.7],
        "clip(x, 0, 1)": [0.0, 0.5, 1.0],
        "x < 0 or x == 3": [1.0, 0.0, 1.0],
        "(x <= 0.5) + 2 * (x >= 0.5)": [1.0, 3.0, 2.0],
        "(x < 0.5) + 2 * (x > 0.5)": [1.0, 0.0, 2.0],
        "x != 3 and x": [1.0, 1.0, 0.0],
        "sign(x) * floor(x) + max(x, 1, 2)": [4.0, 2.0, 6.0],
        "asin(sin(x / 4)) + acos(cos(x / 4)) + atan(tan(x / 4))": [-0.5, 0.375, 2.25],
        "log(exp(x)) + sqrt(x^2) - abs(x) + tanh(0 * x)": [-2.0, 0.5, 3.0],
    }.items():
        assert np.allclose(evaluate(read(text), {"x": x}), expected), text
    angles = evaluate(read("wrap(x)"), {"x": np.array([3 * math.pi, -math.pi, 0.1, 4.0])})
    assert np.allclose(angles, [math.pi, math.pi, 0.1, 4.0 - 2 * math.pi])


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("d1 +", 4, "missing"),
        ("exq(d1)", 0, "did you mean exp?"),
        ("d1.real", 2, "no meaning"),
        ("d1[0]", 2, "no meaning"),
        ("'a'", 0, "no meaning"),
        ("lambda x: 1", 8, "no meaning"),
        ("exp(d1, out=d2)", 11, "expected ')' instead of '='"),
        ("(d1", 3, "column 1 is not closed"),
        ("exp(1, 2)", 0, "takes 1 argument"),
        ("a < b < c", 6, "a < b and b < c"),
        ("2 d1", 2, "is an operation missing"),
        ("exp + 1", 0, "is a function"),
        ("9" * 400, 0, "too large"),
        ("(" * 100, 40, "nested more than"),
        ("-" * 100 + "1", 40, "nested more than"),
        ("1" + "+1" * 100, 199, f"at most {MOST_NODES}"),
        ("1+" * 300 + "1", LONGEST, f"at most {LONGEST}"),
        ("x" * 30, 0, "longer than"),
        ("", 0, "missing"),
        ("a ? b", 2, "no meaning"),
    ],
)
def test_mistakes_have_a_column_and_say_what_would_be_right(text, column, words):
    with pytest.raises(Wrong) as told:
        read(text)
    assert words in str(told.value)
    if not text.startswith("1+1+1"):
        assert told.value.column == column


# ---- lines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [SPRINGS, *READY.values(), "quadruples u1 * v2 sample all", "edges d1 on 8 nearest of both"]
)
def test_a_model_is_written_and_read_as_text_file_and_link(text):
    model = model_text(text)
    assert model_text(model.text) == model
    assert model_text(toml_file.read(toml_file.write(model).encode())) == model
    assert unpacked(packed(text)) == text
    assert set("~-_") | set(packed(text * 3)) <= set(packed(text * 3)) | set("~-_")


def test_the_record_says_what_was_written():
    model = model_text(SPRINGS)
    assert model.title == "Springs on a graph"
    points, edges, triangles = model.terms
    assert (points.what, edges.what, triangles.what) == ("points", "edges", "triangles")
    assert edges.similarity and not triangles.similarity
    assert (edges.place.graph, edges.place.of) == ("delaunay", "left")
    assert (triangles.place.sample, triangles.place.per_point, triangles.place.with_nearest) == (3, True, 5)
    assert [one.name for one in model.parameters] == ["w", "s2", "g", "u", "seed"]
    s2 = model.parameters[1]
    assert (s2.default, s2.low, s2.high, s2.step) == (100, 1, 1000, 10)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("edges d", 1, 7, "write d1 or d2"),
        ("edges a1", 1, 7, "quantity of triangles"),
        ("points x1\nedge d1", 2, 1, "Did you mean edges?"),
        ("points x1; edges 2 *", 1, 21, "missing"),
        ("edges d1 on delauny", 1, 13, "did you mean delaunay?"),
        ("edges d1 on delaunay of top", 1, 25, "either, both, left, right"),
        ("edges d1 on 0 nearest", 1, 13, "expected 1 to"),
        ("edges d1 sample 3", 1, 10, "not expected"),
        ("triangles a1 with 5 nearest by areas", 1, 32, "did you mean"),
        ("triangles a1 sample 2 on delaunay", 1, 23, "said twice"),
        ("edges d1\nprice d1", 2, 7, "parameters only"),
        ("edges k * d1\nk = 5 in 1..2", 2, 1, "not within"),
        ("edges k * d1\nk = 5 in 9..2", 2, 1, "empty"),
        ("edges k * d1\nkk = 5", 2, 1, "did you mean k?"),
        ("edges rows * d1", 1, 7, "cannot be the name"),
        ("edges lambda * d1", 1, 7, "cannot be the name"),
        ("d1 = 5", 1, 1, "is a quantity"),
        ("# nothing", 1, 1, "no potential"),
        ("name ![x](http://example.org/x)\nedges d1", 1, 1, "begins with a letter"),
        ("name www.example.org\nedges d1", 1, 1, "letters, digits, spaces"),
        ("name a $x$ :red[b] *c* _d_ <b>\nedges d1", 1, 1, "letters, digits, spaces"),
        ("name " + "a" * 41 + "\nedges d1", 1, 1, "1 to 40 characters, this one 41"),
        ("edges d1\n" * 9, 9, 1, "at most 8 potentials"),
        ("edges " + " + ".join(f"k{k}" for k in range(21)), 1, 1, "at most 20 parameters"),
        ("edges d1\nprice 1\nprice 2", 3, 1, "a price already"),
        ("name a\nname b\nedges d1", 2, 1, "a name already"),
        ("edges k * d1\nk = 1\nk = 2", 3, 1, "declared already"),
        ("edges k * d1\nk = 1 in 0..2 step 3", 2, 1, "does not fit"),
        ("edges k * d1\nk = 1e13", 2, 5, "too large"),
        ("edges k * d1\nk = 1 in 0", 2, 11, "two ends"),
        ("points 1 " + "+ 1 " * 130, 1, 501, "at most 500 characters"),
        ("edges d1\n" + "# " * 2000, 1, 1, "at most 4000 characters"),
        ("", 1, 1, "no potential"),
    ],
)
def test_mistakes_have_a_line_and_a_column(text, line, column, words):
    mistake = parse(text).mistakes[0]
    assert words in mistake.message
    assert (mistake.line, mistake.column) == (line, column)
    with pytest.raises(FormulaError, match="Line"):
        model_text(text)


def test_what_goes_without_saying_is_the_same_record():
    assert model_text("edges cost d1 on all") == model_text("edges d1")
    assert model_text("edges d1 on delaunay of either") == model_text("edges d1 on delaunay")


def test_a_parameter_has_a_usual_range():
    model = model_text("edges a * d1 + b * d2 + c\nb = 5\nc = -3")
    a, b, c = ((one.default, one.low, one.high, one.step) for one in model.parameters)
    assert a == (1.0, 0.0, 10.0, 0.1) and b == (5.0, 0.0, 50.0, 0.5) and c == (-3.0, -3.0, 10.0, 0.1)
    assert model_text(model.text) == model


def test_every_mistake_is_told_and_likely_slips_are_hinted_at():
    assert [one.line for one in parse("edges d\npoints (\nprice 1").mistakes] == [1, 2]
    for text, meant in (
        ("points look * 2", "looks?"),
        ("points looks1", "looks?"),
        ("edges d3 + d1", "d1 or d2?"),
        ("edges D1 - d2", "d1?"),
    ):
        (hint,) = parse(text).hints
        assert hint.message.endswith(f"did you mean {meant}") and hint.column == len(text.split()[0]) + 2
    assert not parse("edges s2 * d1").hints


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


@given(expressions)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_latex_is_balanced_and_raises_nothing_twice(node):
    for text in (tree(node, 2), tree(node, 0)):
        assert text.count("{") == text.count("}") and text.count(r"\left") == text.count(r"\right")
        assert not re.search(r"\^\{[^{}]*\}\^", text)


@pytest.mark.parametrize("one", QUANTITIES, ids=lambda one: f"{one.name}{one.order}")
def test_every_quantity_can_be_raised(one):
    for name in one.written:
        text = tree(read(f"{name}^2"), one.order)
        assert not re.search(r"\^\{[^{}]*\}\^", text)
        assert text.endswith("^{2}")


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


# ---- right and wrong ---------------------------------------------------------------------------------------------


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


# ---- hostile text ------------------------------------------------------------------------------------------------

PIECES = [
    *("edges", "points", "triangles", "quadruples", "price", "similarity", "name", "on", "delaunay", "of", "left"),
    *("sample", "per", "point", "with", "nearest", "by", "all", "in", "..", "step", "=", ";", "\n", "#", ",", "(", ")"),
    *("+", "-", "*", "/", "^", "**", "<", "and", "or", "not", "d1", "d2", "a1", "gap", "x2", "s2", "pi", "looks"),
    *(
        "__class__",
        "__import__",
        "self",
        "lambda",
        "import os",
        "'a'",
        "[0]",
        ".",
        ":",
        "{",
        "\x00",
        "é",
        "🙂",
        "\\",
        "`",
    ),
    *(
        "1",
        "0",
        "9^9^9^9",
        "1e308",
        "1e999",
        "9" * 300,
        "0x1f",
        "exp(",
        "where(",
        "max(1",
        "(" * 30,
        "-" * 30,
        "not " * 9,
    ),
]


def hostile(number):
    """A text out of the words of the grammar and others, or a valid model with a few changes."""
    rng = random.Random(number)
    if number % 3 == 2:
        return grammatical(rng)
    if number % 2:
        head = rng.choice(["edges ", "points ", "triangles ", "quadruples ", ""])
        return head + rng.choice(["", " "]).join(rng.choices(PIECES, k=rng.choice([2, 5, 12, 60])))
    text = rng.choice([SPRINGS, *READY.values()])
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(PIECES) + text[at + rng.choice([0, 0, 1, 4]) :]
    return text


def grammatical(rng):
    """A model that obeys the grammar, whatever its numbers come to."""
    lines = []
    for what, order in rng.sample(list(ORDERS.items()), rng.randint(1, 2)):
        names = [*written(order), "p", "q_1", "pi"]

        def grow(depth, names=names):
            if depth == 0 or rng.random() < 0.2:
                return rng.choice([rng.choice(names), rng.choice(["0", "1", "2.5", "1e300", "1e-300", "-3"])])
            name = rng.choice([*FUNCTIONS, *["+", "-", "*", "/", "^", "<", "and", "=="] * 3])
            if name in FUNCTIONS:
                return f"{name}({', '.join(grow(depth - 1) for _ in range(FUNCTIONS[name].arguments[0]))})"
            return f"({grow(depth - 1)}) {name} ({grow(depth - 1)})"

        clauses = {1: [""], 2: ["", "on delaunay of left", "on 3 nearest"]}.get(
            order, ["", "sample 4 per point with 9 nearest", "with 99999 nearest"]
        )
        lines.append(f"{what} {rng.choice(['', 'similarity'])} {grow(rng.randint(1, 4))} {rng.choice(clauses)}")
    return rng.choice(["\n", ";"]).join([*lines, *rng.choice([[], ["price 0.3"], ["price -1e99 * 9 ^ 9"]])])


def judge(text, pair):
    """A sentence, or a problem; no name but the known ones is reached."""
    found = parse(text)
    if found.model is None:
        for one in found.mistakes:
            assert 0 < len(str(one)) < 500 and one.line >= 1 and one.column >= 1
        return
    assert model_text(found.model.text) == found.model
    for term in found.model.terms:
        for node in term.expression.walk():
            assert node.kind in {"number", "name", *OPERATIONS, *FUNCTIONS}
            if node.kind == "name":
                assert node.name in {*written(term.order), *term.parameters, "pi"}
    try:
        problem = model_of(text).build(pair)
        assert np.isfinite(problem.energy(np.ones(problem.shape) / 3))
    except ValueError as error:
        assert 0 < len(str(error)) < 500


@pytest.mark.parametrize("cases", [300, pytest.param(5000, marks=pytest.mark.long)])
def test_hostile_formulas_end_in_a_sentence(cases):
    pair = pair_of(5, 6)
    for number in range(cases):
        judge(hostile(number), pair)
