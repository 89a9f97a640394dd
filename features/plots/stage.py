"""Where the two views of a pair are drawn, and its lines by kind: for matplotlib (`pair`) and for SVG (`notebook`)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from features.judge.metrics import Kind, kinds_of
from features.pairs import Pair, View

Floats = NDArray[np.float64]
DrawnLine = tuple[Kind, int, int]  # a left and a right point, and what is known about them

GAP = 0.02  # between the two views, as a share of their width


class Stage:
    """Both views on the same axes, equally high side by side, or equally wide one below the other."""

    def __init__(self, pair: Pair, stacked: bool | None = None) -> None:
        self.views = pair.left, pair.right
        boxes = [_box(view) for view in self.views]
        (w1, h1), (w2, h2) = (box[1] - box[0] for box in boxes)
        self.stacked = min(w1 / h1, w2 / h2) > 1.9 if stacked is None else stacked
        factor = w1 / w2 if self.stacked else h1 / h2
        gap = GAP * w1
        corner = np.array([0.0, h1 + gap]) if self.stacked else np.array([w1 + gap, 0.0])
        self.places = [(boxes[0][0], 1.0, np.zeros(2)), (boxes[1][0], factor, corner)]
        self.boxes = boxes
        self.size = (w1, h1 + gap + h2 * factor) if self.stacked else (w1 + gap + w2 * factor, h1)

    def at(self, side: int, xy: Floats) -> Floats:
        """Points of a view on the common axes."""
        low, factor, corner = self.places[side]
        return np.asarray((xy - low) * factor + corner)

    def segments(self, pairs: NDArray[np.int64]) -> Floats:
        """(k, 2, 2): a line for each pair."""
        ends = [self.at(side, view.points.xy)[pairs[:, side]] for side, view in enumerate(self.views)]
        return np.stack(ends, axis=1)


def _box(view: View) -> tuple[Floats, Floats]:
    """The corners of the view's image, or of a sheet with room around its points."""
    if view.image is not None:
        return np.full(2, -0.5), np.array(view.image.size) - 0.5
    xy = view.points.xy if len(view.points) else np.zeros((1, 2))
    low, high = xy.min(axis=0), xy.max(axis=0)
    room = 0.08 * (high - low).max() or 1.0  # in any unit: positions of a graph are often between 0 and 1
    centre, half = (low + high) / 2, np.maximum((high - low) / 2 + room, (high - low).max() / 4 + room)
    return centre - half, centre + half


def lines_of(pair: Pair, pairs: ArrayLike) -> dict[Kind, NDArray[np.int64]]:
    """The lines of a matching by kind, the missed ones among them; of one kind where the truth is unknown."""
    found = np.asarray(pairs, np.int64).reshape(-1, 2)
    return kinds_of(pair, found) if pair.judged else {"correct": found}


def common(pair: Pair, best: ArrayLike, other: ArrayLike) -> set[DrawnLine]:
    """The lines of another matching that the best one has, too, of the same kind; none if the two are equal."""
    one, two = (
        {(kind, i, j) for kind, some in lines_of(pair, pairs).items() for i, j in some.tolist()}
        for pairs in (best, other)
    )
    return set() if one == two else one & two
