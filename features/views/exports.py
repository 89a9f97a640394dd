"""What a user takes away of several views: tracks, matches of pairs, files for structure from motion."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.files.colmap import colmap_database, colmap_text, hloc_available, hloc_files
from features.tables import csv_lines
from features.views.found import Views

COLUMNS = ("track", "view", "name", "point", "x", "y", "length", "confidence")


def original(views: Views) -> list[NDArray[np.float64]]:
    """The points of every view in the pixels of its original image."""
    return [
        view.points.xy if view.image is None else view.points.xy / view.image.scale for view in views.view_set.views
    ]


def track_rows(views: Views) -> list[dict[str, Any]]:
    """A row for every point on a track of two points or more: in original pixels; views and points from 0."""
    xy, names = original(views), views.view_set.names
    rows = []
    for number, track in enumerate(np.flatnonzero(views.lengths > 1).tolist()):
        sure = float(views.confidence[track])
        for view in np.flatnonzero(views.table[track] >= 0).tolist():
            point = int(views.table[track, view])
            x, y = (float(value) for value in xy[view][point])
            length = int(views.lengths[track])
            values = (number, view, names[view], point, x, y, length, None if np.isnan(sure) else sure)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def tracks_csv(views: Views) -> bytes:
    """A line for every point on a track."""
    return _csv(COLUMNS, [row.values() for row in track_rows(views)])


def tracks_json(views: Views) -> bytes:
    """The tracks with how they were found, energies and what is known about right and wrong."""
    accuracy, precision = views.judged
    images = [
        {"name": name, "points": len(view.points), "size": None if view.image is None else [*view.image.original_size]}
        for name, view in zip(views.view_set.names, views.view_set.views, strict=True)
    ]
    content = {
        "views": images,
        "pixels": "of the original images, origin top left",
        "tracks": track_rows(views),
        "energy": views.energy,
        "energy_of_pairs_alone": views.energy_alone,
        "accuracy": accuracy,
        "precision": precision,
        "status": views.status,
        "forced": [one._asdict() for one in views.forced],
        "recipe": views.recipe.to_dict(),
    }
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False).encode()


def tracks_npz(views: Views) -> bytes:
    """Arrays: tracks (tracks × views, −1 for none), confidence, energy, the points of every view."""
    arrays: dict[str, Any] = {"tracks": views.table, "confidence": views.confidence, "energy": views.energy}
    arrays |= {f"points_{k}": xy for k, xy in enumerate(original(views))}
    arrays |= {f"labels_{k}": labels for k, labels in enumerate(views.tracks)}
    out = io.BytesIO()
    np.savez_compressed(out, names=np.array(views.view_set.names), **arrays)
    return out.getvalue()


def pairs_csv(views: Views) -> bytes:
    """A line for every match of two views."""
    xy, rows = original(views), []
    for (i, j), partner in sorted(views.matchings.items()):
        for p in np.flatnonzero(partner >= 0).tolist():
            q = int(partner[p])
            rows.append((i, p, j, q, *xy[i][p].tolist(), *xy[j][q].tolist()))
    return _csv(("view", "point", "other_view", "other_point", "x", "y", "other_x", "other_y"), rows)


def matched_points(views: Views) -> dict[tuple[int, int], NDArray[np.int64]]:
    """For every pair of views the matched points (k, 2), as `features.files.colmap` takes them."""
    found = {}
    for couple, partner in views.matchings.items():
        p = np.flatnonzero(partner >= 0)
        found[couple] = np.stack([p, partner[p]], axis=1)
    return found


def _for_motion(write: Callable[..., dict[str, bytes]]) -> Callable[[Views], dict[str, bytes]]:
    return lambda views: write(views.view_set.names, views.view_set.views, matched_points(views))


colmap_files = _for_motion(colmap_text)
hloc = _for_motion(hloc_files)


def database(views: Views) -> bytes:
    """COLMAP's database."""
    return colmap_database(views.view_set.names, views.view_set.views, matched_points(views))


def zipped(files: dict[str, bytes]) -> bytes:
    """Files as one zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def everything(views: Views) -> dict[str, bytes]:
    """All files by name; hloc's where h5py is installed."""
    files = {
        "tracks.csv": tracks_csv(views),
        "tracks.json": tracks_json(views),
        "tracks.npz": tracks_npz(views),
        "pairs.csv": pairs_csv(views),
        "colmap.zip": zipped(colmap_files(views)),
        "colmap.db": database(views),
    }
    return files | {"hloc.zip": zipped(hloc(views))} if hloc_available() else files


def _csv(header: tuple[str, ...], rows: Any) -> bytes:
    return csv_lines([header, *rows]).encode()
