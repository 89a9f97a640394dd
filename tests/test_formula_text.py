"""The text of a formula: expressions and lines that are read, written again, and refused with a place and a hint."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.formulas import toml_file
from features.formulas.expression import (
    FUNCTIONS,
    LONGEST,
    MOST_NODES,
    OPERATIONS,
    Node,
    Wrong,
    evaluate,
    read,
    write,
)
from features.formulas.link import packed, unpacked
from features.formulas.quantities import QUANTITIES
from features.formulas.ready import READY
from features.formulas.records import FormulaError
from features.formulas.text import model_text, parse
from features.formulas.typeset import tree
from formula_problems import SPRINGS

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
