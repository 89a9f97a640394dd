"""`match(left, right)`: the one way from two images to what is shown; command line, app and experiments take it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import METHODS, Problem, Result
from adgm.explain.terms import Term, paid_terms, shares
from adgm.machine.lazy import once
from features.judge.confidence import confidences
from features.judge.metrics import Kind, Metrics, RoundedCurve, kinds, matched_pairs, measure
from features.judge.verification import Verification, verify
from features.models import MODELS
from features.models.base import Sense
from features.pairs import SIDES, Pair, PointSource, Source, TruthSource, as_points, as_truth, own_pair, read_pair
from features.recipe import MASKS, OWN, RULES, Recipe, method_options

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
        """How sure each match is, 0 to 1 (see `features.judge.confidence`); None where that is not calibrated."""
        if not MODELS[self.recipe.model].photographs:
            return None
        return confidences(self.problem, self.result.assignment)

    @property
    def strength_label(self) -> str:
        return STRENGTHS[self.sense]


def match(
    left: Source | Pair | Recipe | None,
    right: Source | Recipe | None = None,
    recipe: Recipe | None = None,
    *,
    points: tuple[PointSource, PointSource] = (None, None),
    truth: TruthSource = None,
    mask: tuple[str | None, str | None] = (None, None),
    name: str | None = None,
    curve: bool = False,
    watch: Callable[[Any], object] | None = None,
    every: int = 50,
    time_limit: float | None = None,
    **changes: Any,
) -> Matching:
    """Match two images (paths, files' bytes, pixels), a `Pair`, or the pair that a `Recipe` describes.

    The recipe says by which model and method, and how points are detected in images that come without any; without
    one, images are matched by the model for photographs on SIFT points, and points that are given by their graphs.
    `changes` are fields of the recipe, such as ``model="B", model_params={"sigma2": 900}, method="rrwm"``.

    `points` and `truth` are files (see `features.files.point_files`) or arrays: (n, 2) for the points of each side, in
    the original pixels of its image, and the partner of each left point, −1 for none. Points may come without images,
    as in ``match(None, None, points=(left, right))``. `mask` says for each side where points are looked for, such as
    ``("keep 40 30 400 300, drop 9 9 50 50", None)`` (`features.points.regions`). `watch`, `every` and `time_limit` are
    those of `adgm.solve`; with `curve` the assignments on the way are rounded too.
    """
    if isinstance(right, Recipe):
        if recipe is not None:
            raise ValueError("Two recipes were given; expected one.")
        right, recipe = None, right
    if isinstance(left, Pair | Recipe):
        beside = {"a right image": right, "points": points if _given(points) else None, "truth": truth, "name": name}
        beside |= {"a mask": mask if any(mask) else None}
        for what, value in beside.items():
            if value is not None:
                raise ValueError(f"A {type(left).__name__.lower()} was given, and {what} beside it; it has its own.")
    if isinstance(left, Recipe):
        if recipe is not None:
            raise ValueError("Two recipes were given; expected one.")
        recipe = _changed(left, changes)
        pair = recipe.pair()
    elif isinstance(left, Pair):
        recipe, pair = _changed(recipe or Recipe(OWN), changes), left
    else:
        recipe = _of_images((left, right), points, masked(recipe, mask), changes)
        pair = _own((left, right), points, truth, name, recipe)
    problem = recipe.problem(pair)
    rounded = RoundedCurve(problem) if curve else None
    seen = [each for each in (rounded, watch) if each is not None]
    result = recipe.run(
        problem, watch=lambda state: True in [each(state) for each in seen], every=every, time_limit=time_limit
    )
    return Matching(recipe, pair, problem, result, rounded)


def masked(recipe: Recipe | None, mask: tuple[str | None, str | None]) -> Recipe | None:
    """The recipe, of images if there is none, that looks for points only where the mask says."""
    told = {one.name: text for one, text in zip(MASKS, mask, strict=True) if text is not None}
    if not told:
        return recipe
    base = recipe or IMAGES
    if base.points == OWN:
        raise ValueError("A mask says where points are looked for; this recipe looks for none.")
    return replace(base, point_params={**base.point_params, **told})


def _given(points: Sequence[PointSource]) -> list[str]:
    """The sides whose points are given."""
    if not isinstance(points, tuple | list) or len(points) != 2:
        raise ValueError("points is a pair (left, right), each a file, an (n, 2) array or None.")
    return [side for side, spots in zip(SIDES, points, strict=True) if spots is not None]


def _changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with other fields, or an error that names what may have been meant."""
    fields = list(Recipe.__dataclass_fields__)
    known = [*fields, *(name for name in inspect.signature(match).parameters if name not in ("recipe", "changes"))]
    for name in changes:
        if name in fields:
            continue
        hint = "".join(f"; did you mean {near!r}?" for near in get_close_matches(name, known, 1)) or "."
        model, method = str(changes.get("model", recipe.model)), str(changes.get("method", recipe.method))
        if model in MODELS and name in [one.name for one in (*MODELS[model].parameters, *RULES)]:
            hint = f"; it is a parameter of the model: model_params={{{name!r}: …}}."
        elif method in METHODS and name in method_options(method):
            hint = f"; it is an option of the method: method_options={{{name!r}: …}}."
        raise TypeError(f"match has no option {name[:40]!r}{hint}")
    return replace(recipe, **changes)


def _of_images(
    images: tuple[Any, Any], points: tuple[PointSource, PointSource], recipe: Recipe | None, changes: Mapping[str, Any]
) -> Recipe:
    """How two images, or points without images, are matched; the record tells where the points are from."""
    both, lacking = len(_given(points)) == 2, sum(image is None for image in images)
    if lacking == 1:
        raise ValueError("One image was given; expected two, a pair, or a recipe.")
    if lacking and not both:
        raise ValueError("No image was given; expected two, or the points of both sides, or a pair, or a recipe.")
    if both and recipe is not None and any(recipe.point_params.get(one.name) for one in MASKS):
        raise ValueError("A mask says where points are looked for, and the points of both sides are given.")
    recipe = _changed(recipe or (LANDMARKS if both else IMAGES), changes)
    if both != (recipe.points == OWN):
        recipe = replace(recipe, points=OWN if both else IMAGES.points, point_params={})
    return recipe


def _own(
    images: tuple[Any, Any],
    points: tuple[PointSource, PointSource],
    truth: TruthSource,
    name: str | None,
    recipe: Recipe,
) -> Pair:
    if images[0] is None:
        left, right = (as_points(spots, f"{side} points") for side, spots in zip(SIDES, points, strict=True))
        known = as_truth(truth, (len(left), len(right)))
        return own_pair((None, None), (left, right), truth=known, name=name or "own pair")
    detector = None if recipe.points == OWN else recipe.points
    how: dict[str, Any] = {"detector": detector, "counts": recipe.wanted, "slants": recipe.slants}
    return read_pair(*images, points=points, truth=truth, name=name, **how)
