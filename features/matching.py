"""`match(left, right)`: the one way from two images to what is shown; command line, app and experiments take it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from adgm import METHODS, Problem, Result
from adgm.explain.terms import Term, paid_terms, shares
from adgm.machine.lazy import once
from adgm.machine.progress import Progress
from features.files.nx_graphs import Graph, graph_pair
from features.judge.confidence import confidences
from features.judge.metrics import Kind, Metrics, RoundedCurve, kinds, matched_pairs, measure
from features.judge.verification import Verification, verify
from features.models import MODELS
from features.models.base import Sense
from features.pairs import SIDES, Pair, PointSource, Source, TruthSource, read_pair
from features.recipe import MASKS, OWN, RULES, Recipe, method_options

if TYPE_CHECKING:
    from features.plots.notebook import Animation

STRENGTHS: dict[Sense, str] = {"similarity": "share of the score", "cost": "share of the cost, negated"}
# What two images without points are matched by, and points that somebody gave (then the smaller side completely).
IMAGES = Recipe(OWN, model="photo", points="sift", point_params={"left": 500, "right": 500})
LANDMARKS = Recipe(OWN, model="A")
GIVEN = Recipe(OWN, model="given")  # of a pair that brings its own costs


def suited(pair: Pair) -> Recipe:
    """What a pair of one's own is matched by, unless something else is chosen: by the costs that it brings, else given
    points by their graphs, images without points by what can be detected in them."""
    if pair.given is not None:
        return GIVEN
    return LANDMARKS if min(pair.shape) > 0 else IMAGES


@dataclass(frozen=True, eq=False)
class Matching:
    """A run with everything that is shown of it; what takes time is computed when it is first asked for.

    In a notebook it is drawn: the pair with its lines, what it is worth, and the verdict.

    Parameters
    ----------
    recipe : Recipe
        The model, the method and how points were detected; ``recipe.as_python()`` is a program that repeats it.
    pair : Pair
        The images, the points in working pixels, and the truth if it is known.
    problem : Problem
        What was minimised.
    result : Result
        How the run ended.
    curve : RoundedCurve, optional
        Energies of rounded assignments on the way, where they were asked for.

    Raises
    ------
    ValueError
        Nothing of its own: what is computed late complains as it would have early.

    Examples
    --------
    >>> from features import match
    >>> from features.recipe import Recipe
    >>> found = match(Recipe("random", {"noise": 0}, model="B"))
    >>> found.metrics.accuracy, found.metrics.verdict, found.pairs.shape[1]
    (1.0, 'both agree', 2)
    """

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
        neighbours = MODELS[self.recipe.model].photographs
        return verify(self.pair, self.pairs, kinds=maps, neighbours=neighbours) if maps else None

    @once
    def confidence(self) -> NDArray[np.float64] | None:
        """How sure each match is, 0 to 1 (see `features.judge.confidence`); None where that is not calibrated."""
        if not MODELS[self.recipe.model].photographs:
            return None
        return confidences(self.problem, self.result.assignment)

    @property
    def strength_label(self) -> str:
        return STRENGTHS[self.sense]

    def __repr__(self) -> str:
        return f"Matching({self.pair.name!r}, {self.recipe.title!r}, {len(self.pairs)} matches, {self.result!r})"

    def _repr_html_(self) -> str:
        from features.plots.notebook import matching_cell

        return matching_cell(self)

    def animation(self, width: int = 760) -> "Animation":
        """The same run again as a moving picture: a notebook plays it, its `save(path)` writes a GIF."""
        from features.plots.notebook import animate

        return animate(self, width)


class RecipeFields(TypedDict, total=False):
    """The fields of a `Recipe` that a caller of `match` may name; its points are the parameter `points`."""

    dataset: str
    dataset_params: Mapping[str, Any]
    model: str
    model_params: Mapping[str, Any]
    method: str
    method_options: Mapping[str, Any]
    point_params: Mapping[str, Any]
    check: str


class Options(RecipeFields, total=False):
    """Those, and how the run is followed."""

    curve: bool
    watch: Callable[[Any], object] | None
    every: int
    time_limit: float | None
    progress: bool


@dataclass(frozen=True)
class Following:
    """How a run is followed; see `match`."""

    curve: bool = False
    watch: Callable[[Any], object] | None = None
    every: int = 50
    time_limit: float | None = None
    progress: bool = False

    def solve(self, recipe: Recipe, pair: Pair) -> Matching:
        """Build the problem and solve it."""
        problem = recipe.problem(pair)
        rounded = RoundedCurve(problem) if self.curve else None
        seen = [each for each in (rounded, self.watch) if each is not None]

        def look(state: Any) -> bool:
            return True in [each(state) for each in seen]

        most = getattr(recipe.method_object(), "max_iter", None)
        with Progress(most, look) if self.progress else nullcontext(look) as watch:
            result = recipe.run(problem, watch=watch, every=self.every, time_limit=self.time_limit)
        return Matching(recipe, pair, problem, result, rounded)


FOLLOWING = tuple(Following.__dataclass_fields__)


@dataclass(frozen=True)
class Beside:
    """What is given to `match` beside two images."""

    points: tuple[PointSource, PointSource]
    truth: TruthSource
    mask: tuple[str | None, str | None]
    name: str | None

    def alone(self, what: str, *, right: object = None, allowed: Collection[str] = ()) -> None:
        """Refuse all but what is `allowed` beside something that has its own."""
        given = {
            "a right image": right,
            "points": _given(self.points) or None,
            "truth": self.truth,
            "name": self.name,
            "a mask": self.mask if any(self.mask) else None,
        }
        for name, value in given.items():
            if value is not None and name not in allowed:
                raise ValueError(f"A {what} was given, and {name} beside it; it has its own.")


def match(
    left: Source | Graph | Pair | Recipe | None,
    right: Source | Graph | Recipe | None = None,
    recipe: Recipe | None = None,
    *,
    points: tuple[PointSource, PointSource] = (None, None),
    truth: TruthSource = None,
    mask: tuple[str | None, str | None] = (None, None),
    name: str | None = None,
    **options: Unpack[Options],
) -> Matching:
    """Match two images, two sets of points or two graphs.

    What is given chooses the model, unless `recipe` or `options` do: images the one for photographs, on SIFT points;
    points their graphs (model A); networkx graphs, and pairs that bring a problem, their own costs.

    Parameters
    ----------
    left, right : path, bytes, array, PyTorch tensor, Pillow picture, networkx graph or None
        The images. An array is (h, w), (h, w, 3) or (h, w, 4), of 8 or 16 bits or floats from 0 to 1; a tensor's
        channels come first. None: points without images. In the place of both: a `Pair`, or a `Recipe` that names one.
    recipe : Recipe, optional
        The model, the method and how points are detected.
    points : pair of path, bytes, array, tensor, list or None
        The points of both sides, (n, 2): x and y in the original pixels of their image.
    truth : path, bytes, array, tensor or list, optional
        The right partner of every left point, −1 for none.
    mask : pair of str
        Where points are looked for, such as ``("keep 40 30 400 300, drop 9 9 50 50", None)`` in pixels.
    name : str, optional
        A title of the pair.
    **options
        Fields of the recipe, such as ``model="B", model_params={"sigma2": 900}, method="rrwm"``. And how the run is
        followed: `watch`, `every`, `time_limit`, `progress` as in `adgm.solve` (a function told of the run every so
        many iterations, seconds of computing, a line on stderr); with ``curve=True`` assignments on the way are
        rounded, too, for `Matching.curve`.

    Returns
    -------
    Matching
        The matched pairs, their energy and metrics, the verification; in a notebook it is drawn.

    Raises
    ------
    ValueError
        What was given cannot be read or does not fit together, in a sentence.
    TypeError
        An option that there is not.

    Examples
    --------
    >>> from features import match
    >>> left = [[0, 0], [4, 0], [0, 3], [5, 5]]
    >>> right = [[x + 9, y + 9] for x, y in left]
    >>> match(None, None, points=(left, right)).pairs.tolist()
    [[0, 0], [1, 1], [2, 2], [3, 3]]
    """
    following = Following(**{one: options.pop(one) for one in FOLLOWING if one in options})  # type: ignore[misc]
    if isinstance(right, Recipe):
        if recipe is not None:
            raise ValueError("Two recipes were given; expected one.")
        right, recipe = None, right
    return following.solve(*_chosen(left, right, recipe, Beside(points, truth, mask, name), options))


def _chosen(
    left: Source | Graph | Pair | Recipe | None,
    right: Source | Graph | None,
    recipe: Recipe | None,
    beside: Beside,
    changes: Mapping[str, Any],
) -> tuple[Recipe, Pair]:
    """How things are matched, and the pair that they make."""
    if isinstance(left, Recipe):
        beside.alone("recipe", right=right)
        if recipe is not None:
            raise ValueError("Two recipes were given; expected one.")
        recipe = _changed(left, changes)
        return recipe, recipe.pair()
    if isinstance(left, Pair):
        beside.alone("pair", right=right)
        return of_pair(left, _changed(recipe or suited(left), changes))
    if isinstance(left, Graph) or isinstance(right, Graph):
        if not (isinstance(left, Graph) and isinstance(right, Graph)):
            raise ValueError("One graph was given; expected two.")
        beside.alone("graph", allowed=("truth", "name"))
        return _changed(recipe or GIVEN, changes), graph_pair(left, right, beside.truth, beside.name)
    recipe = _of_images((left, right), beside.points, masked(recipe, beside.mask), changes)
    detector = None if recipe.points == OWN else recipe.points
    how: dict[str, Any] = {"detector": detector, "counts": recipe.wanted, "slants": recipe.slants}
    pair = read_pair(left, right, points=beside.points, truth=beside.truth, name=beside.name, **how)
    return recipe, pair


def of_pair(pair: Pair, recipe: Recipe) -> tuple[Recipe, Pair]:
    """The recipe and the pair; one with images and without points gets those that the recipe detects."""
    seen = pair.left.image is not None and pair.right.image is not None
    if recipe.points != OWN and seen and not min(pair.shape):
        pair = pair.detected(recipe.points, recipe.wanted, slants=recipe.slants)
    return recipe, pair


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
    known = [*fields, "left", "right", *Beside.__dataclass_fields__, *FOLLOWING]
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
