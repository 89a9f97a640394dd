"""The one palette: what every picture, chart and canvas takes its colours from.

The colours of Okabe and Ito first, which people with any colour vision tell apart; what they say is also said by the
kind of line, by a marker or by a mark.
"""

from dataclasses import dataclass
from typing import Any

from adgm import METHODS
from features.judge.classics import CLASSICS
from features.judge.metrics import Kind

GREEN, VERMILION, BLUE, SKY, PURPLE, ORANGE = "#009E73", "#D55E00", "#0072B2", "#56B4E9", "#CC79A7", "#E69F00"
INK, FAINT, PAPER = "#1b1f24", "#6b7178", "#f3f4f6"
RAMP = "viridis"  # of strengths and relaxed values, by matplotlib's name
SHADES = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")  # the same, for those who take colours

# Told apart on white and on black by everybody; yellow and black would vanish on one of the two.
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#666666", "#8C6D31", "#7A4FBF", "#A0A000")
STROKES = ("solid", "dashed", "dotted")
MARKERS = "osD^vP*X<>hd"


@dataclass(frozen=True)
class KindLook:
    """How a match is drawn, and what that means."""

    colour: str  # on paper
    bright: str  # on a dark photograph, as the canvas has it
    dashes: Any  # matplotlib's
    meaning: str
    mark: str = ""  # on the line, where colours and dashes are not enough


KINDS: dict[Kind, KindLook] = {
    "correct": KindLook(GREEN, "#1cc48f", "solid", "correct"),
    "wrong": KindLook(VERMILION, "#f0640f", (0, (4, 1.6)), "wrong", "×"),
    "stray": KindLook(PURPLE, "#e58ac0", (0, (5, 1.4, 1, 1.4)), "without a partner", "○"),
    "missed": KindLook(BLUE, "#f5f5f5", (0, (1, 1.4)), "missed"),
}
CANDIDATE = KindLook("#5f6b7a", "#c9d1d9", (0, (1, 3)), "not chosen")  # strong in an iterate, not chosen
REJECTED = KindLook("#7d8590", "#aab2bd", (0, (1, 2)), "rejected by the map")  # by `features.judge.verification`


@dataclass(frozen=True)
class MethodLook:
    """How a method is drawn, the same on every page and in every figure, whoever else takes part."""

    colour: str
    stroke: str  # "solid", "dashed" or "dotted", in matplotlib's and in ECharts' words
    marker: str  # matplotlib's


def method_look(key: str) -> MethodLook:
    """The look that belongs to a method (or to a classic); no two share colour and stroke."""
    at = [*METHODS, *CLASSICS].index(key)
    return MethodLook(
        COLOURS[at % len(COLOURS)], STROKES[at // len(COLOURS) % len(STROKES)], MARKERS[at % len(MARKERS)]
    )
