"""How far from optimal: what the Match page says about a finished run, in words."""

import re
from types import SimpleNamespace

import pytest

from adgm.bounds.branch_and_bound import tolerance
from tests.test_match_page import SMALL, Page
from ui.match.optimality import proved
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
