"""Point files and truth files: CSV, JSON, NPZ, MATLAB v5 and plain text in, CSV out.

The first bytes tell what a file is, its name is a title for messages. Nothing opens a path or a pickle, and everything
that could be large is counted before it is parsed.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from reprlib import repr as brief  # bounded in length and depth, whatever a file holds
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.files import npz
from features.files.matlab import BYTE_ORDER, read_matlab
from features.files.npz import Arrays
from features.limits import LIMITS
from features.points.images import shown
from features.points.keypoints import Keypoints
from features.tables import csv_lines, unguarded

MAX_SENTENCE = 500  # characters of an error
FARTHEST = 1e7  # pixels; a coordinate beyond this is a mistake, and its square would drown all others
SILENT = 10  # times as many lines as points, empty ones and comments among them
COLUMNS = ("angle", "size", "strength")  # what a point may carry besides x, y and its label
CONTOUR_FEATURES = 75  # columns of a feature matrix in the Cars and Motorbikes files
POINT_NAMES = ("xy", "points", "keypoints", "pts", "features", "features1", "features2")  # in order of preference
ARRAY_NAMES = {"angle": "angle", "size": "diameter", "strength": "strength"}  # `size` would hide MATLAB's function
SIDES = ("left", "right")

Columns = dict[str, list[Any]]


class FileError(ValueError):
    """A file that cannot be used, and why, in a sentence for its owner, however much of the file it would quote."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence if len(sentence) <= MAX_SENTENCE else f"{sentence[: MAX_SENTENCE - 1]}…")


class PointFileError(FileError):
    """A point or truth file that cannot be used, and where it goes wrong."""


def read_points(data: bytes, name: str = "points") -> Keypoints:
    """Points in the pixels the file speaks of; `.scaled(image.scale)` brings them onto a working image."""
    try:
        _refuse_size(data)
        if data[:4] in npz.MAGIC:
            return _from_arrays(npz.read_arrays(data, LIMITS.unpacked_bytes))
        if data[:4] == b"\x89HDF" or data[:10] == b"MATLAB 7.3":
            raise PointFileError("this is a MATLAB 7.3 file; please save it with the option -v7.")
        if data[124:128] in BYTE_ORDER:
            return _from_arrays(read_matlab(data))
        return _read_json(data) if _is_json(data) else _read_text(data)
    except ValueError as error:  # ours, or what Keypoints has to say about the content
        raise PointFileError(f"{shown(name)}: {error}") from error


def write_points(points: Keypoints, *, scale: float = 1.0) -> bytes:
    """The points as CSV; `scale=image.scale` writes them in the pixels of the original image."""
    placed = points.scaled(1 / scale) if scale != 1 else points
    table: dict[str, list[Any]] = {"x": placed.xy[:, 0].tolist(), "y": placed.xy[:, 1].tolist()}
    table |= {key: values.tolist() for key in COLUMNS if (values := getattr(placed, key)) is not None}
    table |= {} if placed.labels is None else {"label": list(placed.labels)}
    return csv_lines([list(table), *zip(*table.values(), strict=True)]).encode()


def outside(points: Keypoints, size: tuple[int, int]) -> NDArray[np.int64]:
    """Indices of the points that no pixel of a (width, height) image holds.

    Pixel centres may lie at whole numbers (−½ … w−½) or at halves (0 … w): both conventions are let in.
    """
    return np.flatnonzero(((points.xy < -0.5) | (points.xy > np.array(size))).any(axis=1))


def read_truth(data: bytes, name: str, shape: tuple[int, int]) -> NDArray[np.int64]:
    """truth[left] = right, −1 for a point without partner; `shape` counts the points of both sides.

    The file holds pairs `left,right`, or one number per left point; all counted from 0.
    """
    try:
        _refuse_size(data)
        return _truth(list(_limited(_truth_rows(data))), shape)
    except ValueError as error:
        raise PointFileError(f"{shown(name)}: {error}") from error


def write_truth(truth: Sequence[int] | NDArray[np.int64]) -> bytes:
    """The pairs of a truth as CSV; points without partner are left out."""
    return "".join(["left,right\n", *(f"{i},{j}\n" for i, j in enumerate(truth) if j >= 0)]).encode()


def _refuse_size(data: bytes) -> None:
    if len(data) > LIMITS.point_bytes:
        raise PointFileError(
            f"the file has {len(data) / 1e6:.1f} MB; at most {LIMITS.point_bytes / 1e6:.0f} MB are accepted."
        )
    if not data.strip():
        raise PointFileError("the file is empty.")


def _text(data: bytes) -> str:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise PointFileError("this is neither text (CSV, JSON, one “x y” per line) nor an NPZ or MATLAB v5 file.")
    return text


def _rows(data: bytes) -> Iterator[tuple[str, list[str]]]:
    """("line 7", cells) of every line with content, parted by commas, semicolons, tabs or blanks.

    The first such line decides which; lines before it that start with # are comments.
    """
    mark, begun = None, False
    for number, line in enumerate(io.StringIO(_text(data), newline=None), 1):
        if len(line) > LIMITS.line_letters:  # before ten million cells of one line fill the memory
            raise PointFileError(
                f"line {number} has {len(line)} characters; at most {LIMITS.line_letters} are accepted."
            )
        if number > SILENT * LIMITS.points:
            raise PointFileError(f"there are more than {SILENT * LIMITS.points} lines; that is the most accepted.")
        if not line.strip() or (not begun and line.lstrip().startswith("#")):
            continue
        if not begun:
            mark, begun = next((mark for mark in ",;\t" if mark in line), None), True
        try:  # labels hold no line breaks, so every line is a record of its own
            quoted = mark is not None and '"' in line
            cells = next(csv.reader([line], delimiter=str(mark), strict=True)) if quoted else line.split(mark)
        except csv.Error as error:
            raise PointFileError(f"line {number} is not a line of CSV: {error}.") from error
        if len(cells) > LIMITS.line_cells:
            raise PointFileError(f"line {number} has {len(cells)} columns; at most {LIMITS.line_cells} are accepted.")
        yield f"line {number}", [cell.strip() for cell in cells]


def _limited(items: Iterable[Any], besides: int = 0) -> Iterator[Any]:
    for count, item in enumerate(items):
        if count >= LIMITS.points + besides:
            raise PointFileError(f"there are more than {LIMITS.points} entries; that is the most accepted.")
        yield item


def _read_text(data: bytes) -> Keypoints:
    rows = list(_limited(_rows(data), 1))
    if not rows:
        raise PointFileError("the file holds no points, only comments.")
    header = [cell.lower() for cell in rows[0][1]]
    if not {"x", "y"} & set(header):
        header = ["x", "y", "label"][: max(2, len(header))]
    elif missing := {"x", "y"} - set(header):
        raise PointFileError(f"the header names {_some(header)}, but there is no column {missing.pop()!r}.")
    else:
        del rows[0]
    columns: Columns = {key: [] for key in ("x", "y", *COLUMNS, "label") if key in header}
    for where, cells in _limited(rows):
        if len(cells) != len(header):
            raise PointFileError(f"{where} has {len(cells)} columns, expected {len(header)}: {_some(header)}.")
        _append(columns, dict(zip(header, map(unguarded, cells), strict=True)), where)
    return _keypoints(columns)


def _some(names: Sequence[str]) -> str:
    """The first of them, for a message."""
    return ", ".join(name[:30] for name in names[:8]) + (" …" if len(names) > 8 else "")


def _append(columns: Columns, point: dict[str, Any], where: str) -> None:
    for key, column in columns.items():
        if not isinstance(point[key], str | int | float):
            raise PointFileError(f"{where}: {key} is {brief(point[key])}, expected a number or text.")
        column.append(str(point[key]) if key == "label" else _number(point[key], key, where))


def _number(cell: str | float, key: str, where: str) -> float:
    """A finite number from a cell of text or a JSON value; Python's own 1_000 and True do not count."""
    limit = math.inf if key == "strength" else FARTHEST
    try:
        value = math.nan if isinstance(cell, bool) or "_" in str(cell) else float(cell)
    except (ValueError, OverflowError):
        value = math.nan
    if math.isfinite(value) and abs(value) <= limit:
        return value
    raise PointFileError(f"{where}: {key} is {brief(cell)}, expected a finite number, at most {FARTHEST:.0e}.")


def _keypoints(columns: Columns) -> Keypoints:
    xy = np.array([columns["x"], columns["y"]], np.float64).T
    angle, size, strength = (np.array(columns[key]) if key in columns else None for key in COLUMNS)
    return Keypoints(xy, angle, size, strength, tuple(columns["label"]) if "label" in columns else None)


def _is_json(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")


def _json(data: bytes, *keys: str) -> list[Any]:
    """The list that the file is, or holds under one of the keys."""
    if sum(map(data.count, (b"[", b"{", b","))) > 10 * LIMITS.points:  # before a million small lists fill the memory
        raise PointFileError(f"there are more than {LIMITS.points} entries; that is the most accepted.")
    try:
        content = json.loads(_text(data))  # NaN and Infinity pass here, and meet _number later
    except json.JSONDecodeError as error:
        raise PointFileError(f"line {error.lineno}, column {error.colno}: not valid JSON ({error.msg}).") from error
    except RecursionError as error:
        raise PointFileError("the JSON is nested too deeply to be a list of points.") from error
    if isinstance(content, dict):
        found = next((key for key in keys if key in content), None)
        if found is None:
            raise PointFileError(f"the JSON object has no {' or '.join(keys)}; it has {brief(sorted(content)[:5])}.")
        content = content[found]
    if not isinstance(content, list):
        raise PointFileError(f"expected a list, found {brief(content)}.")
    return list(_limited(content))


def _read_json(data: bytes) -> Keypoints:
    points = _json(data, "points")
    keys = ["x", "y"]
    if points and isinstance(points[0], dict):
        keys += [key for key in (*COLUMNS, "label") if key in points[0]]
    columns: Columns = {key: [] for key in keys}
    for number, point in enumerate(points, 1):
        if isinstance(point, list) and len(point) == len(keys) == 2:
            point = dict(zip(keys, point, strict=True))
        if not isinstance(point, dict) or not columns.keys() <= point.keys():
            raise PointFileError(f"point {number} is {brief(point)}, expected {', '.join(keys)} as in the first point.")
        _append(columns, point, f"point {number}")
    return _keypoints(columns)


def _from_arrays(arrays: Arrays) -> Keypoints:
    key = _points_key({key: array.shape for key, array in arrays.items()})
    matrix = arrays[key]
    if matrix.dtype.kind not in "iuf":
        raise PointFileError(f"{key} is not a matrix of numbers, but of type {matrix.dtype}.")
    if len(matrix) > LIMITS.points:
        raise PointFileError(f"{key} has {len(matrix)} rows; at most {LIMITS.points} points are accepted.")
    wrong = np.flatnonzero(~(np.abs(matrix[:, :2].astype(np.float64)) <= FARTHEST).all(axis=1))  # NaN is wrong too
    for row in wrong[:1]:
        raise PointFileError(f"row {row + 1} of {key} is {matrix[row, :2].tolist()}, expected two finite numbers.")
    if matrix.shape[1] == CONTOUR_FEATURES:
        return contour_features(matrix)
    extras: dict[str, Any] = {
        column: arrays[stored].reshape(-1)
        for column, stored in ARRAY_NAMES.items()
        if stored in arrays and arrays[stored].size == len(matrix) and arrays[stored].dtype.kind in "iuf"
    }
    labels = arrays.get("labels", np.empty(0))
    if labels.dtype.kind == "U" and labels.shape == (len(matrix),):
        extras["labels"] = tuple(labels.tolist())
    return Keypoints(matrix[:, :2].astype(np.float64), **extras)


def _points_key(shapes: dict[str, tuple[int, ...]]) -> str:
    """The array that holds the points: one with a telling name, else the only n × 2 one."""
    listing = ", ".join(f"{key} {'×'.join(map(str, shape))}" for key, shape in list(shapes.items())[:12]) or "nothing"
    pairs = [key for key, shape in shapes.items() if len(shape) == 2 and shape[1] == 2]
    named = [key for name in POINT_NAMES for key in shapes if key.lower() == name]
    chosen = named[:1] or pairs
    if len(chosen) != 1:
        raise PointFileError(f"expected one n×2 matrix, or one named xy or points; the file holds {listing}.")
    shape = shapes[chosen[0]]
    wide = chosen[0].lower().startswith("features")  # x and y, then other measures
    if len(shape) != 2 or shape[1] < 2 or (shape[1] > 2 and not wide):
        raise PointFileError(f"{chosen[0]} is {'×'.join(map(str, shape))}, expected one row “x y” per point (n×2).")
    return chosen[0]


def contour_features(matrix: NDArray[Any]) -> Keypoints:
    """Points of the Cars and Motorbikes files: columns row, column (from 1) and, ninth, the contour's normal.

    Measured on all 100 sets: as (row, column) every point lies in its image and five of six on a marked edge pixel,
    as (x, y) 96 sets leave their image; and the ninth column is the gradient's direction up to sign.
    """
    tangent = matrix[:, 8] + np.pi / 2
    return Keypoints(matrix[:, 1::-1].astype(np.float64) - 1, np.arctan2(np.sin(tangent), np.cos(tangent)))


def _truth_rows(data: bytes) -> Iterator[tuple[str, list[Any]]]:
    """("line 7", [left, right]) or ("line 7", [right])."""
    if _is_json(data):
        for number, entry in enumerate(_json(data, "truth", "pairs"), 1):
            if isinstance(entry, dict) and entry.keys() >= {"left", "right"}:
                entry = [entry["left"], entry["right"]]
            yield f"entry {number}", entry if isinstance(entry, list) else [entry]
        return
    for number, (where, cells) in enumerate(_rows(data)):
        if number == 0 and all(cell.replace(" ", "").isalpha() for cell in cells):
            continue  # the header
        yield where, cells


def _truth(rows: list[tuple[str, list[Any]]], shape: tuple[int, int]) -> NDArray[np.int64]:
    width = len(rows[0][1]) if rows else 2
    if width not in (1, 2):
        raise PointFileError(f"{rows[0][0]} has {width} columns, expected “left,right” or one number per left point.")
    if width == 1 and len(rows) != shape[0]:
        raise PointFileError(f"there are {len(rows)} entries, but {shape[0]} left points; −1 stands for no partner.")
    truth = np.full(shape[0], -1, np.int64)
    seen: tuple[set[int], set[int]] = set(), set()
    for number, (where, cells) in enumerate(rows):
        if len(cells) != width:
            raise PointFileError(f"{where} has {len(cells)} columns, but the first entry has {width}.")
        left, right = (_index(cell, side, where, shape) for side, cell in enumerate([number, *cells][-2:]))
        for side, index in enumerate((left, right)):
            if index >= 0 and index in seen[side]:
                raise PointFileError(f"{where}: {SIDES[side]} point {index} already has a partner.")
            seen[side].add(index)
        truth[left] = right
    return truth


def _index(cell: Any, side: int, where: str, shape: tuple[int, int]) -> int:
    try:
        index = int(cell) if isinstance(cell, int | str) and not isinstance(cell, bool) and "_" not in str(cell) else -2
    except ValueError:
        index = -2
    if not -side <= index < shape[side]:  # −1 is a right side's word for “none”
        raise PointFileError(
            f"{where}: {SIDES[side]} is {brief(cell)}, but the {shape[side]} {SIDES[side]} points are numbered from 0 "
            f"to {shape[side] - 1}{', with −1 for none' if side else ''}."
        )
    return index
