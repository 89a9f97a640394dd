"""Where in an image points are looked for: rectangles to keep and rectangles to leave out, in a line of words.

`keep 40 30 400 300, drop 100 80 160 120` keeps what lies in the first rectangle and not in the second one: left, top,
right and bottom in pixels of the original image. Without a `keep` the whole image is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from reprlib import repr as brief

import numpy as np
from numpy.typing import NDArray

KEEP, DROP = "keep", "drop"
MOST = 20  # rectangles of an image
LARGEST = 1_000_000  # pixels: no image is wider
GRID = 64  # steps in which the share of an image is counted

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Region:
    """A rectangle in pixels of the original image."""

    keep: bool
    left: int
    top: int
    right: int
    bottom: int

    def __post_init__(self) -> None:
        if not (0 <= self.left < self.right <= LARGEST and 0 <= self.top < self.bottom <= LARGEST):
            raise ValueError(
                f"The region {self} has no area within an image; expected left < right and top < bottom, from 0."
            )

    def __str__(self) -> str:
        return f"{KEEP if self.keep else DROP} {self.left} {self.top} {self.right} {self.bottom}"


def parse(text: object) -> tuple[Region, ...]:
    """The regions of a line of words; a ValueError in a sentence if it makes no sense."""
    if not isinstance(text, str):
        raise ValueError(f"A mask is {brief(text)}; expected words such as 'keep 40 30 400 300'.")
    parts = [part.split() for part in text.split(",") if part.strip()]
    if len(parts) > MOST:
        raise ValueError(f"A mask has {len(parts)} regions; expected at most {MOST}.")
    found = []
    for word, *numbers in parts:
        if word not in (KEEP, DROP) or len(numbers) != 4 or not all(n.isascii() and n.isdigit() for n in numbers):
            raise ValueError(
                f"A region is {brief(' '.join([word, *numbers]))}; expected {KEEP} or {DROP} and four whole numbers: "
                f"left, top, right and bottom in pixels, such as '{KEEP} 40 30 400 300'."
            )
        found.append(Region(word == KEEP, *(int(n[:9]) for n in numbers)))
    return tuple(found)


def told(regions: tuple[Region, ...]) -> str:
    """The line of words that `parse` reads."""
    return ", ".join(map(str, regions))


@dataclass(frozen=True, eq=False)
class Mask:
    """Regions as shares of an image's width and height: the same for each of its sizes."""

    keep: Floats  # (k, 2, 2): corners
    drop: Floats

    @classmethod
    def of(cls, text: object, size: tuple[int, int]) -> Mask:
        """Of an image whose original has this width and height."""
        regions = parse(text)
        boxes = {
            keep: [[(r.left, r.top), (r.right, r.bottom)] for r in regions if r.keep is keep] for keep in (True, False)
        }
        made = (np.array(boxes[keep], np.float64).reshape(-1, 2, 2) / np.array(size) for keep in (True, False))
        return cls(*made)

    def allows(self, xy: Floats, size: tuple[int, int]) -> NDArray[np.bool_]:
        """Which of the points of an image of this width and height lie where points are looked for."""
        places = xy / np.array(size)
        kept = _inside(places, self.keep) if len(self.keep) else np.ones(len(xy), bool)
        return kept & ~_inside(places, self.drop)

    @property
    def share(self) -> float:
        """Of the image that is kept, about."""
        steps = (np.arange(GRID) + 0.5) / GRID
        return float(self.allows(np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2), (1, 1)).mean())


def _inside(places: Floats, boxes: Floats) -> NDArray[np.bool_]:
    """Which places lie in one of the boxes."""
    low, high = boxes[None, :, 0], boxes[None, :, 1]
    within = np.all((places[:, None] >= low) & (places[:, None] <= high), axis=2)
    return np.asarray(np.any(within, axis=1))


EVERYWHERE = Mask.of("", (1, 1))
