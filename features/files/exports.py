"""What a user takes away: matches, keypoints, history, everything in one file, and a pair as a zip to open again.

Coordinates are in the pixels of the original images, whatever size was worked at; only the zip of a pair, which
carries the working images themselves, has its points in theirs.
"""

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image as Pillow

from features.files.npz import zip_entries
from features.files.point_files import FileError, read_points, read_truth, write_points, write_truth
from features.files.problem_files import ProblemFile, read_problem, write_problem
from features.judge.metrics import kinds
from features.judge.verification import Map
from features.limits import LIMITS
from features.matching import Matching
from features.pairs import SIDES, TOLERANCE, Pair, View
from features.points.images import Image, decode, shown
from features.points.keypoints import Keypoints
from features.recipe import PAIR_FILE, Recipe
from features.tables import csv_lines

MANIFEST = "pair.json"
RECIPES = ("recipe.json", "setup.json")  # what a recipe's file is called, and used to be
GIVEN = "problem.npz"  # that comes with the pair
FILES = (MANIFEST, "truth.csv", GIVEN, *RECIPES, *(f"{side}{kind}" for side in SIDES for kind in (".png", ".csv")))
MAX_ZIP = 2 * LIMITS.image_bytes + 4_000_000
VERSION = 1


class PairFileError(FileError):
    """A zip file that is not a saved pair, and why."""


# ---- matches -----------------------------------------------------------------------------------------------------


def match_rows(found: Matching) -> list[dict[str, Any]]:
    """One row for each match, in original pixels; what a map added has no share of the energy and comes last."""
    pair, checked = found.pair, found.verification
    pairs, explained = found.pairs, None
    if checked is not None:
        pairs = np.concatenate([found.pairs, checked.added])
        explained = [*checked.explained, *["plane"] * len(checked.added)]
    left, right = (original(view).xy for view in (pair.left, pair.right))
    judged = kinds(pair, pairs) if pair.judged else None
    rows = []
    for k, (i, j) in enumerate(pairs.tolist()):
        row: dict[str, Any] = {"left": i, "right": j}
        row |= {"left_x": float(left[i, 0]), "left_y": float(left[i, 1])}
        row |= {"right_x": float(right[j, 0]), "right_y": float(right[j, 1])}
        for side, view, at in zip(SIDES, (pair.left, pair.right), (i, j), strict=True):
            row |= {} if view.points.labels is None else {f"{side}_label": view.points.labels[at]}
        ours = k < len(found.pairs)
        row |= {"relaxed": float(found.relaxed[k]) if ours else 0.0}
        row |= {"energy_share": found.shares.get((i, j), 0.0) if ours else 0.0}
        if found.confidence is not None:
            row["confidence"] = float(found.confidence[k]) if ours else 0.5
        if explained is not None:
            row |= {"verified": int(explained[k] != "neither"), "explained_by": explained[k]}
        row |= {} if judged is None else {"correct": judged[k] == "correct", "kind": judged[k]}
        rows.append(row)
    return rows


def match_columns(found: Matching) -> list[str]:
    """The names of a row's values, also where there is no row."""
    views = found.pair.left, found.pair.right
    labels = [f"{side}_label" for side, view in zip(SIDES, views, strict=True) if view.points.labels is not None]
    names = ["left", "right", "left_x", "left_y", "right_x", "right_y", *labels, "relaxed", "energy_share"]
    names += ["confidence"] if found.confidence is not None else []
    names += ["verified", "explained_by"] if found.recipe.maps else []
    return names + (["correct", "kind"] if found.pair.judged else [])


def matches_csv(found: Matching) -> bytes:
    """One line per match; points are numbered from 0."""
    return _table(match_columns(found), (row.values() for row in match_rows(found)))


def matches_json(found: Matching) -> bytes:
    """The matches with the sizes of the images, the settings, the metrics and the map."""
    pair = found.pair
    content: dict[str, Any] = {"pair": pair.name, "pixels": "of the original images, origin top left"}
    for side, view in zip(SIDES, (pair.left, pair.right), strict=True):
        size = None if view.image is None else list(view.image.original_size)
        content[side] = {"points": len(view.points), "image_size": size}
    content["matches"] = match_rows(found)
    content["recipe"], content["metrics"] = found.recipe.to_dict(), found.metrics.to_dict()
    content |= {} if found.verification is None else {"verification": map_of(found)}
    return _json(content)


def map_of(found: Matching) -> dict[str, Any]:
    """The map that the matches obey, from left to right original pixels, and what it explains."""
    checked = found.verification
    if checked is None or checked.map is None:
        return {"map": None, "verdict": "" if checked is None else checked.verdict}
    depth = {} if checked.depth is None else {"depth": _map_entry(found.pair, checked.depth)}
    told = _map_entry(found.pair, checked.map)
    return told | {"added": len(checked.added), "verdict": checked.verdict} | depth


def _map_entry(pair: Pair, one: Map) -> dict[str, Any]:
    """A map in original pixels."""
    left, right = (1.0 if view.image is None else view.image.scale for view in (pair.left, pair.right))
    to_left, to_right = np.diag([left, left, 1.0]), np.diag([right, right, 1.0])
    if one.kind == "fundamental":  # it takes both points: x₂ᵀ F x₁ = 0
        matrix = to_right @ one.matrix @ to_left
    else:
        matrix = np.linalg.inv(to_right) @ one.matrix @ to_left
    matrix = matrix / (matrix[2, 2] if abs(matrix[2, 2]) > 1e-12 else 1.0)
    told = {"map": one.kind, "matrix": matrix.tolist(), "inliers": int(one.inliers.sum())}
    return told | {"error_px": one.error / right}


def map_json(found: Matching) -> bytes:
    return _json(map_of(found))


def original(view: View) -> Keypoints:
    """The points of a view in the pixels of its original image."""
    return view.points if view.image is None else view.points.scaled(1 / view.image.scale)


def keypoints(view: View) -> bytes:
    """The points of a view as a CSV file, in original pixels."""
    return write_points(view.points, scale=1.0 if view.image is None else view.image.scale)


# ---- a run -------------------------------------------------------------------------------------------------------


def history_csv(history: Mapping[str, ArrayLike]) -> bytes:
    """One line per iteration, with whatever the method traces."""
    columns = {name: np.asarray(values, float) for name, values in history.items()}
    length = max((len(values) for values in columns.values()), default=0)
    if "iteration" not in columns:
        columns = {"iteration": np.arange(1, length + 1, dtype=float), **columns}
    for name, values in columns.items():
        if len(values) != length:
            raise ValueError(f"The history's {name} has {len(values)} values, the longest has {length}.")
    steps = (int(step) for step in columns.pop("iteration"))
    rows = zip(steps, *(values.tolist() for values in columns.values()), strict=True)
    return _table(["iteration", *columns], rows)


def everything_npz(found: Matching) -> bytes:
    """The whole run as arrays, readable with `numpy.load(file, allow_pickle=False)`; points in original pixels."""
    pair, result = found.pair, found.result
    arrays: dict[str, Any] = {}
    for side, view in zip(SIDES, (pair.left, pair.right), strict=True):
        points = original(view)
        given = {"xy": points.xy, "angle": points.angle, "diameter": points.size, "strength": points.strength}
        arrays |= {f"{side}_{name}": values for name, values in given.items() if values is not None}
        if points.labels is not None:
            arrays[f"{side}_labels"] = np.array(points.labels, np.str_)
        if view.image is not None:
            arrays[f"{side}_image_size"] = np.array(view.image.original_size)
    if pair.truth is not None:
        arrays["truth"] = pair.truth
    if pair.homography is not None:
        arrays |= {"homography": pair.homography, "tolerance": pair.tolerance}  # in pixels of the working images
    arrays |= {"pairs": result.pairs, "relaxed": result.x, "energy": result.energy, "iterations": result.iterations}
    arrays |= {"seconds": result.seconds, "seconds_to_best": result.seconds_to_best}
    arrays |= {"status": np.str_(result.status), "name": np.str_(pair.name)}
    arrays["energy_share"] = -found.strengths
    arrays |= {f"history_{name}": values for name, values in result.history.items()}
    arrays |= {"recipe": np.str_(found.recipe.to_json()), "metrics": np.str_(json.dumps(found.metrics.to_dict()))}
    if (checked := found.verification) is not None:
        arrays |= {"verified": checked.verified, "added": checked.added, "map": np.str_(json.dumps(map_of(found)))}
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


# ---- a pair as one file ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Opened:
    """What a zip file held."""

    pair: Pair
    recipe: Recipe | None


def save_pair(pair: Pair, recipe: Recipe | None = None) -> bytes:
    """Images, points, truth and settings as one zip file; the same pair gives the same bytes."""
    content: dict[str, Any] = {"version": VERSION, "name": pair.name, "truth": pair.truth is not None}
    files: dict[str, bytes] = {}
    for side, view in zip(SIDES, (pair.left, pair.right), strict=True):
        files[f"{side}.csv"] = write_points(view.points)
        content[side] = None
        if view.image is not None:
            files[f"{side}.png"] = _png(view.image)
            if len(files[f"{side}.png"]) > LIMITS.image_bytes:
                raise ValueError(
                    f"The {side} image of {pair.name} needs {len(files[f'{side}.png']) / 1e6:.0f} MB as PNG; "
                    f"at most {LIMITS.image_bytes / 1e6:.0f} MB could be opened again."
                )
            content[side] = {"scale": view.image.scale, "original_size": list(view.image.original_size)}
    if pair.homography is not None:
        content |= {"homography": pair.homography.tolist(), "tolerance": pair.tolerance}
    if pair.truth is not None:
        files["truth.csv"] = write_truth(pair.truth)
    if pair.given is not None:
        files[GIVEN] = write_problem(ProblemFile(pair.given), ".npz")
    if recipe is not None:
        files[RECIPES[0]] = recipe.to_json().encode()
    files = {MANIFEST: _json(content), **files}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():  # ZipInfo's own date, 1980, so that the bytes do not depend on the day
            packing = zipfile.ZIP_STORED if name.endswith(".png") else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=packing)
    return out.getvalue()


def open_pair(data: bytes, name: str = PAIR_FILE) -> Opened:
    """A pair from the bytes of `save_pair`. Nothing is unpacked to disk, and no name in the file is a path to us."""
    title = shown(name)
    try:
        files = _members(data)
        content = _manifest(files)
        images: list[Image | None] = [_image(files, content, side) for side in SIDES]
        points = [_points(files, side) for side in SIDES]
        truth = None
        if content["truth"]:
            truth = read_truth(_needed(files, "truth.csv"), "truth.csv", (len(points[0]), len(points[1])))
        views = [View(image, spots) for image, spots in zip(images, points, strict=True)]
        given = read_problem(files[GIVEN], GIVEN).problem if GIVEN in files else None
        pair = Pair(views[0], views[1], truth, content["name"], *_map(content), given)
        settings = next((files[name] for name in RECIPES if name in files), None)
        return Opened(pair, None if settings is None else Recipe.from_json(settings.decode("utf-8")))
    except PairFileError as error:
        raise PairFileError(f"{title} {error}") from error
    except (
        ValueError,
        KeyError,
        TypeError,
        OverflowError,
    ) as error:  # what images, points or settings have to say about the content
        raise PairFileError(f"{title} is not a saved pair as we write it: {error}") from error


def _members(data: bytes) -> dict[str, bytes]:
    """The files we know by name, each judged by its size in the directory before it is unpacked."""
    if len(data) > MAX_ZIP:
        raise PairFileError(f"has {len(data) / 1e6:.0f} MB; at most {MAX_ZIP / 1e6:.0f} MB are accepted.")
    if zip_entries(data) > LIMITS.archive_files:
        raise PairFileError(f"holds more than {LIMITS.archive_files} files; only files that we wrote are read.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found: dict[str, bytes] = {}
            for member in archive.infolist():
                if member.filename not in FILES or member.filename in found:
                    what = "twice" if member.filename in found else "which we do not know"
                    raise PairFileError(f"holds {shown(member.filename)} {what}; only files that we wrote are read.")
                most = LIMITS.settings_bytes if member.filename.endswith(".json") else LIMITS.image_bytes
                if member.file_size > most:
                    raise PairFileError(
                        f"holds {shown(member.filename)} of {member.file_size / 1e6:.1f} MB; too large."
                    )
                with archive.open(member) as stream:
                    found[member.filename] = stream.read(most + 1)
            return found
    except PairFileError:
        raise
    except Exception as error:  # BadZipFile, zlib.error, RuntimeError for a password …: whatever damage leads to
        raise PairFileError("is not a zip file, or a damaged one.") from error


def _manifest(files: Mapping[str, bytes]) -> dict[str, Any]:
    try:
        content = json.loads(_needed(files, MANIFEST).decode("utf-8"))
    except RecursionError as error:
        raise PairFileError(f"holds a {MANIFEST} that is nested too deeply.") from error
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise PairFileError(f"has a {MANIFEST} of another version than {VERSION}.")
    if not isinstance(content.get("name"), str) or not isinstance(content.get("truth"), bool):
        raise PairFileError(f"has a {MANIFEST} without a name and a word on the truth.")
    clean = "".join(letter if letter.isprintable() else " " for letter in content["name"])
    return {**content, "name": clean[:200]}


def _map(content: Mapping[str, Any]) -> tuple[Any, float]:
    """The map between the images and its tolerance, if there is one; `Pair` looks at it closely."""
    matrix, tolerance = content.get("homography"), content.get("tolerance", TOLERANCE)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
        raise PairFileError("tells a tolerance that is no number.")
    return matrix, float(tolerance)


def _needed(files: Mapping[str, bytes], name: str) -> bytes:
    if name not in files:
        raise PairFileError(f"lacks {name}.")
    return files[name]


def _points(files: Mapping[str, bytes], side: str) -> Keypoints:
    data = _needed(files, f"{side}.csv")
    if data.strip() in (b"x,y", b""):
        return Keypoints(np.empty((0, 2)))
    return read_points(data, f"{side}.csv")


def _image(files: Mapping[str, bytes], content: Mapping[str, Any], side: str) -> Image | None:
    told = content.get(side)
    if told is None:
        return None
    image = decode(_needed(files, f"{side}.png"), max_side=LIMITS.image_pixels, name=f"{side}.png")
    scale, size = told["scale"], told["original_size"]
    if not isinstance(scale, int | float) or not (isinstance(size, list) and len(size) == 2):
        raise PairFileError(f"tells no scale and size of its {side} image.")
    if not all(isinstance(n, int) and abs(n * scale - m) <= 1 for n, m in zip(size, image.size, strict=True)):
        raise PairFileError(f"says that its {side} image comes from one of {size} pixels, which its scale denies.")
    return Image(image.rgb, float(scale), (size[0], size[1]))


# ---- bytes -------------------------------------------------------------------------------------------------------


def _png(image: Image) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(image.rgb).save(out, "PNG")
    return out.getvalue()


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=1).encode()


def _table(header: list[str], rows: Iterable[Iterable[Any]]) -> bytes:
    return csv_lines([header, *([_cell(value) for value in row] for row in rows)]).encode()


def _cell(value: Any) -> Any:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
