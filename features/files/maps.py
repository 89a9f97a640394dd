"""What verification found, for other programs: the map for OpenCV and NumPy, the left picture laid over the right one,
and a page with both pictures and the matches that needs nothing but a browser.
"""

import base64
import html
import io
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from features.files.exports import map_of, match_rows
from features.matching import Matching
from features.plots.theme import GREEN, KINDS, REJECTED
from features.points.images import Image

PAGE_SIDE = 1000  # pixels of the longer side of a picture on the page
GAP = 16  # between the two
PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{font:15px/1.45 system-ui,sans-serif;margin:1rem}}
svg{{width:100%;height:auto;display:block}}line{{stroke-width:1.6;vector-effect:non-scaling-stroke;opacity:.75}}
line:hover{{opacity:1;stroke-width:4}}body:has(#no:not(:checked)) .no{{display:none}}
body:has(#yes:not(:checked)) .yes{{display:none}}label{{margin-right:1.2rem}}</style>
<h1>{title}</h1><p>{verdict}</p>
<p><label><input type="checkbox" id="yes" checked> {good} {held}</label>
<label><input type="checkbox" id="no" checked> {bad} {others}</label></p>
<svg viewBox="0 0 {width} {height}" role="img" aria-label="{title}">
{pictures}
{lines}
</svg></html>
"""


def map_file_storage(found: Matching) -> bytes:
    """The map in original pixels as OpenCV's FileStorage reads it (XML): `map` (its kind), `matrix`, `inliers`,
    `error_px`, and `depth` where the scene has depth; no `matrix` where no map explains the matches."""
    told = map_of(found)
    store = cv2.FileStorage(".xml", cv2.FILE_STORAGE_WRITE | cv2.FILE_STORAGE_MEMORY)
    store.write("map", str(told["map"] or "none"))
    store.write("verdict", str(told["verdict"]))
    if told["map"]:
        store.write("matrix", np.array(told["matrix"], np.float64))
        store.write("inliers", int(told["inliers"]))
        store.write("error_px", float(told["error_px"]))
        if "depth" in told:
            store.write("depth", np.array(told["depth"]["matrix"], np.float64))
    return str(store.releaseAndGetString()).encode()


def map_npz(found: Matching) -> bytes:
    """The same for NumPy, with the matches in original pixels, (k, 2) each, and what explains each."""
    told, rows = map_of(found), match_rows(found)
    arrays: dict[str, Any] = {"map": np.array(told["map"] or "none"), "verdict": np.array(told["verdict"])}
    for name, one in (("matrix", told if told["map"] else None), ("depth", told.get("depth"))):
        if one is not None:
            arrays[name] = np.array(one["matrix"], np.float64)
    for side in ("left", "right"):
        places = [[row[f"{side}_x"], row[f"{side}_y"]] for row in rows]
        arrays[side] = np.array(places, np.float64).reshape(-1, 2)
    arrays["explained_by"] = np.array([row.get("explained_by", "") for row in rows], "U16")
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def overlay(found: Matching, share: float = 0.5) -> NDArray[np.uint8]:
    """The left picture laid over the right one by the map, in the right one's working pixels; `share` of the left."""
    left, right = _images(found)
    checked = found.verification
    if checked is None or checked.map is None or checked.map.kind == "fundamental":
        raise ValueError("No map says where every point of the left picture goes, so it cannot be laid over the right.")
    moved = cv2.warpPerspective(left.rgb, checked.map.matrix, right.size, flags=cv2.INTER_AREA)
    there = cv2.warpPerspective(np.full(left.rgb.shape[:2], 255, np.uint8), checked.map.matrix, right.size)
    weight = share * (there.astype(np.float64) / 255)[:, :, None]
    return np.asarray(np.rint(weight * moved + (1 - weight) * right.rgb), np.uint8)


def overlay_png(found: Matching) -> bytes:
    """`overlay` as a picture."""
    out = io.BytesIO()
    Pillow.fromarray(overlay(found)).save(out, "PNG")
    return out.getvalue()


def has_overlay(found: Matching) -> bool:
    """Whether the left picture can be laid over the right one."""
    checked, images = found.verification, (found.pair.left.image, found.pair.right.image)
    flat = checked is not None and checked.map is not None and checked.map.kind != "fundamental"
    return flat and None not in images


def side_by_side(found: Matching) -> bytes:
    """Both pictures and a line for each match as one HTML file without a script: what holds and what does not can be
    left out, and a line tells about itself under the pointer."""
    images = _images(found)
    factors = [min(1.0, PAGE_SIDE / max(image.size)) * image.scale for image in images]  # from original pixels
    shown = [
        cv2.resize(one.rgb, _size(one, f), interpolation=cv2.INTER_AREA) for one, f in zip(images, factors, strict=True)
    ]
    starts = 0, shown[0].shape[1] + GAP
    pictures = [
        f'<image x="{x}" y="0" width="{rgb.shape[1]}" height="{rgb.shape[0]}" href="{_address(rgb)}"/>'
        for x, rgb in zip(starts, shown, strict=True)
    ]
    lines, counts = [], [0, 0]
    for row in match_rows(found):
        holds = bool(row.get("verified", row.get("correct", True)))
        counts[not holds] += 1
        ends = [
            (starts[k] + row[f"{side}_x"] * factors[k], row[f"{side}_y"] * factors[k])
            for k, side in enumerate(("left", "right"))
        ]
        colour, dashes = (KINDS["correct"].bright, "") if holds else (REJECTED.bright, ' stroke-dasharray="4 3"')
        told = f"left {row['left']}, right {row['right']}"
        told += f", explained by {row['explained_by']}" if "explained_by" in row else ""
        told += f", confidence {row['confidence']:.2f}" if "confidence" in row else ""
        (x1, y1), (x2, y2) = ends
        lines.append(
            f'<line class="{"yes" if holds else "no"}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}"{dashes}><title>{html.escape(told)}</title></line>'
        )
    checked = found.verification
    return PAGE.format(
        title=html.escape(found.pair.name),
        verdict=html.escape(f"{len(found.pairs)} matches." if checked is None else checked.verdict),
        good=f'<span style="color:{GREEN}">━</span>',
        bad=f'<span style="color:{REJECTED.colour}">┅</span>',
        held=f"{counts[0]} that hold",
        others=f"{counts[1]} that do not",
        width=starts[1] + shown[1].shape[1],
        height=max(rgb.shape[0] for rgb in shown),
        pictures="\n".join(pictures),
        lines="\n".join(lines),
    ).encode()


def _images(found: Matching) -> tuple[Image, Image]:
    left, right = found.pair.left.image, found.pair.right.image
    if left is None or right is None:
        raise ValueError(f"{found.pair.name} has no images to show.")
    return left, right


def _size(image: Image, factor: float) -> tuple[int, int]:
    """Of an image on the page, `factor` times the original."""
    width, height = image.size
    return max(1, round(width * factor / image.scale)), max(1, round(height * factor / image.scale))


def _address(rgb: Any) -> str:
    out = io.BytesIO()
    Pillow.fromarray(np.asarray(rgb, np.uint8)).save(out, "JPEG", quality=88)
    return f"data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}"
