"""Figures for paper, as HTML: a chapter's picture where nothing moves. Colours are also told by dashes."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from features.explain.lessons import Solved
from features.explain.planar import HEIGHT, WIDTH, Moment, Point, Scene
from features.judge.metrics import kinds, matched_pairs
from features.plots.theme import BLUE, FAINT, INK, KINDS, VERMILION

Floats = NDArray[np.float64]
SIDE, GAP = 300, 60  # of a view and between the two
DASHES = {"correct": "", "wrong": "7 4", "stray": "2 4", "missed": "1 3"}


def svg(width: float, height: float, parts: Iterable[str], alt: str) -> str:
    drawn = "".join(parts)
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(alt, quote=True)}">{drawn}</svg>'


def line(a: Sequence[float], b: Sequence[float], colour: str = FAINT, width: float = 1.5, dashes: str = "") -> str:
    (x1, y1), (x2, y2) = a, b
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}" stroke-dasharray="{dashes}"/>'


def dot(at: Sequence[float], radius: float = 4, colour: str = INK) -> str:
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" fill="{colour}"/>'


def text(at: Sequence[float], words: str, size: float = 15) -> str:
    place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" dy="0.35em" text-anchor="middle" font-size="{size:g}"'
    return f'<text {place} paint-order="stroke" stroke="#fff" stroke-width="8">{escape(words)}</text>'


def matching(found: Solved) -> str:
    """Both sets of points with the matches found: right ones drawn through, wrong ones dashed."""
    places = []
    for k, view in enumerate((found.pair.left, found.pair.right)):
        xy = np.asarray(view.points.xy, float)
        size = max(float(np.ptp(xy, axis=0).max()), 1e-9)
        places.append((xy - xy.min(axis=0)) / size * (SIDE - 20) + [10 + k * (SIDE + GAP), 10])
    pairs = matched_pairs(found.problem, found.result.assignment)
    lines = [
        line(places[0][i], places[1][j], KINDS[kind].colour, 1.2 if kind == "correct" else 2, DASHES[kind])
        for (i, j), kind in zip(pairs.tolist(), kinds(found.pair, pairs), strict=True)
    ]
    dots = [dot(at) for side in places for at in side]
    high = max(float(side[:, 1].max()) for side in places) + 10
    caption = f"{len(pairs)} matches: {found.right} right (drawn through), {len(pairs) - found.right} wrong (dashed)."
    return f"<figure>{svg(2 * SIDE + GAP, high, lines + dots, caption)}<figcaption>{caption}</figcaption></figure>"


def triangles(sides: Sequence[ArrayLike], names: Sequence[Sequence[str]]) -> str:
    """Two sets of three points with the lengths of their edges."""
    parts = []
    for k, (points, called) in enumerate(zip(sides, names, strict=True)):
        xy = np.asarray(points, float)
        at = xy * 50 + [k * (SIDE + GAP), 0]
        for a, b in combinations(range(3), 2):
            parts.append(line(at[a], at[b], INK))
            parts.append(text((at[a] + at[b]) / 2, f"{np.hypot(*(xy[a] - xy[b])):.2f}", 14))
        parts += [dot(place, 15, "#fff") + text(place, name, 18) for place, name in zip(at, called, strict=True)]
    return f"<figure>{svg(2 * SIDE + GAP, SIDE, parts, 'Two triangles with the lengths of their edges')}</figure>"


def matrices(named: Mapping[str, Floats], rows: Sequence[str], cols: Sequence[str]) -> str:
    """Matrices side by side, as tables."""
    made = []
    for name, values in named.items():
        head = "".join(f"<th>{escape(col)}</th>" for col in cols)
        body = "".join(
            f"<tr><th>{escape(row)}</th>{''.join(f'<td>{value:.2f}</td>' for value in line_)}</tr>"
            for row, line_ in zip(rows, values, strict=True)
        )
        made.append(f"<table><caption>{escape(name)}</caption><tr><th></th>{head}</tr>{body}</table>")
    return f'<figure class="tables">{"".join(made)}</figure>'


def simplex(c: Sequence[float]) -> str:
    """The triangle of three candidates, and a point c of its plane."""
    corners = np.array([(330.0, 75.0), (210.0, 283.0), (450.0, 283.0)])
    sides = [line(corners[a], corners[b], INK) for a, b in combinations(range(3), 2)]
    names = [
        text((at[0], at[1] + (-18 if k == 0 else 20)), f"all to candidate {k + 1}") for k, at in enumerate(corners)
    ]
    at = np.asarray(c, float) @ corners
    marked = [dot(at, 5, VERMILION), text((at[0], at[1] - 18), f"c = ({', '.join(f'{value:.2f}' for value in c)})")]
    return f"<figure>{svg(660, 330, [*sides, *names, *marked], 'The triangle of all splits')}</figure>"


def plane(scene: Scene, places: Sequence[Point], moments: Sequence[Moment]) -> str:
    """Two sets in the plane, with the way of both points from the start; the second set is dashed."""
    unit = 52

    def at(point: Sequence[float]) -> tuple[float, float]:
        return unit * point[0], unit * (HEIGHT - point[1])

    parts = []
    for shape, place, colour, dashes in zip(scene.shapes, places, (BLUE, VERMILION), ("", "8 4"), strict=False):
        look = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        for part in shape:
            corners = [at((place[0] + x, place[1] + y)) for x, y in part.corners]
            if part.radius:
                (x, y), radius = corners[0], unit * part.radius
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {look}/>')
            else:
                parts.append(f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}" {look}/>')
    for way, colour, dashes in (([m.one for m in moments], BLUE, ""), ([m.two for m in moments], VERMILION, "5 4")):
        parts += [line(at(a), at(b), colour, 1.5, dashes) for a, b in pairwise(way[1:])]
    parts += [dot(at(moments[-1].two), 6), text(at(places[2]), "S", 18)]
    parts += [text(at(place), name, 18) for place, name in zip(places, "12", strict=False)]
    return f"<figure>{svg(unit * WIDTH, unit * HEIGHT, parts, 'Two sets and the way of two points')}</figure>"


def over_penalties(rhos: Sequence[float], values: Sequence[float], label: str) -> str:
    """Values over penalties, of which each is drawn as far from the next as any other."""
    most = max(max(values), 1e-9)
    at = [(70 + 58 * k, 210 - 170 * value / most) for k, value in enumerate(values)]
    parts = [line((50, 210), (640, 210)), line((50, 30), (50, 210)), text((330, 250), "first penalty ρ₀")]
    parts += [text((place[0], 228), f"{rho:g}", 13) for place, rho in zip(at, rhos, strict=True)]
    parts += [line(a, b, BLUE) for a, b in pairwise(at)]
    for (x, y), value in zip(at, values, strict=True):
        parts += [dot((x, y), 5, BLUE), text((x, y - 14), f"{value:.0f}", 13)]
    return f"<figure>{svg(660, 265, parts, label)}<figcaption>{escape(label)}</figcaption></figure>"
