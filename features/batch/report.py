"""A batch as files: a table, the matches and the map of every pair, all for structure from motion, and a page."""

from __future__ import annotations

import base64
import html
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from features.batch.run import Batch, Row
from features.files.colmap import colmap_text, file_names
from features.pairs import View
from features.points.images import Image
from features.tables import csv_lines

HEADER = ("left", "right", "left_points", "right_points", "matches", "hold", "same", "map", "seconds", "verdict")
PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body{{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}}
:root{{color-scheme:light dark}}
table{{border-collapse:collapse;width:100%}}td,th{{text-align:left;padding:.35rem .6rem;border-bottom:1px solid #8884}}
td.n{{text-align:right;font-variant-numeric:tabular-nums}}img{{display:block;max-height:72px}}.no{{opacity:.6}}</style>
<h1>{title}</h1><p>{summary}</p>
<table><tr><th>Left<th><th>Right<th><th>Matches<th>Hold<th>Verdict</tr>
{rows}
</table>
"""


def cells(row: Row) -> tuple[object, ...]:
    """A row of the table."""
    same = "" if row.verification is None else ("yes" if row.same else "no")
    counts = *row.points, len(row.pairs), len(row.holds)
    return row.left, row.right, *counts, same, row.map.get("map") or "", round(row.seconds, 3), row.verdict


def table_csv(batch: Batch) -> bytes:
    return csv_lines([HEADER, *(cells(row) for row in batch.table)]).encode()


def summary(batch: Batch) -> str:
    """How many pairs show the same thing, in a sentence."""
    rows = batch.table
    failed, same = sum(bool(row.failure) for row in rows), sum(row.same for row in rows)
    told = f"{len(rows)} of {len(batch.sources.pairs)} pairs of {len(batch.sources.names)} images"
    return f"{told}: {same} show the same thing, {len(rows) - same - failed} do not seem to, {failed} failed."


def files(batch: Batch) -> Iterator[tuple[str, bytes]]:
    """All files, by their paths in a folder; a pair's begin with its number in the table."""
    yield "pairs.csv", table_csv(batch)
    yield "index.html", page(batch)
    yield "recipe.json", batch.recipe.to_json().encode()
    for number, row in enumerate(batch.table, 1):
        if row.failure:
            continue
        yield f"matches/{number:04d}.csv", row.csv
        if row.map:
            told = {"left": row.left, "right": row.right, **row.map}
            yield f"maps/{number:04d}.json", (json.dumps(told, indent=1) + "\n").encode()
    for name, data in for_motion(batch).items():
        yield f"colmap/{name}", data


def for_motion(batch: Batch) -> dict[str, bytes]:
    """COLMAP's text import of what holds (see `features.files.colmap`)."""
    names = [name for name in batch.sources.names if name in batch.views]
    number = {name: k for k, name in enumerate(names)}
    matches: dict[tuple[int, int], NDArray[np.int64]] = {}
    for row in batch.table:
        if row.same and len(row.holds) and row.left != row.right:
            i, j = number[row.left], number[row.right]
            matches[min(i, j), max(i, j)] = row.holds if i < j else row.holds[:, ::-1]
    return colmap_text(file_names(names), [_placed(batch, name) for name in names], matches) if matches else {}


def _placed(batch: Batch, name: str) -> View:
    """The points with an image that knows its scale and size, and has no pixels to speak of."""
    scale, original = batch.scales[name]
    return View(Image(np.zeros((1, 1, 3), np.uint8), scale, original), batch.views[name].points)


def zipped(batch: Batch) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files(batch):
            archive.writestr(name, data)
    return out.getvalue()


def write(folder: str | Path, batch: Batch) -> int:
    """Write all files; how many."""
    place, count = Path(folder), 0
    try:
        for name, data in files(batch):
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            count += 1
    except OSError as error:
        raise ValueError(f"{folder} could not be written to: {(error.strerror or str(error)).lower()}.") from error
    return count


def picture(rgb: NDArray[np.uint8]) -> str:
    """A thumbnail as an address."""
    out = io.BytesIO()
    Pillow.fromarray(rgb).save(out, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}"


def page(batch: Batch) -> bytes:
    """The table with thumbnails as one HTML file that needs no server."""
    thumbs = {name: f'<img alt="" src="{picture(rgb)}">' for name, rgb in batch.thumbnails.items()}
    lines = []
    for row in batch.table:
        look = "" if row.same or (row.verification is None and not row.failure) else ' class="no"'
        sides = "".join(f"<td>{thumbs.get(name, '')}<td>{html.escape(name)}" for name in (row.left, row.right))
        counts = f'<td class="n">{len(row.pairs)}<td class="n">{len(row.holds)}'
        lines.append(f"<tr{look}>{sides}{counts}<td>{html.escape(row.verdict)}</tr>")
    title = html.escape(f"{len(batch.table)} pairs, {batch.recipe.title}")
    return PAGE.format(title=title, summary=html.escape(summary(batch)), rows="\n".join(lines)).encode()
