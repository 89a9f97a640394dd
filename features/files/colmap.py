"""Points and matches of images for structure from motion: COLMAP's text import, its database, and hloc's HDF5 files.

All functions take the images' names, their views and for pairs (i, j) of views the matched points (k, 2). COLMAP's text
*model* (cameras, images, points3D) asks for cameras in space, which matches alone do not tell; its *import* format does
not: `colmap feature_importer` reads one text file per image, `colmap matches_importer --match_type raw` the matches.
Coordinates are original pixels, and COLMAP's corner of an image is (0, 0), so that its first pixel lies at (0.5, 0.5).
"""

import io
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.pairs import View

Matches = Mapping[tuple[int, int], NDArray[np.int64]]

DESCRIPTOR = 128  # numbers of one, as COLMAP has them
CORNER = 0.5  # the place of a pixel whose place is 0 with us
MOST_IMAGES = 2**31 - 1  # the base of a pair's number
SIMPLE_RADIAL = 2  # a camera of focal length, centre and one distortion
FOCAL = 1.2  # of the longer side, until COLMAP knows better
SCHEMA = """
CREATE TABLE cameras (camera_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, model INTEGER NOT NULL,
    width INTEGER NOT NULL, height INTEGER NOT NULL, params BLOB, prior_focal_length INTEGER NOT NULL);
CREATE TABLE images (image_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name TEXT NOT NULL UNIQUE,
    camera_id INTEGER NOT NULL, prior_qw REAL, prior_qx REAL, prior_qy REAL, prior_qz REAL, prior_tx REAL,
    prior_ty REAL, prior_tz REAL, FOREIGN KEY(camera_id) REFERENCES cameras(camera_id));
CREATE TABLE keypoints (image_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL,
    data BLOB, FOREIGN KEY(image_id) REFERENCES images(image_id) ON DELETE CASCADE);
CREATE TABLE descriptors (image_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL,
    data BLOB, FOREIGN KEY(image_id) REFERENCES images(image_id) ON DELETE CASCADE);
CREATE TABLE matches (pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL, data BLOB);
CREATE TABLE two_view_geometries (pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL,
    data BLOB, config INTEGER NOT NULL, F BLOB, E BLOB, H BLOB, qvec BLOB, tvec BLOB);
CREATE UNIQUE INDEX index_name ON images(name);
"""


def file_names(names: Sequence[str]) -> list[str]:
    """Names of images as files can hold them: without folders and spaces, with an ending, each once."""
    found: list[str] = []
    for name in names:
        base = re.sub(r"[^\w.+-]", "_", PurePosixPath(name.replace("\\", "/")).name).lstrip(".") or "image"
        stem, dot, ending = base.rpartition(".")
        stem, ending = (stem, ending) if dot and stem else (base, "png")
        tried, k = f"{stem}.{ending}", 2
        while tried in found:
            tried, k = f"{stem}_{k}.{ending}", k + 1
        found.append(tried)
    return found


def keypoints(view: View) -> NDArray[np.float32]:
    """(n, 4): x, y, scale and orientation in original pixels, as COLMAP counts them."""
    spots = view.points if view.image is None else view.points.scaled(1 / view.image.scale)
    size = np.ones(len(spots)) if spots.size is None else np.maximum(spots.size / 2, 1e-3)
    angle = np.zeros(len(spots)) if spots.angle is None else spots.angle
    return np.column_stack([spots.xy + CORNER, size, angle]).astype(np.float32)


def descriptors(view: View) -> NDArray[np.uint8]:
    """(n, 128): RootSIFT as bytes, zeros for points without looks."""
    looks = view.points.looks
    if looks is None or looks.shape[1] != DESCRIPTOR:
        return np.zeros((len(view.points), DESCRIPTOR), np.uint8)
    return np.clip(np.round(512 * looks), 0, 255).astype(np.uint8)


def size_of(view: View) -> tuple[int, int]:
    """Width and height in original pixels; of the box from the origin around the points where there is no image."""
    if view.image is not None:
        return view.image.original_size
    corner = np.ceil(view.points.xy.max(axis=0, initial=1.0)).astype(int) + 1
    return int(corner[0]), int(corner[1])


def colmap_text(names: Sequence[str], views: Sequence[View], matches: Matches) -> dict[str, bytes]:
    """Files for `feature_importer` (folder features) and for `matches_importer` (matches.txt), with what to type."""
    titles = file_names(names)
    files = {"README.txt": COMMANDS.encode()}
    for title, view in zip(titles, views, strict=True):
        lines = [f"{len(view.points)} {DESCRIPTOR}"]
        for spot, looks in zip(keypoints(view).tolist(), descriptors(view).tolist(), strict=True):
            lines.append(" ".join([*(f"{value:.6g}" for value in spot), *map(str, looks)]))
        files[f"features/{title}.txt"] = ("\n".join(lines) + "\n").encode()
    parts = []
    for (i, j), pairs in sorted(matches.items()):
        if len(pairs):
            parts.append("\n".join([f"{titles[i]} {titles[j]}", *(f"{p} {q}" for p, q in pairs.tolist())]))
    files["matches.txt"] = ("\n\n".join(parts) + "\n").encode()
    return files


COMMANDS = """\
Put the images beside this file into a folder "images", under the names of the files in "features". Then:

colmap feature_importer --database_path database.db --image_path images --import_path features
colmap matches_importer --database_path database.db --match_list_path matches.txt --match_type raw
colmap mapper --database_path database.db --image_path images --output_path sparse
"""


def colmap_database(names: Sequence[str], views: Sequence[View], matches: Matches) -> bytes:
    """A database of COLMAP 3: cameras, images, points and matches. They are not verified by a geometry yet:
    `colmap geometric_verifier` or `matches_importer` does that."""
    if len(views) >= MOST_IMAGES:
        raise ValueError("There are too many images for a database of COLMAP.")
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(SCHEMA)
        for k, (title, view) in enumerate(zip(file_names(names), views, strict=True), 1):
            width, height = size_of(view)
            camera = np.array([FOCAL * max(width, height), width / 2, height / 2, 0.0]).tobytes()
            base.execute("INSERT INTO cameras VALUES (?, ?, ?, ?, ?, 0)", (k, SIMPLE_RADIAL, width, height, camera))
            base.execute("INSERT INTO images(image_id, name, camera_id) VALUES (?, ?, ?)", (k, title, k))
            for table, rows in (("keypoints", keypoints(view)), ("descriptors", descriptors(view))):
                base.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", (k, *rows.shape, rows.tobytes()))
        for (i, j), pairs in sorted(matches.items()):
            found = np.asarray(pairs, np.uint32).reshape(-1, 2)
            told = pair_id(i + 1, j + 1), len(found), found.tobytes()
            base.execute("INSERT INTO matches VALUES (?, ?, 2, ?)", told)
        base.commit()
        return base.serialize()


def pair_id(one: int, other: int) -> int:
    """The number of a pair of images, the smaller first."""
    return MOST_IMAGES * min(one, other) + max(one, other)


def hloc_available() -> bool:
    """Whether HDF5 files can be written: the extra `hloc` is installed."""
    return find_spec("h5py") is not None


def hloc_files(names: Sequence[str], views: Sequence[View], matches: Matches) -> dict[str, bytes]:
    """features.h5, matches.h5 and pairs.txt, as hloc has them; of pairs (i, j) the partner of every point of i."""
    if not hloc_available():
        raise ValueError("Files of hloc are HDF5 files; install h5py to write them: pip install h5py.")
    import h5py  # type: ignore[import-not-found, unused-ignore]  # an extra

    titles = file_names(names)
    features, found = io.BytesIO(), io.BytesIO()
    with h5py.File(features, "w") as file:
        for title, view in zip(titles, views, strict=True):
            group: Any = file.create_group(title)
            group.create_dataset("keypoints", data=keypoints(view)[:, :2] - CORNER)
            group.create_dataset("descriptors", data=descriptors(view).T.astype(np.float32) / 512)
            strength = view.points.strength
            group.create_dataset("scores", data=np.ones(len(view.points)) if strength is None else strength)
            group.create_dataset("image_size", data=np.array(size_of(view)))
    lines = []
    with h5py.File(found, "w") as file:
        for (i, j), pairs in sorted(matches.items()):
            partner = np.full(len(views[i].points), -1, np.int64)
            partner[pairs[:, 0]] = pairs[:, 1]
            group = file.create_group(f"{titles[i]}/{titles[j]}")
            group.create_dataset("matches0", data=partner)
            group.create_dataset("matching_scores0", data=(partner >= 0).astype(np.float32))
            lines.append(f"{titles[i]} {titles[j]}")
    return {
        "features.h5": features.getvalue(),
        "matches.h5": found.getvalue(),
        "pairs.txt": ("\n".join(lines) + "\n").encode(),
    }
