"""VIEW_SETS: where several views of one thing come from, by key. One line adds a set to the page and the commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from features.datasets import oxford, sequences, turntable, willow
from features.datasets.base import tolerance_parameter
from features.datasets.download import available
from features.limits import LIMITS
from features.pairs import NOBODY, View, plain_seed
from features.parameters import Parameter, Value, checked, seed_parameter
from features.points.keypoints import Keypoints
from features.views.view_set import ViewSet

SEED = seed_parameter("Another seed, another order of the points of every view, and others that are dropped")
DROP = Parameter("drop", "Dropped", "float", 0.0, "Share of the points of every view that it does not see.", 0, 0.9)


@dataclass(frozen=True, eq=False)
class ViewsData:
    """Where sets of views come from."""

    key: str
    label: str
    description: str
    builtin: bool
    parameters: tuple[Parameter, ...]
    make: Callable[..., ViewSet]  # make(images=..., **values), with every parameter given; nothing shuffled or dropped
    available: Callable[[], bool] = lambda: True
    download: str = ""  # the data set to download

    def load(self, *, images: bool = True, **given: Any) -> ViewSet:
        """The views, without a share of their points, in an order of their own; ``images=False``: points alone."""
        if given.get("seed", 0) is None:
            given["seed"] = -1
        usual: dict[str, Value] = {one.name: one.default for one in self.parameters}
        values: dict[str, Any] = usual | checked(self.parameters, given, self.label)
        seed, drop = values.pop("seed"), values.pop("drop", 0.0)
        made = self.make(images=images, **values, seed=plain_seed(seed))
        return made.dropped(drop, seed).shuffled(seed)


def spread(first: int, last: int, count: int) -> list[int]:
    """So many different whole numbers from first to last, evenly."""
    if abs(last - first) + 1 < count:
        raise ValueError(f"{count} views were asked for between {first} and {last}; there are {abs(last - first) + 1}.")
    return [round(x) for x in np.linspace(first, last, count).tolist()]


def how_many(default: int, most: int = LIMITS.views) -> Parameter:
    return Parameter("count", "Views", "int", default, "How many views.", 2, most)


def _turntable(*, images: bool, count: int, first: int, last: int, points: int, noise: float, seed: int) -> ViewSet:
    """The landmarks that each view sees."""
    rng = np.random.default_rng([seed, 3])
    views, truth, angles = [], [], spread(first, last, count)
    names = [mark.name for mark in turntable.scene()[1]]
    for angle in angles:
        xy, seen = turntable.positions(angle)
        some = np.flatnonzero(seen)[:points]
        spots = Keypoints(
            xy[some] + rng.normal(0, noise, (len(some), 2)), labels=tuple(names[k] for k in some.tolist())
        )
        views.append(View(turntable.picture(angle) if images else None, spots))
        truth.append(some)
    return ViewSet(tuple(views), tuple(f"{angle}°" for angle in angles), "Turntable", tuple(truth))


def _frames(key: str, *, images: bool, count: int, first: int, last: int, seed: int) -> ViewSet:
    """The same thirty points in every frame."""
    frames = spread(first, last, count)
    views = tuple(
        View(sequences.frame_image(key, k) if images else None, sequences.frame_points(key, k)) for k in frames
    )
    truth = tuple(np.arange(sequences.POINTS) for _ in frames)
    return ViewSet(views, tuple(f"frame {k}" for k in frames), key.capitalize(), truth, complete=True)


def _willow(*, images: bool, kind: str, count: int, draw: int, seed: int) -> ViewSet:
    """The same ten landmarks in every photograph."""
    known = willow.names()[kind]
    if count > len(known):
        raise ValueError(f"{count} views were asked for; there are {len(known)} photographs of the class {kind}.")
    chosen: Sequence[str] = known[:count]
    if draw:
        chosen = [known[k] for k in sorted(np.random.default_rng([draw, 6]).permutation(len(known))[:count].tolist())]
    views = tuple(View(willow.photograph(name) if images else None, willow.landmarks(name)) for name in chosen)
    truth = tuple(np.arange(willow.LANDMARKS) for _ in chosen)
    names = tuple(PurePosixPath(name).name for name in chosen)
    return ViewSet(views, names, f"Willow {kind}", truth, complete=True)


def _oxford(*, images: bool, scene: str, count: int, tolerance: float, seed: int) -> ViewSet:
    """Photographs without points, and the maps between them."""
    views, maps = [], []
    for number in range(1, count + 1):
        picture = oxford.photograph(scene, number)
        known = np.eye(3) if number == 1 else oxford.homography(scene, number)
        views.append(View(picture, NOBODY))
        first = views[0].image
        assert first is not None
        maps.append(np.diag([picture.scale] * 2 + [1.0]) @ known @ np.diag([1 / first.scale] * 2 + [1.0]))
    names = tuple(f"photograph {k + 1}" for k in range(count))
    return ViewSet(tuple(views), names, f"Oxford {scene}", maps=tuple(maps), tolerance=tolerance)


def _sequence(key: str, description: str) -> ViewsData:
    last = sequences.FRAMES[key] - 1
    return ViewsData(
        key=key,
        label=f"CMU {key.capitalize()}",
        description=description,
        builtin=False,
        parameters=(
            how_many(8),
            Parameter("first", "First frame", "int", 0, "The frames are spread evenly from this one …", 0, last),
            Parameter("last", "Last frame", "int", last, "… to this one.", 0, last),
            DROP,
            SEED,
        ),
        make=partial(_frames, key),
        available=partial(available, key),
        download=key,
    )


TURNTABLE = ViewsData(
    key="turntable",
    label="Turntable",
    description="A little house that we draw ourselves, with the landmarks that each side shows.",
    builtin=True,
    parameters=(
        how_many(6),
        Parameter("first", "First view", "int", 20, "On the turntable; 45 is the front.", 0, 90, unit="°"),
        Parameter("last", "Last view", "int", 70, "The views are spread evenly up to this one.", 0, 90, unit="°"),
        Parameter("points", "Points", "int", 64, "At most the first so many that a view shows.", 4, 64),
        Parameter("noise", "Noise", "float", 0.0, "Standard deviation of the positions.", 0, 20, unit="px"),
        DROP,
        SEED,
    ),
    make=_turntable,
)
HOUSE = _sequence("house", "Frames of a toy house on a turntable, with the same 30 points in each.")
HOTEL = _sequence("hotel", "Frames of a toy hotel seen from changing sides, with the same 30 points in each.")
WILLOW = ViewsData(
    key="willow",
    label="Willow",
    description="Photographs of different cars, ducks and others, with the same ten landmarks in each.",
    builtin=False,
    parameters=(
        Parameter("kind", "Class", "choice", "Car", "What the photographs show.", choices=willow.CLASSES),
        how_many(8),
        Parameter("draw", "Draw", "int", 0, "0 takes the first photographs; other numbers, others.", 0, 999),
        DROP,
        SEED,
    ),
    make=_willow,
    available=lambda: bool(willow.classes()),
    download="willow",
)
OXFORD = ViewsData(
    key="oxford",
    label="Oxford",
    description="Photographs of a scene under changes of view, zoom, blur or light; points are detected, maps known.",
    builtin=False,
    parameters=(
        Parameter("scene", "Scene", "choice", "graf", "What is seen.", choices=tuple(oxford.SCENES)),
        how_many(oxford.LAST, oxford.LAST),
        tolerance_parameter(),
        seed_parameter("Of no effect: points are detected"),
    ),
    make=_oxford,
    available=oxford.available,
    download="oxford",
)

VIEW_SETS: dict[str, ViewsData] = {one.key: one for one in (TURNTABLE, HOUSE, HOTEL, WILLOW, OXFORD)}
