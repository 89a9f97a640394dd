"""The sentence above the picture blames what is proved to be at fault, and nothing else."""

from hypothesis import given
from hypothesis import strategies as some

from features.judge.metrics import Metrics
from ui.match.lead import answer

ENERGIES = some.sampled_from([-3.0, -2.0, -1.0])


@given(found=ENERGIES, truth=ENERGIES, best=some.none() | ENERGIES, proved=some.booleans())
def test_what_is_blamed_is_to_blame(found, truth, best, proved):
    metrics = Metrics((2, 2), 2, found, "cost", 0, 2, truth)
    told, why = answer(metrics, best, proved), metrics.causes(best, proved)
    said = f"{told.rest} {told.badge}"
    assert told.strong.startswith("0 of 2 points")
    assert ("search is to blame" in said or "search got stuck" in said or "Both to blame" in said) == (
        why.stuck is True
    )
    assert ("model is to blame" in said or "model prefers" in said or "Both to blame" in said) == (why.model is True)
    assert ("(proved)" in said) == (False in (why.stuck, why.model) and metrics.verdict != "both agree")


def test_without_a_truth_nobody_is_blamed():
    assert "not known" in answer(Metrics((2, 2), 2, -1.0, "cost")).rest
