"""How far from optimal: what the Match page says about a finished run, in words."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adgm.bounds.branch_and_bound import tolerance
from features.judge.metrics import score
from tests.test_match_page import SMALL, Page
from ui.match.optimality import answer, proved
from ui.shell.session_slots import PROOF


@pytest.mark.parametrize("model", ["B", "third"])
def test_the_bound_is_told_in_words(model):
    page = Page(SMALL | {"model": model}).start()
    ask = next(button for button in page.test.button if button.label == "How far from optimal?")
    ask.click()
    page.run()
    page.test.session_state[PROOF.name].job.wait(60)
    page.run()
    assert page.says("Proved optimal") or page.says("Gap")


def test_a_careful_run_says_what_it_proved_or_is_asked_about_at_once():
    page = Page(SMALL | {"method": "adgm+"}).start()
    assert page.says("Proved optimal") and not page.says("runs ended with this matching")
    page = Page(SMALL | {"method": "adgm+", "method.effort": "0"}).start()
    assert page.says("runs ended with this matching")
    page.test.session_state[PROOF.name].job.wait(60)
    page.run()
    assert page.says("Proved optimal") or page.says("Gap")


@pytest.mark.parametrize(("energy", "spread"), [(-3.0, 0.7), (1e9, 1e-3), (0.0, 1.499e5)])
def test_a_proof_tells_how_exact_it_is_and_never_more_than_that(energy, spread):
    run = SimpleNamespace(
        matching=SimpleNamespace(metrics=SimpleNamespace(energy=energy)),
        problem=SimpleNamespace(spread=spread),
        sense="cost",
    )
    told = proved(run)
    little = float(re.search(r"better by more than (\S+)\.$", told).group(1))
    assert told.startswith("**Proved optimal**") and 1.0 <= little / tolerance(energy, spread) < 1.02


def said(energy: float, lower: float, best: float, sense: Any = "cost", proved: bool = False) -> str:
    run = SimpleNamespace(
        matching=SimpleNamespace(metrics=SimpleNamespace(energy=energy)),
        problem=SimpleNamespace(spread=1e-6),
        sense=sense,
    )
    return answer(run, SimpleNamespace(lower=lower, best_energy=best, spread=1e-6, proved=proved), False)


@pytest.mark.parametrize("sense", ["cost", "similarity"])
@given(st.floats(-1e7, 1e7), st.floats(1e-4, 1e3))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_no_bound_is_said_to_be_tighter_than_it_is(sense, lower, more):
    energy = lower + more
    assume(energy != 0.0)
    words = r"\*\*Gap (\S+) %\*\*: no matching has a \w+ better than (\S+)\.$"
    found = re.match(words, said(energy, lower, energy, sense))
    assert found is not None
    shown, limit = float(found[1]) / 100, score(float(found[2]), sense)
    gap = (energy - lower) / max(abs(energy), abs(lower))
    assert limit <= lower <= limit + 1.01e-4 * max(1.0, abs(lower))
    assert gap * (1 - 1e-9) <= shown <= 1.11 * gap


def test_a_better_matching_that_the_search_has_met_is_told_and_nothing_else():
    assert "better matching" not in said(-3.0, -4.0, -3.0) and "better matching" not in said(-3.0, -4.0, -3.0 - 1e-15)
    assert said(-3.0, -4.0, -3.5).endswith("The search found a better matching (cost -3.5000).")
    assert said(-3.0, -3.5, -3.5, proved=True).endswith("(cost -3.5000), proved optimal: the solver was stuck.")
    assert said(-3.0, float("-inf"), -3.0) == "No bound was found in that time."
