"""The ledger: every term that differs, once, and their sum is the difference of the energies, to the last digit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adgm import ANY, AT_MOST_ONE, Dense, Formula, Problem, Sparse
from adgm.explain.ledger import ledger, named
from adgm.explain.terms import paid_by_potential
from oracles import matchings
from problems import mixed

RULES = (AT_MOST_ONE, ANY)


def two_matchings(problem: Problem, seed: int) -> list[tuple[float, np.ndarray]]:
    every = list(matchings(problem))
    return [every[k] for k in np.random.default_rng(seed).integers(len(every), size=2)]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(1, 4), st.sampled_from(RULES), st.sampled_from(RULES), st.booleans(), st.integers(0, 10**6))
def test_the_sum_is_the_difference_of_the_two_energies(order, rows, cols, masked, seed):
    rng = np.random.default_rng(seed)
    mask = rng.random((2, 3)) < 0.8 if masked else None
    mask = mask if mask is not None and mask.any() else None
    problem = mixed((2, 3), order, seed, rows=rows, cols=cols, candidates=mask)
    (here, answer), (there, other) = two_matchings(problem, seed)
    book = ledger(problem, answer, other)
    assert book.total == book.difference and book.exact
    assert_allclose(book.total, there - here, rtol=1e-9, atol=1e-9)
    assert_allclose(book.energies, (here, there), rtol=1e-9, atol=1e-9)
    assert_allclose(sum(part.favour for part in book.parts), book.total, rtol=1e-9, atol=1e-9)
    for line in book.lines:
        for term, pays, not_both in ((line.here, answer, other), (line.there, other, answer)):
            assert term is None or all(pays[m] for m in term.matches)
            assert term is None or not all(not_both[m] for m in term.matches)
    assert [line.favour for line in book.lines] == sorted((line.favour for line in book.lines), reverse=True)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(0, 10**6))
def test_no_digit_is_lost_where_plain_sums_lose_some(seed):
    rng = np.random.default_rng(seed)
    huge = rng.normal(size=(3, 3)) * 10.0 ** rng.integers(-8, 9, size=(3, 3))
    index = rng.integers(9, size=(30, 3))
    problem = Problem((3, 3), [Dense(huge), Sparse(index, rng.normal(size=30) * 10.0 ** rng.integers(-8, 9, size=30))])
    (_, answer), (_, other) = two_matchings(problem, seed)
    exact = [sum(Fraction(c) for p in paid_by_potential(problem, x) for c in p.values()) for x in (answer, other)]
    book = ledger(problem, answer, other)
    assert book.total == book.difference == float(exact[1] - exact[0])


def test_a_term_stands_beside_that_of_the_same_left_nodes():
    flat = np.zeros((3, 3, 1))
    lengths = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))[..., None]
    edges = Formula(flat, lengths, lambda a, b: b[..., 0])
    problem = Problem((3, 3), [Dense(np.arange(9.0).reshape(3, 3)), edges])
    book = ledger(problem, np.eye(3), np.eye(3)[[1, 0, 2]], ["descriptors", "edges"])
    assert {(line.potential, line.left): line.costs for line in book.lines} == {
        (0, (0,)): (0.0, 1.0),
        (0, (1,)): (4.0, 3.0),
        (1, (0, 1)): (2.0, 2.0),
        (1, (0, 2)): (4.0, 2.0),
        (1, (1, 2)): (2.0, 4.0),
    }
    assert {part.name: part.favour for part in book.parts} == {"descriptors": 0.0, "edges": 0.0}
    assert book.total == 0.0 and all(part.share is None for part in book.parts)
    only = book.about(0)
    assert {line.left for line in only.lines} == {(0,), (0, 1), (0, 2)} and only.total == -1.0


def test_potentials_are_named_by_what_they_tie_together():
    problem = mixed((2, 2), 3)
    assert named(problem)[:2] == ["points 1", "points 2"]
    assert "triangles 1" in named(problem)
    with pytest.raises(ValueError, match="assignment"):
        ledger(problem, np.zeros(3), np.zeros(4))


def test_a_potentials_share_is_that_of_the_whole_difference_and_the_text_says_so():
    first, second = Dense(np.diag([4.0, 1.0])), Dense(np.array([[0.0, 1.0], [1.0, 0.0]]))
    book = ledger(Problem((2, 2), [first, second]), np.eye(2), np.eye(2)[[1, 0]], ["costs", "others"])
    assert [(part.name, part.favour, part.lines) for part in book.parts] == [("costs", -5.0, 2), ("others", 2.0, 2)]
    assert [part.share for part in book.parts] == pytest.approx([-5 / 3, 2 / 3])
    lines = [line.split() for line in str(book).splitlines()]
    assert lines[0] == ["costs", "-5", "-167%", "2", "terms"] and lines[1] == ["others", "+2", "+67%", "2", "terms"]
    assert lines[2][:2] == ["sum", "-3"]
    about = book.about(0)
    assert about.total == sum(line.favour for line in book.lines if 0 in line.left) and about.difference == about.total
