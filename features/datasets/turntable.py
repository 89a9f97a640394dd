"""Turntable: a little house on a round plate, drawn by our own code, with landmarks whose projections are exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from features.datasets.base import Dataset
from features.datasets.render import (
    DIM,
    GAMMA,
    Array,
    Face,
    Light,
    Mesh,
    Paint,
    Texture,
    X,
    Y,
    Z,
    bake,
    block,
    draw,
    extrude,
    face,
    hull,
    light,
    single,
    slab,
    warp,
)
from features.pairs import Pair, View
from features.parameters import Parameter, seed_parameter
from features.points.images import Image, decode, from_array
from features.points.keypoints import Keypoints

VIEWS = 91  # one per degree: view v looks from v − 45 degrees right of the front
FRAME = (640, 480)
FOCAL = 835.0  # pixels
DISTANCE, ELEVATION = 17.5, np.radians(20.0)
TARGET = np.array([0.0, 0.0, 1.75])
DRAWN = Path(__file__).with_name("views")  # pictures made before: VIEW.webp, lossless
SMOOTH = 2  # pictures are drawn this many times larger and averaged
DENSITY = 84  # texture pixels per unit of length
LIGHT_DENSITY, TABLE_DENSITY = 12, 5

WIDTH, DEPTH, EAVES, RIDGE = 3.0, 2.2, 2.7, 4.75  # half width, half depth, heights
PLATE, PLATE_HEIGHT, TABLE = 5.35, 0.28, 10.0

CREAM, WHITE, TEAL, WOOD = (0.93, 0.88, 0.79), (0.95, 0.94, 0.92), (0.20, 0.43, 0.45), (0.62, 0.46, 0.33)
TILE, BRICK, STONE, SAND = (0.66, 0.39, 0.31), (0.60, 0.36, 0.30), (0.66, 0.64, 0.61), (0.80, 0.75, 0.66)
GRASS, LEAF, TREE, CORAL = (0.53, 0.63, 0.39), (0.32, 0.48, 0.31), (0.43, 0.57, 0.33), (0.85, 0.43, 0.36)
SUN, SUN_COLOUR, SKY_COLOUR = (-0.72, -0.52, 0.58), (1.30, 1.18, 1.00), (1.05, 1.18, 1.34)


# Paint ---------------------------------------------------------------------------------------------------------------


def plain(colour: tuple[float, ...], grain: float = 0.05, seed: int = 0) -> Paint:
    """One colour with soft blotches and fine grain."""

    def paint(w: int, h: int) -> Texture:
        rng = np.random.default_rng([seed, w, h])
        coarse = rng.normal(size=(h // 24 + 2, w // 24 + 2)).astype(np.float32)
        shade = cv2.resize(coarse, (w, h), interpolation=cv2.INTER_CUBIC)
        fine = cv2.GaussianBlur(rng.normal(size=(h, w)).astype(np.float32), (0, 0), 1.2)
        return single(single(colour) * (1 + grain * (0.6 * shade + 2.0 * fine))[..., None])

    return paint


def courses(
    colour: tuple[float, ...], size: tuple[float, float], joint: float, spread: float, lip: float = 0.0, seed: int = 0
) -> Paint:
    """Rows of stones of various shades, with joints; ``lip`` darkens the upper end, as under the next tile."""

    def paint(w: int, h: int) -> Texture:
        rng = np.random.default_rng([seed, w, h])
        y, row = np.modf((h - 0.5 - np.arange(h)) / DENSITY / size[1])
        x, column = np.modf((np.arange(w) + 0.5)[None] / DENSITY / size[0] + 0.5 * (row[:, None] % 2) + 1)
        shades = rng.normal(1.0, spread, (int(row.max()) + 1, int(column.max()) + 1))
        shade = shades[row.astype(int)[:, None], column.astype(int)] * (1 - lip * y[:, None] ** 3)
        thin_x, thin_y = 0.012 / size[0], 0.012 / size[1]
        shade = np.where((x < thin_x) | (y < thin_y)[:, None], shade * (1 - joint), shade)
        return single(plain(colour, 0.03, seed)(w, h) * shade[..., None])

    return paint


def window(texture: Texture, u: float, v: float, w: float, h: float, *, panes: tuple[int, int] = (2, 3)) -> None:
    """A framed window with a reflection of the sky, its lower left corner at (u, v) of a wall."""
    tall = texture.shape[0]
    x0, x1, y0, y1 = (round(value * DENSITY) for value in (u, u + w, v, v + h))
    view = texture[tall - y1 : tall - y0, x0:x1]
    rows, columns = np.mgrid[0 : view.shape[0], 0 : view.shape[1]].astype(np.float32)
    sheen = 0.5 + 0.5 * np.tanh((columns / view.shape[1] - rows / view.shape[0] + 0.15) * 4)
    view[:] = single((0.13, 0.20, 0.27)) + sheen[..., None] * single((0.30, 0.36, 0.38))
    view[: view.shape[0] // 9] *= 0.55  # the lintel's shadow on the glass
    bar = 4
    for i in range(1, panes[0]):
        view[:, round(i * view.shape[1] / panes[0]) - bar // 2 :][:, :bar] = WHITE
    for i in range(1, panes[1]):
        view[round(i * view.shape[0] / panes[1]) - bar // 2 :][:bar] = WHITE
    for edge in (view[:6], view[-6:], view[:, :6], view[:, -6:]):
        edge[:] = WHITE


def door(texture: Texture, u: float, v: float, w: float, h: float) -> None:
    """A panelled door with a fanlight and a brass knob."""
    tall = texture.shape[0]
    x0, x1, y0, y1 = (round(value * DENSITY) for value in (u, u + w, v, v + h))
    view = texture[tall - y1 : tall - y0, x0:x1]
    view[:] = WHITE
    inner = view[8:, 8:-8]
    inner[:] = CORAL
    high, wide = inner.shape[:2]
    for top, bottom in ((0.30, 0.60), (0.66, 0.93)):
        for a, b in ((0.12, 0.46), (0.54, 0.88)):
            panel = inner[int(top * high) : int(bottom * high), int(a * wide) : int(b * wide)]
            panel *= single(0.86)
            panel[:3] *= single(0.75)
    window(inner, 0.1, 0.78 * high / DENSITY, wide / DENSITY - 0.2, 0.17 * high / DENSITY, panes=(3, 1))
    cv2.circle(inner, (int(0.90 * wide), int(0.63 * high)), 5, (0.93, 0.78, 0.40), -1, cv2.LINE_AA)


def wall(
    openings: tuple[tuple[float, ...], ...],
    doorway: tuple[float, ...] | None = None,
    plinth: float = 0.42,
    seed: int = 0,
) -> Paint:
    """Plaster, over a stone plinth if it has a height, with windows and perhaps a door."""

    def paint(w: int, h: int) -> Texture:
        texture = plain(CREAM, 0.02, seed)(w, h)
        if foot := round(plinth * DENSITY):
            texture[-foot:] = courses(STONE, (0.42, 0.21), 0.35, 0.07, seed=seed)(w, foot)
        for u, v, wide, high in openings:
            window(texture, u, v, wide, high)
        if doorway:
            door(texture, *doorway)
        return texture

    return paint


def foliage(centre: tuple[float, ...], radius: float, colour: tuple[float, ...], seed: int) -> list[Face]:
    """A faceted ball of leaves: jittered points on a sphere and their convex hull."""
    rng = np.random.default_rng(seed)
    k = np.arange(24) + 0.5
    polar, turn = np.arccos(1 - 2 * k / 24), np.pi * (1 + 5**0.5) * k
    points = np.column_stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)])
    points = np.array(centre) + radius * points * rng.uniform(0.88, 1.08, (24, 1))
    faces = []
    for triangle in points[hull(points)]:
        shade = tuple(np.array(colour) * rng.normal(1, 0.05))
        faces.append(face(triangle, plain(shade, 0.02)))
    return faces


# Scene ---------------------------------------------------------------------------------------------------------------

FRONT = ((0.72, 1.0, 0.8, 1.15), (4.48, 1.0, 0.8, 1.15))  # windows: u, v, width, height
SIDE = ((0.75, 1.0, 0.8, 1.15), (2.85, 1.0, 0.8, 1.15), (1.8, 2.95, 0.8, 0.9))
DOOR = (2.5, 0.18, 1.0, 2.0)
DORMER = (0.28, 0.38, 0.74, 0.56)


@dataclass(frozen=True, eq=False)
class Landmark:
    """A named surface point, and a direction in which there is only air."""

    name: str
    at: Array
    out: Array


@dataclass(frozen=True, eq=False)
class Scene:
    """What has been built so far."""

    faces: list[Face] = field(default_factory=list)
    landmarks: list[Landmark] = field(default_factory=list)

    def add(self, *solids: list[Face]) -> None:
        for solid in solids:
            self.faces.extend(solid)

    def mark(self, name: str, at: Array | tuple[float, ...], out: Array) -> None:
        self.landmarks.append(Landmark(name, np.asarray(at, float), out / np.linalg.norm(out)))

    def mark_box(self, name: str, on: Face, box: tuple[float, ...], out: float = 0.0) -> None:
        """The four corners of a rectangle (u, v, width, height) on a face, or so far above it."""
        u, v, w, h = box
        for row, y in (("bottom", v), ("top", v + h)):
            for side, x in (("left", u), ("right", u + w)):
                self.mark(f"{name}, {row} {side}", on.at(x, y, out), on.normal)


def ring(radius: float, sides: int) -> Array:
    turn = 2 * np.pi * np.arange(sides) / sides
    return radius * np.column_stack([np.cos(turn), np.sin(turn)])


def gable(half: float, low: float, high: float, overhang: float, thick: float) -> list[tuple[float, float]]:
    """The section of a gabled roof: its underside from left to right, then its outside back."""
    slope = (high - low) / half
    edge, drop, rise = half + overhang, overhang * slope, thick * np.hypot(1, slope)
    inner = [(-edge, low - drop), (0.0, high), (edge, low - drop)]
    return inner + [(x, z + rise) for x, z in inner[::-1]]


def roof(section: list[tuple[float, float]], a: Array, start: Array, length: float) -> list[Face]:
    """A gabled roof with white boards and two tiled slopes."""
    board, tiles = plain(WHITE, 0.02), courses(TILE, (0.22, 0.2), 0.25, 0.09, lip=0.35, seed=1)
    return extrude(section, a, Z, start, length, *[board] * 5, tiles, tiles, board)


def build_house(made: Scene) -> None:
    # Walls: a pentagon swept along x; after both ends its sides are floor, back, two under the roof, front.
    pentagon = [(-DEPTH, 0.0), (DEPTH, 0.0), (DEPTH, EAVES), (0.0, RIDGE), (-DEPTH, EAVES)]
    side, bare, front = wall(SIDE, seed=6), wall((), seed=8), wall(FRONT, DOOR, seed=7)
    walls = extrude(pentagon, Y, Z, -WIDTH * X, 2 * WIDTH, side, side, *[bare] * 4, front)
    walls_with_windows = (("left", walls[0], SIDE), ("right", walls[1], SIDE), ("front", walls[6], FRONT))
    made.add([walls[0], walls[1], walls[3], walls[6]])
    white, louvres = plain(WHITE, 0.02), courses(TEAL, (9.0, 0.09), 0.3, 0.03, lip=0.25)
    for name, on, openings in walls_with_windows:
        for number, (u, v, w, h) in enumerate(openings, 1):
            made.add(slab(on, (u - 0.08, v - 0.1, u + w + 0.08, v), 0.14, white))
            made.add(slab(on, (u - 0.4, v, u - 0.04, v + h), 0.05, louvres))
            made.add(slab(on, (u + w + 0.04, v, u + w + 0.4, v + h), 0.05, louvres))
            made.mark_box(f"{name} window {number}", on, (u, v, w, h))
    for number, (u, v, w, h) in enumerate(FRONT, 1):
        made.mark_box(f"front shutters {number}", walls[6], (u - 0.4, v, w + 0.8, h), 0.05)
    made.mark_box("door", walls[6], DOOR)

    section, over = gable(DEPTH, EAVES, RIDGE, 0.42, 0.13), WIDTH + 0.32
    made.add(roof(section, Y, -over * X, 2 * over))
    for name, x in (("left", -over), ("right", over)):
        out, (edge, low), (_, high) = np.sign(x) * X, section[3], section[4]
        made.mark(f"ridge, {name}", (x, 0, high), out + Z)
        made.mark(f"front eaves, {name}", (x, -edge, low), out - Y + Z)
        made.mark(f"back eaves, {name}", (x, edge, low), out + Y + Z)

    # The dormer and the canopy over the door: swept towards the front (X × Z = −Y).
    foot, deep = np.array([0.0, -1.75, 3.05]), 1.75
    body = [(-0.65, 0.0), (0.65, 0.0), (0.65, 0.95), (0.0, 1.5), (-0.65, 0.95)]
    dormer = extrude(body, X, Z, foot + deep * Y, deep, white, wall((DORMER,), plinth=0, seed=9), plain(CREAM))
    made.add(dormer[1:])
    made.mark_box("dormer window", dormer[1], DORMER)
    lintel = np.array([0.0, -DEPTH, 2.28])
    for name, section, start, length in (
        ("dormer", gable(0.65, 0.95, 1.5, 0.16, 0.08), foot + deep * Y, deep + 0.18),
        ("canopy", gable(0.62, 0.0, 0.42, 0.16, 0.07), lintel, 0.7),
    ):
        made.add(roof(section, X, start, length))
        for corner, (x, z) in zip(("right eaves", "ridge", "left eaves"), section[3:], strict=True):
            made.mark(f"{name}, {corner}", start + x * X - length * Y + z * Z, Z - Y + np.sign(x) * X)

    made.add(
        block((1.45, -0.2, 4.0), (2.0, 0.35, 5.75), courses(BRICK, (0.2, 0.1), -0.25, 0.08, seed=2)),
        block((1.38, -0.27, 5.75), (2.07, 0.42, 5.9), plain(STONE)),
        block((1.58, -0.07, 5.9), (1.87, 0.22, 6.1), plain(TILE)),
    )
    for name, x in (("left", 1.38), ("right", 2.07)):
        for row, y in (("front", -0.27), ("back", 0.42)):
            made.mark(f"chimney, {row} {name}", (x, y, 5.9), np.array([x - 1.725, y - 0.075, 0.4]))


def build_garden(made: Scene) -> None:
    rim, leaves = courses(WOOD, (0.6, 1.0), 0.3, 0.06, seed=3), plain(LEAF, 0.14, 10)
    ground = -PLATE_HEIGHT * Z
    made.add(extrude(ring(PLATE, 48), X, Y, ground, PLATE_HEIGHT, rim, plain(GRASS, 0.06, 4), rim)[1:])
    made.add(
        block((-0.6, -5.0, 0), (0.6, -DEPTH - 0.6, 0.03), courses(SAND, (0.4, 0.3), 0.3, 0.06, seed=5)),
        block((-0.75, -DEPTH - 0.6, 0), (0.75, -DEPTH, 0.09), plain(STONE)),
        block((-0.65, -DEPTH - 0.3, 0), (0.65, -DEPTH, 0.18), plain(STONE)),
        extrude(ring(0.16, 6), X, Y, np.array([-3.7, 2.55, 0]), 1.6, plain(WOOD))[2:],
        foliage((-3.7, 2.55, 2.5), 1.15, TREE, 11),
        foliage((-3.65, 2.5, 3.6), 0.8, TREE, 12),
        foliage((3.85, -2.35, 0.5), 0.55, LEAF, 13),
        foliage((4.25, -1.75, 0.36), 0.4, TREE, 14),
    )
    for name, x in (("left", -1), ("right", 1)):
        hedge = np.sort([1.15 * x, 2.85 * x])
        made.add(block((hedge[0], -DEPTH - 0.62, 0), (hedge[1], -DEPTH - 0.2, 0.5), leaves))
        made.mark(f"hedge, {name}", (2.85 * x, -DEPTH - 0.62, 0.5), Z - Y + x * X)
        made.mark(f"path, {name}", (0.6 * x, -5.0, 0.03), Z - Y + x * X)
        made.mark(f"step, {name}", (0.75 * x, -DEPTH - 0.6, 0.09), Z - Y + x * X)


@lru_cache(maxsize=1)
def scene() -> tuple[Mesh, tuple[Landmark, ...]]:
    """The house and its garden, and the landmarks, so ordered that the first N are spread over the scene."""
    made = Scene()
    build_garden(made)
    build_house(made)
    at = np.stack([mark.at for mark in made.landmarks])
    apart = np.linalg.norm(at[:, None] - at, axis=2)
    order = [0]
    while len(order) < len(at):  # next comes the landmark that is farthest from all before it
        order.append(int(apart[order].min(axis=0).argmax()))
    return Mesh(tuple(made.faces)), tuple(made.landmarks[i] for i in order)


# Views ---------------------------------------------------------------------------------------------------------------


def camera(view: int, scale: float = 1.0) -> tuple[Array, Array]:
    """The 3 × 4 projection matrix of a view and its eye; pixel centres are whole numbers, row 3 gives the depth."""
    turn = np.radians(view - VIEWS // 2)
    back = np.array([np.cos(ELEVATION) * np.sin(turn), -np.cos(ELEVATION) * np.cos(turn), np.sin(ELEVATION)])
    eye, right = TARGET + DISTANCE * back, np.array([np.cos(turn), np.sin(turn), 0.0])
    turned = np.stack([right, np.cross(right, back), -back])  # right, down, ahead
    (w, h), focal = FRAME, FOCAL * scale
    lens = np.array([[focal, 0, (w * scale - 1) / 2], [0, focal, (h * scale - 1) / 2], [0, 0, 1]])
    return lens @ np.column_stack([turned, -turned @ eye]), eye


@lru_cache(maxsize=VIEWS)
def positions(view: int) -> tuple[Array, NDArray[np.bool_]]:
    """Pixel positions of all landmarks in a view, and which of them it sees."""
    mesh, marks = scene()
    matrix, eye = camera(view)
    at = np.stack([mark.at for mark in marks])
    seen = at @ matrix[:, :3].T + matrix[:, 3]
    before = at + 0.01 * np.stack([mark.out for mark in marks])  # off its own surface
    return seen[:, :2] / seen[:, 2:], ~mesh.hides(before, eye)


def lights() -> Iterator[Light]:
    """A sun of some width, for soft edges, and a dome of sky."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        sun = np.array(SUN) + rng.normal(0, 0.02, 3)
        yield sun / np.linalg.norm(sun), np.array(SUN_COLOUR) / 6
    count = 18
    for k in range(count):
        high, turn = (k + 0.5) / count, np.pi * (1 + 5**0.5) * k
        flat = np.sqrt(1 - high**2)
        yield np.array([flat * np.cos(turn), flat * np.sin(turn), high]), np.array(SKY_COLOUR) / count


@lru_cache(maxsize=1)
def lit() -> tuple[list[Texture], Face, Texture]:
    """The light on every face, the table, and how much the scene darkens it."""
    mesh, _ = scene()
    square = TABLE * np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    table = face(square @ np.stack([X, Y]) - PLATE_HEIGHT * Z, plain(WHITE))
    densities = [*[LIGHT_DENSITY] * len(mesh.faces), TABLE_DENSITY]
    *shine, ground = light(mesh, [*mesh.faces, table], densities, lights())
    in_the_open = DIM + sum(colour * max(towards[2], 0) for towards, colour in lights())
    shadow = np.clip(ground / single(in_the_open), 0, 1) ** (1 / GAMMA)
    line = np.linspace(-1, 1, len(shadow))
    fade = np.clip(2.5 * np.hypot(line, line[:, None]) - 1.4, 0, 1)[..., None]  # no edge where the table ends
    return shine, table, single(shadow * (1 - fade) + fade)


@cache
def texture(number: int) -> NDArray[np.uint8]:
    """A face's paint with light and shadow in it."""
    return bake(scene()[0].faces[number], lit()[0][number], DENSITY)


def render(view: int) -> tuple[NDArray[np.uint8], Array]:
    """The picture of a view, and the depth of each pixel of its finer drawing."""
    matrix, eye = camera(view, SMOOTH)
    _, table, shadow = lit()
    w, h = FRAME[0] * SMOOTH, FRAME[1] * SMOOTH
    glow = np.linspace(0, 1, h, dtype=np.float32)[:, None, None]
    backdrop = (1 - glow) * single((0.86, 0.89, 0.93)) + glow * single((0.94, 0.93, 0.91))
    screen = matrix[:, :3] @ np.column_stack([table.u, table.v, table.origin])
    screen[:, 2] += matrix[:, 3]
    backdrop = backdrop * warp(shadow, table.extent, screen, (slice(0, h), slice(0, w)), 1.0)
    canvas = np.round(255 * backdrop).astype(np.uint8)
    depth = draw(scene()[0], texture, matrix, eye, canvas)
    return cv2.resize(canvas, FRAME, interpolation=cv2.INTER_AREA), depth


@lru_cache(maxsize=VIEWS)
def picture(view: int) -> Image:
    """The image of a view; those that the app opens with were drawn before, which saves the first visitor a second."""
    drawn = DRAWN / f"{view}.webp"
    return decode(drawn.read_bytes()) if drawn.exists() else from_array(render(view)[0])


def load(*, images: bool, left: int, right: int, points: int, landmarks: str, noise: float, seed: int) -> Pair:
    """The landmarks that each view sees; one that the other view does not see has no partner."""
    rng = np.random.default_rng([seed, 3])
    (xy1, seen1), (xy2, seen2) = positions(left), positions(right)
    if landmarks == BOTH:
        seen1 = seen2 = seen1 & seen2
    views = []
    for view, xy, seen in ((left, xy1, seen1), (right, xy2, seen2)):
        names = tuple(mark.name for mark, there in zip(scene()[1], seen, strict=True) if there)
        spots = xy[seen] + rng.normal(0, noise, (int(seen.sum()), 2))
        views.append(View(picture(view) if images else None, Keypoints(spots, None, None, None, names)))
    place = np.where(seen2, np.cumsum(seen2) - 1, -1)
    return Pair(views[0], views[1], place[seen1], f"Turntable, views {left} and {right}").first(points)


BOTH, EACH = "seen in both views", "seen in each view"
TURNTABLE = Dataset(
    key="turntable",
    label="Turntable",
    description="A little house that we draw ourselves from 91 sides, with landmarks that are exact and may be hidden.",
    builtin=True,
    parameters=(
        Parameter("left", "Left view", "int", 20, "On the turntable; 45 is the front.", 0, VIEWS - 1, unit="°"),
        Parameter("right", "Right view", "int", 65, "The farther from the left, the harder.", 0, VIEWS - 1, unit="°"),
        Parameter("points", "Left points", "int", 64, "The first so many that the left view has.", 1, 64),
        Parameter(
            "landmarks",
            "Landmarks",
            "choice",
            EACH,
            "Landmarks that only one view sees have no partner; leave them out with the other choice.",
            choices=(EACH, BOTH),
        ),
        Parameter("noise", "Noise", "float", 0.0, "Standard deviation of the positions.", 0, 20, unit="px"),
        seed_parameter("Another seed, other noise and another order of the right points"),
    ),
    make=load,
    count=VIEWS,
    unit="views",
)
