"""Does a model tell right from wrong? Histograms whose bars show their tuples on the picture of a canvas."""

from collections.abc import Sequence
from math import isfinite, isnan
from typing import Any

from features.explain.separation import Separation, told
from features.formulas.typeset import Curve
from ui.parts import canvas

_COMPONENT = canvas.component("adgm_separation", '<div class="separation"></div>')


def show(key: str, found: Sequence[Separation], curves: Sequence[tuple[str, Curve]] = ()) -> None:
    """A histogram for every part, and the cost over each name; the tuples are shown on canvas `key`, which must have
    the points that they are about."""
    _COMPONENT(
        key=f"{key} separation",
        data={
            "part": "separation",
            "key": key,
            "session": canvas.session(),
            "module": canvas.module(key),
            "parts": [part(one) for one in found],
            "curves": [course(what, one) for what, one in curves],
        },
    )


def part(one: Separation) -> dict[str, Any]:
    """A part of a model as the browser reads it."""
    return {
        "name": one.name,
        "auc": None if isnan(one.auc) else float(told(one.auc, 3, 1.0)),
        "overlap": one.overlap,
        "verdict": one.verdict,
        "unseen": one.unseen,
        "ends": [float(f"{end:.6g}") for end in (one.edges[0], one.edges[-1])],
        "counts": [one.right.tolist(), one.wrong.tolist()],
        "totals": [int(one.right.sum()), int(one.wrong.sum())],
        "tuples": [one.right_examples, one.wrong_examples],
    }


def course(what: str, one: Curve) -> dict[str, Any]:
    """A curve as the browser reads it; null where the formula is not finite."""
    fixed = ", ".join(f"{name} = {value:.3g}" for name, value in one.fixed.items())
    return {
        "what": what,
        "over": one.over,
        "label": f"{one.label} ({one.unit})" if one.unit else one.label,
        "ends": [float(f"{end:.6g}") for end in (one.x[0], one.x[-1])],
        "y": [float(f"{value:.5g}") if isfinite(value) else None for value in one.y.tolist()],
        "fixed": fixed,
    }
