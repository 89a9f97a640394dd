"""A small drawing of what each quantity of a formula measures: thin what is there, bold what is measured."""

from dataclasses import asdict, dataclass
from math import atan2, cos, pi, sin
from typing import Any

from features.formulas.quantities import LETTERS, QUANTITIES, Quantity

WIDTH, HEIGHT = 64, 40  # of the box that every drawing fills
Point = tuple[float, float]
FROM, TO = (11.0, 31.0), (52.0, 10.0)  # an edge
TRIANGLE: dict[str, Point] = {"a": (9, 33), "b": (55, 33), "c": (24, 6)}
QUADRUPLE: dict[str, Point] = {"a": (9, 34), "b": (42, 34), "c": (15, 8), "d": (55, 13)}
SPOT = (40.0, 24.0)  # a point


@dataclass(frozen=True)
class Drawing:
    """Paths of SVG, and letters at places."""

    thin: str = ""
    bold: str = ""
    area: str = ""
    dots: tuple[Point, ...] = ()
    letters: tuple[tuple[str, float, float], ...] = ()

    def data(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


def drawing(one: Quantity) -> Drawing:
    """What a quantity measures."""
    return {1: _point, 2: _edge, 3: _triangle, 4: _quadruple}[one.order](one.name)


def all_drawings() -> dict[str, dict[str, Any]]:
    """By order and name, as a browser reads them."""
    return {f"{one.order} {one.name}": drawing(one).data() for one in QUANTITIES}


def path(*points: Point, closed: bool = False) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z" * closed


def circle(at: Point, radius: float) -> str:
    x, y = at
    return f"M{x - radius:.1f} {y}a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0 {-2 * radius} 0"


def arc(at: Point, start: Point, end: Point, radius: float = 11.0) -> str:
    """Around a point, from the direction of one to that of another, the short way."""
    first, last = (atan2(p[1] - at[1], p[0] - at[0]) for p in (start, end))
    turn = (last - first + pi) % (2 * pi) - pi
    steps = [first + turn * k / 8 for k in range(9)]
    return path(*((at[0] + radius * cos(w), at[1] + radius * sin(w)) for w in steps))


def arrow(start: Point, end: Point, size: float = 5.0) -> str:
    """A line with a head."""
    way = atan2(end[1] - start[1], end[0] - start[0])
    heads = [(end[0] - size * cos(way + side), end[1] - size * sin(way + side)) for side in (0.5, -0.5)]
    return path(start, end) + path(heads[0], end, heads[1])


def _between(one: Point, other: Point, share: float) -> Point:
    return one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])


# ---- points ------------------------------------------------------------------------------------------------------


def _point(name: str) -> Drawing:
    x, y = SPOT
    frame, box = path((4, 38), (4, 3), (61, 3)), path((14, 9), (58, 9), (58, 36), (14, 36), closed=True)
    found = {
        "x": Drawing(frame, arrow((4, y), (x - 4, y)), dots=(SPOT,)),
        "y": Drawing(frame, arrow((x, 3), (x, y - 4)), dots=(SPOT,)),
        "px": Drawing(box, arrow((14, y), (x - 4, y)), dots=(SPOT, (14, 30), (58, 16), (28, 9), (34, 36))),
        "py": Drawing(box, arrow((x, 9), (x, y - 4)), dots=(SPOT, (14, 30), (58, 16), (28, 9), (34, 36))),
        "scale": Drawing(circle((32, 20), 15), arrow((32, 20), (17, 20)) + arrow((32, 20), (47, 20)), dots=((32, 20),)),
        "angle": Drawing(
            circle((28, 22), 13) + path((28, 22), (58, 22)),
            arrow((28, 22), (37, 9)) + arc((28, 22), (58, 22), (37, 9), 20),
            dots=((28, 22),),
        ),
    }
    return found.get(name) or _patches(name)


def _patches(name: str) -> Drawing:
    """Two pieces of image side by side: what descriptors compare, each in its way."""
    thin = "".join(path((x, 8), (x + 24, 8), (x + 24, 32), (x, 32), closed=True) for x in (5, 35))
    if "shape" in name:
        dots = ((17, 20), (9, 14), (24, 13), (22, 28), (47, 20), (39, 13), (55, 16), (50, 29))
        return Drawing(thin, "".join(path(dots[k], dots[j]) for k in (0, 4) for j in range(k + 1, k + 4)), dots=dots)
    inner = "".join(path((x, 20), (x + 24, 20)) + path((x + 12, 8), (x + 12, 32)) for x in (5, 35))
    ways = [(11, 14, 3.1), (23, 14, 0.6), (11, 26, 5.2), (23, 26, 1.9), (41, 14, 2.7), (53, 14, 0.9), (41, 26, 5.6)]
    arrows = "".join(arrow((x, y), (x + 4.5 * cos(w), y + 4.5 * sin(w)), 2.5) for x, y, w in [*ways, (53, 26, 1.6)])
    return Drawing(thin + inner, arrows)


# ---- edges -------------------------------------------------------------------------------------------------------


def _edge(name: str) -> Drawing:
    edge, corner, level = path(FROM, TO), (TO[0], FROM[1]), (58.0, FROM[1])
    unit = _between(FROM, TO, 0.5)
    foot = (unit[0], FROM[1])
    other, turned = ((11.0, 36.0), (40.0, 33.0)), ((8.0, 33.0), (56.0, 27.0), (44.0, 5.0))
    apart = path((8, 12), (46, 12)) + path((8, 28), (58, 28))
    ends = FROM, TO
    found = {
        "d": Drawing(bold=edge, dots=ends),
        "dx": Drawing(edge + path(corner, TO), arrow(FROM, corner), dots=ends),
        "dy": Drawing(edge + path(FROM, corner), arrow(corner, TO), dots=ends),
        "ux": Drawing(edge + circle(FROM, 10) + path(foot, unit), arrow(FROM, foot), dots=ends),
        "uy": Drawing(edge + circle(FROM, 10) + path(FROM, foot), arrow(foot, unit), dots=ends),
        "dir": Drawing(edge + path(FROM, level), arc(FROM, level, TO, 20), dots=ends),
        "heading": Drawing(edge + circle(FROM, 8) + arrow(FROM, (21, 5)), arc(FROM, (21, 5), TO, 20), dots=ends),
        "reach": Drawing(
            edge + circle(FROM, 8), path(FROM, TO) + path(FROM, (FROM[0] - 5.6, FROM[1] + 5.6)), dots=ends
        ),
        "change": Drawing(apart, path((46, 24), (58, 24)) + path((46, 8), (46, 32)) + path((58, 20), (58, 32))),
        "turn": Drawing(path(*turned[:2]) + path(turned[0], turned[2]), arc(*turned, 24), dots=(turned[0],)),
        "cosine": Drawing(
            path(*turned[:2]) + path(turned[0], turned[2]) + path(turned[2], other[1]),
            arrow(turned[0], (39, 29.2)),
            dots=(turned[0],),
        ),
    }
    return found[name]


# ---- triangles and quadruples ------------------------------------------------------------------------------------


def _letters(corners: dict[str, Point]) -> tuple[tuple[str, float, float], ...]:
    return tuple((name, x + (-6 if x < 30 else 6), y + (1 if y > 20 else 3)) for name, (x, y) in corners.items())


def _triangle(name: str) -> Drawing:
    corners = TRIANGLE
    whole, letters, dots = path(*corners.values(), closed=True), _letters(corners), tuple(corners.values())
    if name in corners or (name[0] == "s" and name[1:] in corners):
        at = corners[name[-1]]
        first, last = (corners[letter] for letter in corners if letter != name[-1])
        bold = arc(at, first, last)
        if name[0] == "s":  # the height that the sine stands for
            one, two = (_between(at, p, 0.55) for p in (first, last))
            bold = path(one, two) + bold
        return Drawing(whole, bold, dots=dots, letters=letters)
    if len(name) == 2:
        return Drawing(whole, path(*(corners[letter] for letter in name)), dots=dots, letters=letters)
    middle = (sum(x for x, _ in dots) / 3, sum(y for _, y in dots) / 3)
    found = {
        "area": Drawing(whole, area=whole, letters=letters, dots=dots),
        "orient": Drawing(
            whole,
            arc(middle, (10, 25), (30, 14), 6)
            + arrow((middle[0] + 4, middle[1] - 5), (middle[0] + 6.5, middle[1] + 1), 4),
            letters=letters,
            dots=dots,
        ),
    }
    return found.get(name) or _gap(name)


def _quadruple(name: str) -> Drawing:
    corners = QUADRUPLE
    a, b, c, d = corners.values()
    whole, letters, dots = path(a, b, d, c, closed=True), _letters(corners), (a, b, c, d)
    u, v = _between(a, b, 1.25), _between(a, c, 0.72)
    found = {
        "u": Drawing(path(a, b) + path(a, c) + path(d, u), arrow(a, u), dots=dots, letters=letters),
        "v": Drawing(path(a, b) + path(a, c) + path(d, v), arrow(a, v), dots=dots, letters=letters),
        "cross": Drawing(path(a, d) + path(b, c), path(a, c) + path(b, d), dots=dots, letters=letters),
    }
    for letter in LETTERS:
        rest = path(*(corners[one] for one in corners if one != letter), closed=True)
        found[f"w{letter}"] = Drawing(whole, area=rest, dots=dots, letters=letters)
    return found.get(name) or _gap(name)


def _gap(name: str) -> Drawing:
    """Tuples as points of a space of features: the distance of two, or the mean of many."""
    axes, dots = path((6, 4), (6, 36), (60, 36)), ((18.0, 28.0), (48.0, 12.0))
    if name == "gap":
        return Drawing(axes, path(*dots), dots=dots)
    more = (*dots, (26.0, 11.0), (52.0, 27.0), (36.0, 22.0))
    return Drawing(axes, "".join(path(dots[0], one) for one in more[1:]), dots=more)
