"""`match(left, right)`: the one way from two images to what is shown; command line, app and experiments take it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import Problem, Result
from adgm.once import once
from adgm.terms import Term, paid_terms, shares
from features.confidence import confidences
from features.metrics import Kind, Metrics, RoundedCurve, kinds, matched_pairs, measure
from features.models import MODELS
from features.models.base import Sense
from features.pairs import Pair, PointSource, Source, read_pair
from features.recipe import OWN, Recipe
from features.verification import Verification, verify

STRENGTHS: dict[Sense, str] = {"similarity": "share of the score", "cost": "share of the cost, negated"}
# What two images without points are matched by, and points that somebody gave (then the smaller side completely).
IMAGES = Recipe(OWN, model="photo", points="sift", point_params={"left": 500, "right": 500})
LANDMARKS = Recipe(OWN, model="A")


def suited(pair: Pair) -> Recipe:
    """What a pair of one's own is matched by, unless something else is chosen: given points by their graphs, images
    without points by what can be detected in them."""
    return LANDMARKS if min(pair.shape) > 0 else IMAGES


@dataclass(frozen=True, eq=False)
class Matching:
    """A run with everything that is shown of it; what takes time is computed when it is first asked for."""

    recipe: Recipe
    pair: Pair
    problem: Problem
    result: Result[Any]
    curve: RoundedCurve | None = None  # energies of rounded assignments on the way, where they were asked for

    @property
    def sense(self) -> Sense:
        return MODELS[self.recipe.model].sense

    @once
    def pairs(self) -> NDArray[np.int64]:
        """The matched pairs (left point, right point), k × 2, numbered from 0."""
        return matched_pairs(self.problem, self.result.assignment)

    @once
    def metrics(self) -> Metrics:
        return measure(self.pair, self.problem, self.result.assignment, self.sense)

    @once
    def kinds(self) -> list[Kind] | None:
        """What each match is, "correct", "wrong" or "stray"; None where the truth is unknown."""
        return kinds(self.pair, self.pairs) if self.pair.judged else None

    @once
    def relaxed(self) -> NDArray[np.float64]:
        """The relaxed value of each match when the run ended."""
        return np.asarray(self.result.x[self.pairs[:, 0], self.pairs[:, 1]])

    @once
    def terms(self) -> list[Term]:
        """Every term of the energy that the matching pays."""
        return paid_terms(self.problem, self.result.assignment)

    @once
    def shares(self) -> dict[tuple[int, int], float]:
        """Each match's part of the energy; they sum to it."""
        return shares(self.terms)

    @once
    def strengths(self) -> NDArray[np.float64]:
        """How strong each match is, larger is better: minus its share of the energy.

        Lines are drawn by this and not by the relaxed value, which is 1 for every match once a run has converged.
        """
        return np.array([0.0 - self.shares.get((i, j), 0.0) for i, j in self.pairs.tolist()])

    @once
    def verification(self) -> Verification | None:
        """The map that the matches obey, and those that it finds beside them; None if they are not to be checked."""
        maps = self.recipe.maps
        return verify(self.pair, self.pairs, kinds=maps) if maps else None

    @once
    def confidence(self) -> NDArray[np.float64] | None:
        """How sure each match is, 0 to 1 (see `features.confidence`); None where that is not calibrated."""
        if not MODELS[self.recipe.model].photographs:
            return None
        return confidences(self.problem, self.result.assignment)

    @property
    def strength_label(self) -> str:
        return STRENGTHS[self.sense]


def match(
    left: Source | Pair | Recipe,
    right: Source | None = None,
    recipe: Recipe | None = None,
    *,
    points: tuple[PointSource, PointSource] = (None, None),
    truth: str | Path | bytes | None = None,
    name: str | None = None,
    curve: bool = False,
    watch: Callable[[Any], object] | None = None,
    every: int = 50,
    time_limit: float | None = None,
    **changes: Any,
) -> Matching:
    """Match two images (paths, files' bytes, pixels), a `Pair`, or the pair that a `Recipe` describes.

    The recipe says by which model and method, and how points are detected in images that come without any; without
    one, images are matched by the model for photographs on SIFT points. `changes` are fields of the recipe, such as
    ``model="B", model_params={"sigma2": 900}, method="rrwm"``. `points` and `truth` are files (see
    `features.point_files`); `watch`, `every` and `time_limit` are those of `adgm.solve`; with `curve` the assignments
    on the way are rounded too.
    """
    if isinstance(left, Recipe):
        recipe = replace(left, **changes)
        pair = recipe.pair()
    elif isinstance(left, Pair):
        recipe = replace(recipe or Recipe(OWN), **changes)
        pair = left
    elif right is None:
        raise ValueError("One image was given; expected two, a pair, or a recipe.")
    else:
        recipe = replace(recipe or IMAGES, **changes)
        if (given := None not in points) != (recipe.points == OWN):  # the record tells where the points are from
            recipe = replace(recipe, points=OWN if given else IMAGES.points, point_params={})
        detector = None if given else recipe.points
        pair = read_pair(
            left,
            right,
            points=points,
            truth=truth,
            detector=detector,
            counts=recipe.counts,
            slants=recipe.slants,
            name=name,
        )
    problem = recipe.problem(pair)
    rounded = RoundedCurve(problem) if curve else None
    seen = [each for each in (rounded, watch) if each is not None]
    result = recipe.run(
        problem, watch=lambda state: True in [each(state) for each in seen], every=every, time_limit=time_limit
    )
    return Matching(recipe, pair, problem, result, rounded)
