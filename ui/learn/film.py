"""The run of a chapter as moving pictures: GIF or video."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from features.explain import lessons
from features.explain.planar import HEIGHT, WIDTH, Moment, Point, Scene
from features.plots import animation
from features.plots.theme import BLUE, FAINT, INK, VERMILION
from ui.learn.chapter import Chapter, Values

UNIT, HEAD, SPOT = 80, 44, 9  # pixels: of one unit of the plane, above it, and of a point
PURPLE = "#8C4A86"
KINDS = {"gif": "Run (GIF)", "webm": "Run (WebM)"}


def made(chapter: Chapter, values: Values, kind: str) -> bytes:
    """The run with these values as a file."""
    frames = chapter.film(values) if chapter.film else of_problem(chapter, values)
    return animation.gif(frames) if kind == "gif" else animation.video(frames, kind)


def of_problem(chapter: Chapter, values: Values) -> list[animation.Pixels]:
    """The relaxed assignment, iteration by iteration, over the points of a chapter's problem."""
    assert chapter.recipe is not None
    recipe = chapter.recipe(values)
    pair = chapter.brings(values) if chapter.brings else lessons.pair_of(recipe)
    problem = recipe.problem(pair) if chapter.brings else lessons.problem_of(recipe)
    problem, method = lessons.as_run(problem, recipe.method_object())
    return animation.of_run(pair, problem, method, lessons.run(problem, recipe.method_object()))


def of_plane(scene: Scene, places: Sequence[Point], rho: float, moments: Sequence[Moment]) -> list[animation.Pixels]:
    """Two points on their way through the plane."""
    chosen = np.unique(np.linspace(0, len(moments) - 1, animation.FRAMES).astype(int)).tolist()
    return [np.asarray(_frame(scene, places, rho, moments[: k + 1])) for k in chosen]


def _frame(scene: Scene, places: Sequence[Point], rho: float, moments: Sequence[Moment]) -> Image.Image:
    sheet = Image.new("RGB", (round(UNIT * WIDTH), round(UNIT * HEIGHT) + HEAD), "white")
    draw = ImageDraw.Draw(sheet, "RGBA")

    def at(point: Sequence[float]) -> tuple[float, float]:
        return UNIT * point[0], HEAD + UNIT * (HEIGHT - point[1])

    for shape, place, colour in zip(scene.shapes, places, (BLUE, VERMILION), strict=False):
        look: dict[str, Any] = {"fill": (*animation.rgb(colour), 50), "outline": colour, "width": 3}
        for part in shape:
            corners = [at((place[0] + x, place[1] + y)) for x, y in part.corners]
            if part.radius:
                draw.circle(corners[0], UNIT * part.radius, **look)
            elif len(corners) > 2:
                draw.polygon(corners, **look)
            else:
                draw.line(corners, fill=colour, width=4)
    for way, colour in (([one.one for one in moments], BLUE), ([one.two for one in moments], VERMILION)):
        for a, b in pairwise(way[1:]):
            draw.line((at(a), at(b)), fill=colour, width=2)
    now = moments[-1]
    (x1, y1), (x2, y2) = at(now.one), at(now.two)
    draw.line((x1, y1, x2, y2), fill=FAINT, width=2)
    long = float(np.hypot(*now.multiplier))
    grown = UNIT * min(1.0, 2 / max(long, 1e-9))  # long arrows are drawn shorter, as on the page
    for (x, y), sign in (((x2, y2), 1), ((x1, y1), -1)):
        draw.line((x, y, x + sign * grown * now.multiplier[0], y - sign * grown * now.multiplier[1]), PURPLE, 4)
    draw.circle((x1, y1), SPOT, fill=BLUE, outline="white", width=2)
    draw.circle((x2, y2), SPOT, fill=VERMILION, outline="white", width=2)
    told = f"iteration {len(moments) - 1}, penalty {rho:g}: the points are {now.gap**0.5:.3f} apart"
    draw.text((10, 10), told, fill=INK, font=ImageFont.load_default(22))
    return sheet
