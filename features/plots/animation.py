"""A run as moving pictures: the pair with the lines of each stored iteration, and the curves growing below it."""

import io
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from adgm import Problem, Result, iterate
from features.judge.metrics import kinds, matched_pairs
from features.pairs import Pair, View
from features.plots.theme import BLUE, FAINT, INK, KINDS, VERMILION

Pixels = NDArray[np.uint8]
Colour = tuple[int, int, int]
WIDTH, PICTURE, CURVES, LABEL = 960, 400, 110, 26  # pixels: of all, and the heights of its parts
SEAM = 4
FRAMES, SECOND, HOLD = 48, 10, 15  # pictures at most, of which so many a second; the last one so many times
VIDEOS = {"webm": "VP90", "mp4": "vp09"}  # by ending: how OpenCV calls VP9 there
PALETTE = 192  # colours of a GIF
STRENGTHS = (0.3, 0.6, 1.0)  # how opaque faint, middling and strong lines are
WEAKEST = 0.05  # relaxed values below are not drawn
FLOOR = 1e-9  # a logarithm needs one


@dataclass(frozen=True)
class Moment:
    """A stored iteration: its lines (left point, right point, strength from 0 to 1, colour) and its numbers."""

    name: str
    iteration: int
    lines: Sequence[tuple[int, int, float, str]]


def rgb(colour: str) -> Colour:
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))  # type: ignore[return-value]


def pictures(pair: Pair, moments: Sequence[Moment], history: dict[str, NDArray[np.float64]]) -> list[Pixels]:
    """A picture for some of the moments, the first and the last among them."""
    chosen = [moments[k] for k in np.unique(np.linspace(0, len(moments) - 1, FRAMES).astype(int))] if moments else []
    sheet, places = base(pair)
    last = max([1, *(one.iteration for one in chosen)])
    return [framed(drawn(sheet, places, one), one, history, last) for one in chosen]


def of_run(pair: Pair, problem: Problem, method: Any, result: Result[Any]) -> list[Pixels]:
    """The relaxed assignment on the way, and the matching in the end; `method` runs once more."""
    every = max(1, result.iterations // (FRAMES - 2))
    row, col = problem.layout.row, problem.layout.col
    moments: list[Moment] = []
    for state in iterate(method, problem, every=every):
        near = np.flatnonzero(state.x > WEAKEST)
        pairs = np.stack([row[near], col[near]], axis=1)
        lines = _coloured(pair, pairs, np.clip(state.x[near], 0, 1).tolist())
        moments.append(Moment(f"iteration {state.iteration}", state.iteration, lines))
    matched = matched_pairs(problem, result.assignment)
    last = _coloured(pair, matched, [1.0] * len(matched))
    moments.append(Moment("the matching", result.iterations, last))
    history: Mapping[str, NDArray[np.float64]] = result.history
    steps = np.arange(1.0, max(map(len, history.values()), default=0) + 1)
    return pictures(pair, moments, {**history, "iteration": steps})


def _coloured(
    pair: Pair, pairs: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]", values: list[float]
) -> list[tuple[int, int, float, str]]:
    named = [KINDS[kind].colour for kind in kinds(pair, pairs)] if pair.judged else [BLUE] * len(pairs)
    return [(i, j, value, colour) for (i, j), value, colour in zip(pairs.tolist(), values, named, strict=True)]


def base(pair: Pair) -> tuple[Pixels, list[NDArray[np.float64]]]:
    """Both images side by side, and where the points are on them."""
    half = (WIDTH - SEAM) // 2
    sheet = np.full((PICTURE, WIDTH, 3), 255, np.uint8)
    places = []
    for left, view in ((0, pair.left), (half + SEAM, pair.right)):
        scale, shift = _fitted(view, half)
        if view.image is not None:
            matrix = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]])
            sheet[:, left : left + half] = cv2.warpAffine(
                view.image.rgb, matrix, (half, PICTURE), flags=cv2.INTER_AREA, borderValue=(233, 237, 240)
            )
        places.append(view.points.xy * scale + shift + (left, 0))
    return sheet, places


def _fitted(view: View, width: int) -> tuple[float, NDArray[np.float64]]:
    """How large an image, or the points alone, are drawn in one half, and where."""
    if view.image is not None:
        low, size = np.zeros(2), np.array(view.image.size, float)
    else:
        xy = view.points.xy if len(view.points) else np.zeros((1, 2))
        low, size = (
            xy.min(axis=0) - 0.08 * np.ptp(xy, axis=0).max(),
            np.ptp(xy, axis=0) + 0.16 * np.ptp(xy, axis=0).max(),
        )
    room = np.array([width, PICTURE], float)
    scale = float((room / np.maximum(size, 1e-9)).min())
    return scale, (room - size * scale) / 2 - low * scale


def drawn(sheet: Pixels, places: Sequence[NDArray[np.float64]], moment: Moment) -> Pixels:
    """The lines over the images, faint ones first, then the points."""
    found = sheet.copy()
    ends = [np.rint(xy).astype(int) for xy in places]
    for low, high in zip((0.0, *STRENGTHS[:-1]), STRENGTHS, strict=True):
        some = [line for line in moment.lines if low < line[2] <= high or (line[2] <= 0 and low == 0)]
        over = found.copy()
        for i, j, strength, colour in some:
            thick = 2 if strength > STRENGTHS[1] and len(moment.lines) < 80 else 1
            cv2.line(over, tuple(ends[0][i].tolist()), tuple(ends[1][j].tolist()), rgb(colour), thick, cv2.LINE_AA)
        if some:
            found = cv2.addWeighted(over, high, found, 1 - high, 0)  # type: ignore[assignment]
    radius = 3 if max(map(len, ends)) < 150 else 2
    for xy in ends:
        for x, y in xy.tolist():
            cv2.circle(found, (x, y), radius + 1, (255, 255, 255), -1, cv2.LINE_AA)
            cv2.circle(found, (x, y), radius, rgb(INK), -1, cv2.LINE_AA)
    return found


def framed(picture: Pixels, moment: Moment, history: dict[str, NDArray[np.float64]], last: int) -> Pixels:
    """The picture with its name above and its curves below."""
    found = np.full((LABEL + PICTURE + CURVES, WIDTH, 3), 255, np.uint8)
    found[LABEL : LABEL + PICTURE] = picture
    half = WIDTH // 2
    for left, name, colour, logarithmic in ((0, "residual", BLUE, True), (half, "energy", VERMILION, False)):
        _curve(
            found[LABEL + PICTURE :, left : left + half],
            history,
            name,
            (moment.iteration, last),
            rgb(colour),
            logarithmic,
        )
    image = Pillow.fromarray(found)
    write, font = ImageDraw.Draw(image), ImageFont.load_default(15)
    write.text((8, 4), moment.name, fill=INK, font=font)
    for left, words in ((8, "disagreement (residual)"), (half + 8, "energy of the soft answer")):
        write.text((left, LABEL + PICTURE + 2), words, fill=FAINT, font=ImageFont.load_default(12))
    return np.asarray(image)


def _curve(
    area: Pixels,
    history: dict[str, NDArray[np.float64]],
    name: str,
    span: tuple[int, int],
    colour: Colour,
    logarithmic: bool,
) -> None:
    """One curve up to an iteration, in a part of the picture, on an axis that holds all of it."""
    if name not in history:
        return
    x, y = np.asarray(history["iteration"], float), np.asarray(history[name], float)
    fine = np.isfinite(y)
    x, y = x[fine], np.log10(np.maximum(y[fine], FLOOR)) if logarithmic else y[fine]
    if not len(x):
        return
    height, width = area.shape[:2]
    now, last = span
    low, spread = y.min(), max(float(np.ptp(y)), 1e-12)
    places = np.stack([12 + x / last * (width - 24), height - 8 - (y - low) / spread * (height - 30)], axis=1)
    there = np.rint(places[x <= now]).astype(np.int32)
    cv2.polylines(area, [there.reshape(-1, 1, 2)], False, colour, 2, cv2.LINE_AA)
    if len(there):
        cv2.circle(area, tuple(there[-1].tolist()), 4, colour, -1, cv2.LINE_AA)


def gif(frames: Sequence[Pixels], width: int = WIDTH) -> bytes:
    """The frames as a GIF of one palette, so that nothing flickers; the last one is held."""
    images = [Pillow.fromarray(frame) for frame in frames]
    height = round(width * images[0].height / images[0].width)
    small = [one.resize((width, height), Pillow.Resampling.LANCZOS) for one in images]
    sheet = Pillow.new("RGB", (width, 2 * height))
    sheet.paste(small[len(small) // 2], (0, 0))
    sheet.paste(small[-1], (0, height))
    palette = sheet.quantize(PALETTE, dither=Pillow.Dither.NONE)
    told = [frame.quantize(PALETTE, palette=palette, dither=Pillow.Dither.NONE) for frame in small]
    out = io.BytesIO()
    durations = [1000 // SECOND] * (len(told) - 1) + [HOLD * 1000 // SECOND]
    told[0].save(out, "GIF", save_all=True, append_images=told[1:], duration=durations, loop=0, optimize=True)
    return out.getvalue()


def video(frames: Sequence[Pixels], kind: str = "webm") -> bytes:
    """The frames as a video, WebM or MP4, in VP9, which browsers play; the last one is held."""
    height, width = (side // 2 * 2 for side in frames[0].shape[:2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"run.{kind}")
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*VIDEOS[kind]), SECOND, (width, height))
        if not writer.isOpened():
            raise ValueError("OpenCV cannot write such a video on this machine; take the GIF.")
        for frame in [*frames, *[frames[-1]] * (HOLD - 1)]:
            writer.write(np.ascontiguousarray(frame[:height, :width, ::-1]))
        writer.release()
        return path.read_bytes()
