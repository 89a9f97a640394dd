"""A small renderer: flat textured faces, a depth buffer, baked light, and the exact test whether a point is hidden.

A face's map to the screen is a homography, and the nearness 1/z of its points is affine in screen coordinates. With
parallel rays the depth itself is affine, so that one rasteriser serves the pictures and the shadow maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Texture = NDArray[np.float32]
Paint = Callable[[int, int], Texture]  # pixels wide and high -> sRGB colours in [0, 1], the top row first
Light = tuple[Array, Array]  # the unit direction towards it, its colour

X, Y, Z = np.eye(3)
GAMMA = 2.2
DIM = 0.10  # light that comes from everywhere, even into corners
SHADOW_MAP = 480  # pixels across the scene
LIFT, BIAS = 0.03, 0.05  # how far a lit point stands off its face, and how deep a shadow must be to count


def single(values: ArrayLike) -> Texture:
    """In single precision, which is plenty for colours."""
    return np.asarray(values, np.float32)


@dataclass(frozen=True, eq=False)
class Face:
    """A flat polygon: the points origin + u·U + v·V with (u, v) in the outline; U × V points outward."""

    origin: Array
    u: Array
    v: Array
    outline: Array  # (k, 2), its smallest u and v are 0
    paint: Paint

    @cached_property
    def normal(self) -> Array:
        return np.asarray(np.cross(self.u, self.v))

    @cached_property
    def extent(self) -> Array:
        return np.asarray(self.outline.max(axis=0))

    def at(self, u: float, v: float, out: float = 0.0) -> Array:
        return self.origin + u * self.u + v * self.v + out * self.normal

    def pixels(self, density: float) -> tuple[int, int]:
        """Width and height of a texture with so many pixels per unit of length."""
        w, h = np.maximum(np.ceil(self.extent * density).astype(int), 2)
        return int(w), int(h)


def face(corners: Array, paint: Paint) -> Face:
    """The face with these corners, counter-clockwise from outside, its V axis as upright as can be."""
    centred = corners - corners.mean(axis=0)
    normal = np.cross(centred, np.roll(centred, -1, axis=0)).sum(axis=0)
    normal /= np.linalg.norm(normal)
    u = np.cross(Z if abs(normal[2]) < 0.99 else Y, normal)
    u /= np.linalg.norm(u)
    v = np.cross(normal, u)
    flat = corners @ np.column_stack([u, v])
    low = flat.min(axis=0)
    origin = low[0] * u + low[1] * v + (corners[0] @ normal) * normal
    return Face(origin, u, v, flat - low, paint)


def hull(points: Array) -> NDArray[np.intp]:
    """The triangles of the convex hull of a few points, (·, 3), counter-clockwise from outside.

    Three points make one if all others lie on one side of their plane. Every triple is tried, which for two dozen
    takes less time than importing a library for it.
    """
    triples = np.array(list(combinations(range(len(points)), 3)))
    a, b, c = points[triples].swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    above = normals @ points.T - (normals * a).sum(axis=1)[:, None]
    np.put_along_axis(above, triples, 0.0, axis=1)  # but for rounding
    outward, inward = (above <= 0).all(axis=1), (above >= 0).all(axis=1)
    return np.concatenate([triples[outward], triples[inward][:, ::-1]])


def extrude(
    section: Array | Sequence[tuple[float, float]], a: Array, b: Array, start: Array, length: float, *paints: Paint
) -> list[Face]:
    """The solid swept by a section (counter-clockwise in the axes a, b) along a × b: both ends, then its sides.

    Paints are given for the ends, then for the sides in turn; the last one serves all that are left.
    """
    sweep = length * np.cross(a, b)
    base = start + np.asarray(section, float) @ np.stack([a, b])
    rims = zip(base, np.roll(base, -1, axis=0), strict=True)
    corners = [base[::-1], base + sweep, *(np.stack([p, q, q + sweep, p + sweep]) for p, q in rims)]
    return [face(each, paints[min(i, len(paints) - 1)]) for i, each in enumerate(corners)]


def block(low: tuple[float, ...], high: tuple[float, ...], paint: Paint) -> list[Face]:
    """An upright box that stands on something: no bottom."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    return extrude([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], X, Y, z0 * Z, z1 - z0, paint)[1:]


def slab(on: Face, box: tuple[float, float, float, float], thick: float, paint: Paint) -> list[Face]:
    """A flat box laid on a face, from (u0, v0) to (u1, v1)."""
    u0, v0, u1, v1 = box
    return extrude([(u0, v0), (u1, v0), (u1, v1), (u0, v1)], on.u, on.v, on.origin, thick, paint)[1:]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Faces of closed solids, and their geometry in arrays."""

    faces: tuple[Face, ...]

    @cached_property
    def planes(self) -> Array:
        """(F, 3, 3): each matrix sends (u, v, 1) to a point in space."""
        return np.stack([np.column_stack([f.u, f.v, f.origin]) for f in self.faces])

    @cached_property
    def sphere(self) -> tuple[Array, float]:
        """Centre and radius of a ball that holds all faces."""
        corners = np.concatenate([f.origin + f.outline @ np.stack([f.u, f.v]) for f in self.faces])
        centre = (corners.min(axis=0) + corners.max(axis=0)) / 2
        return centre, float(np.linalg.norm(corners - centre, axis=1).max())

    @cached_property
    def normals(self) -> Array:
        return np.stack([f.normal for f in self.faces])

    @cached_property
    def by_corners(self) -> list[tuple[NDArray[np.intp], Array]]:
        """Faces grouped by their number of corners k: their indices, and their outlines (·, k, 2)."""
        counts = np.array([len(f.outline) for f in self.faces])
        groups = (np.flatnonzero(counts == k) for k in np.unique(counts))
        return [(group, np.stack([self.faces[i].outline for i in group])) for group in groups]

    def facing(self, viewer: Array) -> NDArray[np.bool_]:
        """Which faces turn to a viewer: a point (x, y, z, 1), or a direction (x, y, z, 0) for parallel rays."""
        ways = viewer[:3] - viewer[3] * self.planes[:, :, 2]
        return np.asarray((self.normals * ways).sum(axis=1) > 1e-6)

    def hides(self, points: Array, eye: Array) -> NDArray[np.bool_]:
        """Which points the faces hide from the eye: the line of sight crosses a face. Exact, no depth buffer."""
        hidden = np.zeros(len(points), bool)
        facing = self.facing(np.append(eye, 1.0))
        for group, outlines in self.by_corners:
            chosen = facing[group]  # a solid is entered through a face that turns to the eye
            planes, normals, corners = self.planes[group[chosen]], self.normals[group[chosen]], outlines[chosen]
            start = np.einsum("fi,fpi->fp", normals, points - planes[:, None, :, 2])
            end = np.einsum("fi,fi->f", normals, eye - planes[:, :, 2])[:, None]
            crosses = (start < 0) & (end > 0)
            share = np.where(crosses, start, 0) / np.where(crosses, start - end, 1)
            hit = points + share[..., None] * (eye - points) - planes[:, None, :, 2]
            u, v = np.einsum("fic,fpi->cfp", planes[:, :, :2], hit)
            inside = np.zeros(u.shape, bool)
            for now, after in zip(corners.swapaxes(0, 1), np.roll(corners, -1, axis=1).swapaxes(0, 1), strict=True):
                (u0, v0), (u1, v1) = now.T[..., None], after.T[..., None]
                slope = (u1 - u0) / np.where(v1 == v0, np.inf, v1 - v0)
                inside ^= ((v0 > v) != (v1 > v)) & (u < u0 + (v - v0) * slope)
            hidden |= (crosses & inside).any(axis=0)
        return hidden


def look(
    mesh: Mesh, matrix: Array, viewer: Array, near: NDArray[np.float32]
) -> Iterator[tuple[int, tuple[slice, slice], NDArray[np.bool_], Array]]:
    """Lay the faces that turn to a viewer (see `Mesh.facing`) into a buffer of nearness.

    Yields each face's number, its box on the screen, the pixels of it that the face now owns, and its homography.
    Nearness grows towards the viewer and is affine on the screen: 1/z for a point, the way along parallel rays.
    """
    h, w = near.shape
    across, down = np.arange(w), np.arange(h)[:, None]
    screens = matrix[:, :3] @ mesh.planes
    screens[:, :, 2] += matrix[:, 3]
    chosen = mesh.facing(viewer) & (np.abs(np.linalg.det(screens)) > 1e-6)
    inverses = np.linalg.inv(np.where(chosen[:, None, None], screens, np.eye(3)))
    rows = inverses[:, 2] if viewer[3] else np.einsum("fi,fij->fj", viewer[:3] @ mesh.planes, inverses)
    for group, outlines in mesh.by_corners:
        corners = outlines @ screens[group, :, :2].swapaxes(1, 2) + screens[group, None, :, 2]
        corners = corners[..., :2] / corners[..., 2:]
        lows = np.maximum(np.floor(corners.min(axis=1)).astype(int), 0)
        highs = np.minimum(np.ceil(corners.max(axis=1)).astype(int) + 1, (w, h))
        outlined = np.rint((corners - lows[:, None]) * 16).astype(np.int32)
        for k in np.flatnonzero(chosen[group] & (lows < highs).all(axis=1)).tolist():
            i, (x0, y0), (x1, y1) = int(group[k]), lows[k].tolist(), highs[k].tolist()
            a, b, c = rows[i].tolist()
            values = (a * across[x0:x1] + (b * down[y0:y1] + c)).astype(np.float32)
            cover = np.zeros(values.shape, np.uint8)
            cv2.fillPoly(cover, [outlined[k]], 1, shift=4)
            box = slice(y0, y1), slice(x0, x1)
            before, owned = near[box], cover.view(bool)
            owned &= values > before
            np.copyto(before, values, where=owned)
            yield i, box, owned, screens[i]


def light(mesh: Mesh, on: Sequence[Face], densities: Sequence[float], lights: Iterable[Light]) -> list[Texture]:
    """The light that reaches each face, as a small map with so many points per unit; the mesh throws the shadows."""
    sizes = [each.pixels(density) for each, density in zip(on, densities, strict=True)]
    spots = []
    for each, (w, h) in zip(on, sizes, strict=True):
        u, v = (np.arange(w) + 0.5) / w * each.extent[0], (h - 0.5 - np.arange(h)) / h * each.extent[1]
        spots.append((u[:, None] * each.u + v[:, None, None] * each.v + each.at(0, 0, LIFT)).reshape(-1, 3))
    counts = [len(some) for some in spots]
    where, normals = np.concatenate(spots).astype(np.float32), np.stack([each.normal for each in on])
    found = np.full(where.shape, DIM, np.float32)
    centre, span = mesh.sphere
    for towards, colour in lights:
        right = np.cross(Z, towards) / np.linalg.norm(np.cross(Z, towards))
        axes = np.stack([right, np.cross(towards, right)]) * SHADOW_MAP / (2 * span)
        matrix = np.vstack([np.column_stack([axes, SHADOW_MAP / 2 - axes @ centre]), [0, 0, 0, 1]])
        near = np.full((SHADOW_MAP, SHADOW_MAP), -np.inf, np.float32)
        for _ in look(mesh, matrix, np.append(towards, 0.0), near):
            pass  # only the buffer is wanted
        x, y, depth = single(np.vstack([axes, towards])) @ where.T
        column, row = (
            np.clip(np.rint(place + move), 0, SHADOW_MAP - 1).astype(np.int32)
            for place, move in zip((x, y), single(matrix[:2, 3]), strict=True)
        )
        share = np.repeat(single(np.maximum(normals @ towards, 0)), counts)
        share *= depth + BIAS > near[row, column]
        found += share[:, None] * single(colour)
    pieces = np.split(found, np.cumsum(counts)[:-1])
    maps = (piece.reshape(h, w, 3) for piece, (w, h) in zip(pieces, sizes, strict=True))
    return [single(cv2.GaussianBlur(each, (0, 0), 0.7)) for each in maps]


def bake(on: Face, shine: Texture, density: float) -> NDArray[np.uint8]:
    """A face's paint under its light, as an 8-bit sRGB texture."""
    size = on.pixels(density)
    colour = np.clip(on.paint(*size), 0, 1) ** GAMMA * cv2.resize(shine, size)
    return np.asarray(np.round(255 * np.clip(colour, 0, 1) ** (1 / GAMMA)), np.uint8)


def warp(
    texture: NDArray[Any], extent: Array, screen: Array, box: tuple[slice, slice], border: float | None = None
) -> NDArray[Any]:
    """A face's texture as it appears in a box of the screen; beyond the texture its edge, or a border value."""
    (h, w), (rows, columns) = texture.shape[:2], box
    su, sv = extent[0] / w, extent[1] / h
    to_plane = np.array([[su, 0, su / 2], [0, -sv, extent[1] - sv / 2], [0, 0, 1]])
    shift = np.array([[1, 0, -columns.start], [0, 1, -rows.start], [0, 0, 1]])
    size = columns.stop - columns.start, rows.stop - rows.start
    mode = cv2.BORDER_REPLICATE if border is None else cv2.BORDER_CONSTANT
    return cv2.warpPerspective(
        texture, shift @ screen @ to_plane, size, borderMode=mode, borderValue=(border or 0.0,) * 3
    )


def draw(
    mesh: Mesh, texture: Callable[[int], NDArray[np.uint8]], matrix: Array, eye: Array, canvas: NDArray[np.uint8]
) -> Array:
    """Draw the faces onto a canvas, asking for the textures of those that are seen.

    Returns the depth of every pixel, infinite where there is no face.
    """
    near = np.zeros(canvas.shape[:2], np.float32)
    for i, box, owned, screen in look(mesh, matrix, np.append(eye, 1.0), near):
        if owned.any():
            picture = warp(texture(i), mesh.faces[i].extent, screen, box)
            np.copyto(canvas[box], picture, where=owned[..., None])
    with np.errstate(divide="ignore"):
        return 1.0 / near.astype(np.float64)
