"""Projections: against a quadratic programme, and the properties that define them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from adgm.problem import ANY, AT_MOST_ONE, CONSTRAINTS, EXACTLY_ONE
from adgm.projections import project
from oracles import project_line, project_lines

POINTS = {
    "spread": [0.3, -0.2, 0.9, 0.1],
    "ties": [0.5, 0.5, 0.5, 0.5],
    "one element": [0.4],
    "one large element": [3.0],
    "all negative": [-1.0, -2.0, -0.5],
    "inside": [0.2, 0.3, 0.1],
    "a corner": [5.0, 0.0, 0.0],
    "zeros": [0.0, 0.0, 0.0],
    "descending": [0.9, 0.7, 0.5, 0.3, 0.1],
    "ascending": [0.1, 0.3, 0.5, 0.7, 0.9],
}


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)
def test_nearest_point_is_the_quadratic_programmes(point, constraint):
    row = np.array([point])
    expected = project_line(row[0], constraint)
    assert_allclose(project(row, constraint, axis=1)[0], expected, atol=2e-7)
    assert_allclose(project(row.T, constraint, axis=0)[:, 0], expected, atol=2e-7)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_huge_and_tiny_values(constraint):
    huge = project([[1e300, -1e300, 0.0], [1e17, 1e17, 0.0]], constraint)
    assert_allclose(huge[0], [1, 0, 0])
    assert_allclose(huge[1], [1, 1, 0] if constraint == ANY else [0.5, 0.5, 0])
    tiny = project([[1e-300, 0.0, -1e-300]], constraint)[0]
    assert_allclose(tiny, [1 / 3] * 3 if constraint == EXACTLY_ONE else [1e-300, 0, 0])


matrices = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 7)),
    elements=st.one_of(st.floats(-3, 3), st.sampled_from([0.0, 0.5, 1.0, -1e6, 1e6])),
)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(matrices, st.sampled_from(CONSTRAINTS), st.sampled_from([0, 1]))
def test_projection_is_feasible_idempotent_and_the_sorting_oracles(points, constraint, axis):
    x = project(points, constraint, axis)
    assert (x >= 0).all() and (x <= 1 + 1e-9).all()
    sums = x.sum(axis=axis)
    if constraint == EXACTLY_ONE:
        assert_allclose(sums, 1, atol=1e-9)
    if constraint == AT_MOST_ONE:
        assert (sums <= 1 + 1e-9).all()
    assert_allclose(project(x, constraint, axis), x, atol=1e-9)
    assert_allclose(x, project_lines(points, constraint, axis), atol=1e-8)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.data(), st.sampled_from(CONSTRAINTS))
def test_projection_never_moves_two_points_apart(data, constraint):
    a = data.draw(matrices)
    b = data.draw(arrays(np.float64, a.shape, elements=st.floats(-3, 3)))
    before, after = np.linalg.norm(a - b), np.linalg.norm(project(a, constraint) - project(b, constraint))
    assert after <= before * (1 + 1e-9) + 1e-9


def test_columns_are_rows_of_the_transpose():
    points = np.random.default_rng(0).normal(size=(5, 8))
    assert_array_equal(project(points, EXACTLY_ONE, axis=0), project(points.T, EXACTLY_ONE, axis=1).T)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([1.0, 2.0], EXACTLY_ONE), "must be a matrix"),
        ((np.empty((0, 3)), EXACTLY_ONE), "at least one entry"),
        (([[np.nan]], EXACTLY_ONE), "must be finite"),
        (([[1.0]], "at_most_two"), "constraint must be one of"),
        (([[1.0]], ANY, 2), "axis must be 1"),
    ],
)
def test_bad_input_is_named(args, message):
    with pytest.raises(ValueError, match=message):
        project(*args)
