"""The work of a batch: points once per image, then every pair, on all cores; each pair a row, also where it failed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from adgm import Result
from features.batch.sources import Sources
from features.files.exports import map_of, matches_csv
from features.judge.verification import Verification
from features.limits import CORES
from features.matching import IMAGES, Following, Matching
from features.pairs import SIDES, Pair, View
from features.points.images import Image, decode, from_array, shown
from features.points.keypoints import Keypoints, detect
from features.points.regions import EVERYWHERE
from features.recipe import MASKS, OWN, Recipe

T = TypeVar("T")
R = TypeVar("R")

THUMBNAIL = 96  # pixels of the longer side
KEPT = 8  # images that stay decoded while pairs are matched


@dataclass(frozen=True, eq=False)
class Row:
    """What came of a pair: its matches and their verification, or why there is none."""

    left: str
    right: str
    points: tuple[int, int] = (0, 0)
    pairs: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))
    verification: Verification | None = None
    failure: str = ""
    seconds: float = 0.0  # of solving
    map: Mapping[str, Any] = field(default_factory=dict)  # in original pixels: `features.files.exports.map_of`
    csv: bytes = b""  # of all matches

    @property
    def same(self) -> bool:
        """Whether the two seem to show the same thing."""
        return self.verification is not None and self.verification.same

    @property
    def verdict(self) -> str:
        if self.failure:
            return self.failure
        return f"{len(self.pairs)} matches." if self.verification is None else self.verification.verdict

    @property
    def holds(self) -> NDArray[np.int64]:
        """The matches that hold: verified or found by the map, all where nothing was checked, none of unlike images."""
        if self.verification is None:
            return self.pairs
        return self.verification.matches if self.same else self.pairs[:0]


@dataclass(frozen=True)
class Progress:
    """How far a batch is."""

    images: int
    all_images: int
    pairs: int
    all_pairs: int

    @property
    def share(self) -> float:
        """Of the work; the points of an image count as a pair."""
        return (self.images + self.pairs) / max(self.all_images + self.all_pairs, 1)

    def __str__(self) -> str:
        if self.images < self.all_images:
            return f"Looking for points: image {self.images} of {self.all_images}"
        return f"Matching: pair {self.pairs} of {self.all_pairs}"


@dataclass(eq=False)
class Batch:
    """The rows of a batch in the order of its pairs, the points of its images, and thumbnails (RGB)."""

    sources: Sources
    recipe: Recipe
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)  # without their images, of which the sizes are kept
    scales: dict[str, tuple[float, tuple[int, int]]] = field(default_factory=dict)
    thumbnails: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def table(self) -> list[Row]:
        return [self.rows[pair] for pair in self.sources.pairs if pair in self.rows]


def run_batch(
    sources: Sources,
    recipe: Recipe = IMAGES,
    *,
    workers: int = CORES,
    time_limit: float | None = None,
    told: Callable[[Progress], object] | None = None,
    into: Batch | None = None,
) -> Batch:
    """Match all pairs; `told` hears of the progress and stops the batch by returning True, with the rows so far.

    `into` is the batch whose rows are filled, for one who looks at them while more are found.
    Every image is looked at once and on its own: there is no second look from a slant, which belongs to a pair.
    """
    if recipe.points == OWN:
        raise ValueError("A batch detects points; this recipe has points of its own.")
    if any(recipe.point_params.get(one.name) for one in MASKS):
        raise ValueError("A mask is about one pair of images; a batch has many.")
    batch, images = into or Batch(sources, recipe), _Images(sources)
    names, pairs = sources.names, list(dict.fromkeys(sources.pairs))
    done = {"images": 0, "pairs": 0}

    def tell() -> bool:
        now = Progress(done["images"], len(names), done["pairs"], len(pairs))
        return told is not None and told(now) is True

    pool_size = max(1, workers)
    most = max(recipe.wanted.get(side, 0) for side in SIDES)
    with ThreadPoolExecutor(pool_size) as pool:
        look = partial(_points, images, recipe.points, int(most))
        for name, found in _each(pool, pool_size, names, look, tell):
            done["images"] += 1
            if isinstance(found, str):
                batch.failures[name] = found
            else:
                batch.views[name], batch.scales[name], batch.thumbnails[name] = found
        if done["images"] < len(names):
            return batch
        following = Following(time_limit=time_limit)
        solve = partial(_row, batch, images, following)
        for pair, row in _each(pool, pool_size, pairs, solve, tell):
            done["pairs"] += 1
            batch.rows[pair] = row
        tell()
    return batch


def _each(
    pool: ThreadPoolExecutor, size: int, items: list[T], work: Callable[[T], R], stop: Callable[[], bool]
) -> Iterator[tuple[T, R]]:
    """Results as they come; no more is begun than the pool is busy with, so that stopping takes one item's time."""
    waiting, running = iter(items), dict[Future[R], T]()
    more = True
    while True:
        if stop():
            more = False
        while more and len(running) < size:
            item = next(waiting, None)
            if item is None:
                more = False
                break
            running[pool.submit(work, item)] = item
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            item = running.pop(future)
            yield item, future.result()


class _Images:
    """Decoded images, the last few of them."""

    def __init__(self, sources: Sources) -> None:
        self.sources, self.kept, self.lock = sources, dict[str, Image](), threading.Lock()

    def __call__(self, name: str) -> Image:
        with self.lock:
            if name in self.kept:
                self.kept[name] = self.kept.pop(name)  # the last one asked for goes last
                return self.kept[name]
            data = self.sources.read[name]()  # a ZIP file is read by one thread at a time
        image = decode(data, name=name)
        with self.lock:
            self.kept[name] = image
            while len(self.kept) > KEPT:
                del self.kept[next(iter(self.kept))]
        return image


Found = tuple[View, tuple[float, tuple[int, int]], NDArray[np.uint8]]


def _points(images: _Images, detector: str, most: int, name: str) -> Found | str:
    """An image's points, its scale and original size, and a thumbnail; a sentence if it cannot be read."""
    try:
        image = images(name)
        points = detect(image, detector, most, mask=EVERYWHERE)
    except (ValueError, MemoryError) as error:
        return str(error) or f"{shown(name)} does not fit into memory."
    return View(None, points), (image.scale, image.original_size), from_array(image.rgb, max_side=THUMBNAIL).rgb


def _row(batch: Batch, images: _Images, following: Following, names: tuple[str, str]) -> Row:
    left, right = names
    for name in names:
        if name in batch.failures:
            return Row(left, right, failure=batch.failures[name])
    spots: tuple[Keypoints, Keypoints] = batch.views[left].points, batch.views[right].points
    counts = len(spots[0]), len(spots[1])
    try:
        views = [View(images(name), points) for name, points in zip(names, spots, strict=True)]
        pair = Pair(views[0], views[1], name=f"{left} and {right}")
        if pair.lack:
            return Row(left, right, counts, failure=pair.lack)
        found: Matching = following.solve(batch.recipe, pair)
        result: Result[Any] = found.result
        told = map_of(found) if found.verification is not None else {}
        return Row(left, right, counts, found.pairs, found.verification, "", result.seconds, told, matches_csv(found))
    except (ValueError, MemoryError) as error:
        return Row(left, right, counts, failure=str(error) or "This pair does not fit into memory.")
