"""ADMM in the plane: find the lowest point that lies in two sets, with one point for each set.

The Learn page draws it with `ui/learn/boards/planar.js`, which does the same arithmetic in the browser; a test compares
the two, iterate by iterate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Any, NamedTuple

Point = tuple[float, float]

WIDTH, HEIGHT = 12.0, 6.6  # of the sheet
RHOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
TOLERANCE = 1e-6  # of the residual: the points agree and rest
MOST = 1000  # iterations of a run that is shown
CAREFUL, LONGEST = 1e-12, 5000  # the same of the runs that find the lowest common point


@dataclass(frozen=True)
class Part:
    """A convex set, relative to the place of its shape: a disc about one corner, a segment of two, a polygon of more.

    The corners of a polygon are counterclockwise.
    """

    corners: tuple[Point, ...]
    radius: float = 0.0


Shape = tuple[Part, ...]  # the union of its parts: convex if it has one


@dataclass(frozen=True)
class Scene:
    """Two shapes, where they lie when the chapter opens, and where both points start."""

    name: str
    shapes: tuple[Shape, Shape]
    places: tuple[Point, Point]
    start: Point

    @property
    def convex(self) -> bool:
        return all(len(shape) == 1 for shape in self.shapes)


def disc(radius: float, centre: Point = (0.0, 0.0)) -> Part:
    return Part((centre,), radius)


SCENES = {
    "box": Scene(
        "Disc and box",
        ((disc(2.2),), (Part(((-2.4, -1.5), (2.4, -1.5), (2.4, 1.5), (-2.4, 1.5))),)),
        ((4.2, 3.9), (7.0, 3.4)),
        (10.5, 5.8),
    ),
    "segment": Scene(
        "Disc and segment",
        ((disc(2.2),), (Part(((-3.5, -2.1), (3.5, 2.1))),)),
        ((4.4, 3.6), (6.5, 3.6)),
        (10.5, 2.0),
    ),
    "triangle": Scene(
        "Disc and triangle",
        ((disc(2.1),), (Part(((-2.4, -1.8), (2.6, -1.2), (-0.4, 2.8))),)),
        ((4.6, 3.7), (7.4, 3.2)),
        (10.5, 5.8),
    ),
    "islands": Scene(
        "Disc and two islands",
        ((disc(3.0),), (disc(1.2, (-4.6, 3.2)), disc(1.5))),
        ((6.0, 3.5), (8.2, 1.7)),
        (1.2, 5.7),
    ),
}


class Moment(NamedTuple):
    """An iterate: both points, the multiplier, and the residual of (12) with its first part, the gap."""

    one: Point
    two: Point
    multiplier: Point
    gap: float
    residual: float


def nearest(part: Part, place: Point, at: Point) -> Point:
    """The point of a convex part that is nearest to `at`."""
    corners = [(place[0] + x, place[1] + y) for x, y in part.corners]
    if part.radius:
        dx, dy = at[0] - corners[0][0], at[1] - corners[0][1]
        far = sqrt(dx * dx + dy * dy)
        if far <= part.radius:
            return at
        return corners[0][0] + dx * (part.radius / far), corners[0][1] + dy * (part.radius / far)
    edges = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    if len(corners) > 2 and all((b[0] - a[0]) * (at[1] - a[1]) >= (b[1] - a[1]) * (at[0] - a[0]) for a, b in edges):
        return at
    return closest([on_segment(a, b, at) for a, b in edges], at)


def on_segment(a: Point, b: Point, at: Point) -> Point:
    dx, dy = b[0] - a[0], b[1] - a[1]
    t = ((at[0] - a[0]) * dx + (at[1] - a[1]) * dy) / (dx * dx + dy * dy)
    t = min(max(t, 0.0), 1.0)
    return a[0] + t * dx, a[1] + t * dy


def apart(a: Point, b: Point) -> float:
    """The squared distance."""
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])


def closest(points: Sequence[Point], at: Point) -> Point:
    return min(points, key=lambda point: apart(point, at))


def project(shape: Shape, place: Point, at: Point) -> Point:
    """The point of a shape that is nearest to `at`; of two that are equally near, the first part's."""
    return closest([nearest(part, place, at) for part in shape], at)


def step(shapes: tuple[Shape, Shape], places: tuple[Point, Point], rho: float, now: Moment) -> Moment:
    """One iteration for min F(x₁) with x₁ = x₂, each in its set: (30) and (31) where the cost F is the height of x₁."""
    (ax, ay), (yx, yy) = now.two, now.multiplier
    one = project(shapes[0], places[0], (ax - yx / rho, ay - yy / rho - 1.0 / rho))
    two = project(shapes[1], places[1], (one[0] + yx / rho, one[1] + yy / rho))
    multiplier = yx + rho * (one[0] - two[0]), yy + rho * (one[1] - two[1])
    gap = apart(one, two)
    return Moment(one, two, multiplier, gap, gap + (apart(one, now.one) + apart(two, now.two)))


def first(start: Point) -> Moment:
    return Moment(start, start, (0.0, 0.0), 0.0, 0.0)


@lru_cache(maxsize=256)
def walk(
    shapes: tuple[Shape, Shape], places: tuple[Point, Point], start: Point, rho: float, tol: float = TOLERANCE
) -> tuple[Moment, ...]:
    """The start and every iterate, until the points agree and rest, or for `MOST` iterations."""
    moments = [first(start)]
    for _ in range(MOST):
        moments.append(step(shapes, places, rho, moments[-1]))
        if moments[-1].residual <= tol:
            break
    return tuple(moments)


def converged(moments: Sequence[Moment]) -> bool:
    return len(moments) > 1 and moments[-1].residual <= TOLERANCE


def lowest(shapes: tuple[Shape, Shape], places: tuple[Point, Point]) -> Point | None:
    """The lowest point that lies in both shapes: ADMM with ρ = 1, which is sure between convex parts. None: no such."""
    found = []
    for one in shapes[0]:
        for two in shapes[1]:
            now = first(places[0])
            for _ in range(LONGEST):
                now = step(((one,), (two,)), places, 1.0, now)
                if now.residual <= CAREFUL:
                    found.append(now.two)
                    break
    return min(found, key=lambda point: point[1], default=None)


def as_data(scene: Scene) -> dict[str, Any]:
    """For the browser."""
    return {
        "name": scene.name,
        "shapes": [
            [{"corners": [list(p) for p in part.corners], "radius": part.radius} for part in shape]
            for shape in scene.shapes
        ],
        "places": [list(place) for place in scene.places],
        "start": list(scene.start),
    }
