"""Cells of a notebook: a pair with lines that tell about themselves under the pointer, and a run as a moving picture.

The picture is SVG with the images inside, so that a saved notebook needs no other file and no script.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image as Pillow

from adgm.machine.cells import card, curves, facts, side_by_side, text, words
from adgm.machine.short_repr import ShortRepr
from features.judge.metrics import BETTER, WORD, missed, number
from features.pairs import SIDES, Pair, View
from features.plots import animation
from features.plots.stage import Floats, Stage
from features.plots.theme import BLUE, INK, KINDS, PAPER, REJECTED, SKY, KindLook

if TYPE_CHECKING:
    from features.matching import Matching

WIDTH = 900.0  # of a picture, in its own units
PIXELS, QUALITY = 720, 82  # of an image at most, on its longer side, and of its JPEG
THIN, THICK = 1.0, 2.2  # lines, of many matches and of few
MATCHED = KindLook(BLUE, SKY, "solid", "matched")
OBEYS = KindLook(BLUE, SKY, "solid", "obeys the map")
STYLE = """<style>.adgm .m .o{pointer-events:stroke}.adgm .m:hover .l{stroke-width:5}
.adgm svg:has(.m:hover) .m:not(:hover){opacity:.12}</style>"""


@dataclass(frozen=True)
class Line:
    """A match as it is drawn, and what is told of it under the pointer."""

    i: int
    j: int
    look: KindLook
    about: str


def picture(pair: Pair, lines: Sequence[Line] = ()) -> str:
    """Both views, their points and the lines, as SVG."""
    stage = Stage(pair)
    scale = WIDTH / stage.size[0]
    places = [stage.at(side, view.points.xy) * scale for side, view in enumerate(stage.views)]
    thick = float(np.clip(THICK * (60 / max(len(lines), 1)) ** 0.5, THIN, THICK))
    ground = "".join(_ground(stage, side, view, scale) for side, view in enumerate(stage.views))
    drawn = "".join(_line(line, places, thick) for line in lines)
    size = f'width="{WIDTH:.0f}" viewBox="0 0 {WIDTH:.0f} {stage.size[1] * scale:.1f}"'
    radius = 2 * float(np.clip(4 * (60 / max(*pair.shape, 1)) ** 0.5, 1.6, 4))
    return (
        f'{STYLE}<svg {size} role="img" aria-label="{text(pair.name)}" fill="none" stroke-linecap="round">'
        f"{ground}{drawn}{_points(places, radius)}</svg>"
    )


def _ground(stage: Stage, side: int, view: View, scale: float) -> str:
    """The image of a view, smaller; a sheet for points without one."""
    (x0, y0), (x1, y1) = (stage.at(side, corner) * scale for corner in stage.boxes[side])
    place = f'x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}"'
    if view.image is None:
        return f'<rect {place} fill="{PAPER}"/>'
    small, out = Pillow.fromarray(view.image.rgb), io.BytesIO()
    small.thumbnail((PIXELS, PIXELS))
    small.save(out, "JPEG", quality=QUALITY)
    data = base64.b64encode(out.getvalue()).decode()
    return f'<image {place} preserveAspectRatio="none" href="data:image/jpeg;base64,{data}"/>'


def _line(line: Line, places: Sequence[Floats], thick: float) -> str:
    """A line on a white halo, and a wide one that nobody sees, for the pointer."""
    (x0, y0), (x1, y1) = places[0][line.i], places[1][line.j]
    way = f'd="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"'
    dashes = "" if line.look.dashes == "solid" else " ".join(f"{part * thick:.1f}" for part in line.look.dashes[1])
    broken = f' stroke-dasharray="{dashes}" stroke-linecap="butt"' if dashes else ""
    return (
        f'<g class="m"><title>{text(line.about)}</title>'
        f'<path {way} stroke="#fff" stroke-opacity=".7" stroke-width="{thick + 1.6:.1f}"/>'
        f'<path class="l" {way} stroke="{line.look.colour}" stroke-width="{thick:.1f}"{broken}/>'
        f'<path class="o" {way} stroke="#fff" stroke-opacity="0" stroke-width="10"/></g>'
    )


def _points(places: Sequence[Floats], radius: float) -> str:
    """All points at once: lines without length have round ends."""
    way = "".join(f"M{x:.1f} {y:.1f}h0" for xy in places for x, y in xy.tolist())
    rims = (("#fff", radius + 2), (INK, radius))
    dots = "".join(f'<path d="{way}" stroke="{colour}" stroke-width="{wide:.1f}"/>' for colour, wide in rims)
    return f'<g pointer-events="none">{dots}</g>'


def legend(lines: Sequence[Line]) -> str:
    """What the kinds of lines mean, and how many there are."""
    looks = sorted({line.look.meaning: 0 for line in lines}, key=lambda one: one == KINDS["missed"].meaning)
    counts = {meaning: [line.look for line in lines if line.look.meaning == meaning] for meaning in looks}
    told = [
        f'<span style="color:{some[0].colour}">━━</span> {text(meaning)} ({len(some)}) &emsp;'
        for meaning, some in counts.items()
    ]
    return f"<p>{''.join(told)}</p>" if told else ""


def pair_cell(pair: Pair) -> str:
    """A pair, its points, and what is known about it."""
    truth = "unknown"
    if pair.judged:
        partners = f"{int(pair.has_partner.sum())} of the left points have a partner"
        truth = partners if pair.truth is not None else f"a map, within {pair.tolerance:g} px; {partners}"
    sides = zip(SIDES, (pair.left, pair.right), strict=True)
    told = {side: f"{len(view.points)} points{_size(view)}" for side, view in sides}
    brings = {} if pair.given is None else {"brings": repr(pair.given)}
    return card(pair.name, picture(pair), facts({**told, "truth": truth, **brings}))


def _size(view: View) -> str:
    return ", no image" if view.image is None else " on {} × {} pixels".format(*view.image.size)


def matching_cell(found: "Matching") -> str:
    """The pair with its lines, what the matching is worth, and how the run went."""
    metrics, checked = found.metrics, found.verification
    lines = lines_of(found)
    numbers: dict[str, object] = {
        "matched": f"{metrics.matched} of {metrics.shape[0]} left points, {metrics.shape[1]} right points",
        "correct": None if metrics.possible is None else f"{metrics.correct} of {metrics.possible}",
        WORD[metrics.sense]: f"{number(metrics.score)} ({BETTER[metrics.sense]})",
        "run": f"{found.result.status} after {found.result.iterations} iterations, {found.result.seconds:.3g} s",
    }
    told = [words(metrics.explanation)] if metrics.verdict is not None else []
    told += [words(checked.verdict)] if checked is not None else []
    told += [words(found.result.note), words(found.recipe.title, faint=True)]
    return card(
        found.pair.name,
        picture(found.pair, lines),
        legend(lines),
        *told,
        side_by_side(facts(numbers), curves(found.result.history)),
    )


def lines_of(found: "Matching") -> list[Line]:
    """The lines of a matching, those last that should be seen best: wrong ones."""
    checked, shares = found.verification, found.strengths
    explained = checked.explained if checked is not None and checked.map is not None else None
    lines = [Line(i, j, KINDS["missed"], f"left {i}, right {j}: missed") for i, j in _missed(found)]
    for k, (i, j) in enumerate(found.pairs.tolist()):
        look = MATCHED if found.kinds is None else KINDS[found.kinds[k]]
        if found.kinds is None and explained is not None:
            look = REJECTED if explained[k] == "neither" else OBEYS
        said = [f"left {i} → right {j}", look.meaning, f"{found.strength_label} {shares[k]:.4g}"]
        said += [f"relaxed value {found.relaxed[k]:.3g}"]
        said += [] if found.confidence is None else [f"confidence {found.confidence[k]:.0%}"]
        lines.append(Line(i, j, look, " · ".join(said)))
    return sorted(lines, key=lambda line: line.look in (KINDS["wrong"], KINDS["stray"]))


def _missed(found: "Matching") -> list[list[int]]:
    return missed(found.pair, found.pairs).tolist() if found.pair.judged else []


@dataclass(frozen=True, eq=False)
class Animation(ShortRepr):
    """A run as a moving picture (GIF); a notebook plays it."""

    gif: bytes
    frames: int

    def save(self, path: str | Path) -> None:
        Path(path).write_bytes(self.gif)

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.gif).decode()
        return f'<img alt="The iterations of the run" src="data:image/gif;base64,{data}" style="max-width:100%">'


def animate(found: "Matching", width: int = 760) -> Animation:
    """Run the recipe again and draw the relaxed assignment on the way, then the matching."""
    frames = animation.of_run(found.pair, found.problem, found.recipe.method_object(), found.result)
    return Animation(animation.gif(frames, width), len(frames))
