"""What is proved of random problems is true: a sample of `python -m experiments proofs`, and that it would tell."""

import numpy as np
import pytest

from adgm.bounds import bound, branch_and_bound
from adgm.problem import ANY, CONSTRAINTS
from experiments.__main__ import main
from experiments.tools import proofs
from oracles import brute_force

CLAIMS = 9


def test_no_proof_and_no_margin_of_sixty_problems_is_false():
    tally = proofs.judged(0, 60)
    assert not tally.false
    assert len(tally.claims) == CLAIMS and min(tally.claims.values()) >= 15


@pytest.mark.long
def test_no_proof_and_no_margin_of_two_thousand_problems_is_false():
    assert not proofs.judged(0, 2000).false


def test_the_same_number_is_the_same_problem_and_there_are_all_kinds():
    cases = [proofs.case(number) for number in range(200)]
    assert proofs.case(3).told == cases[3].told != proofs.case(4).told
    assert {case.problem.order for case in cases} == {1, 2, 3}
    sides = {(case.problem.rows, case.problem.cols) for case in cases}
    assert sides == {(rows, cols) for rows in CONSTRAINTS for cols in CONSTRAINTS} and (ANY, ANY) in sides


def test_the_other_side_agrees_with_brute_force_by_another_way():
    for number in range(0, 40, 2):
        case = proofs.case(number)
        if ANY not in (case.problem.rows, case.problem.cols):
            energy, matrix = brute_force(case.problem)
            close = 1e-12 * float(case.weights.max())
            assert float(case.energies.min()) == pytest.approx(energy, abs=close)
            assert float(case.energies[case.place(case.problem.vector(matrix) > 0.5)]) == pytest.approx(
                energy, abs=close
            )


@pytest.mark.parametrize("wrong", [1e-3, 1.0])
def test_a_proof_that_asks_for_too_little_is_told(monkeypatch, wrong):
    """As it was: a share of the whole energy."""
    for module in (branch_and_bound, bound):
        monkeypatch.setattr(
            module, "relative_gap", lambda energy, lower, spread: 0.0 if energy - lower <= wrong * abs(energy) else 1.0
        )
    tally = proofs.judged(0, 30)
    assert any("solved" in line or "proved" in line for line in tally.false)


def test_the_command_counts_claims(capsys):
    assert main(["proofs", "--cases", "2", "--seed", "5"]) == 0
    assert "2 problems" in capsys.readouterr().out
    assert main(["proofs", "--cases", "0"]) == 2


def test_a_matching_that_is_none_is_told():
    case = proofs.case(0)
    with pytest.raises(ValueError):
        case.place(np.ones(case.problem.n, bool))
