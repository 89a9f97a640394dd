"""From images, points or a recipe to the tracks of several views, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from features.limits import LIMITS
from features.pairs import NOBODY, Source, View, as_image, as_points
from features.recipe import OWN, Recipe
from features.views.found import Views
from features.views.recipe import ViewsRecipe
from features.views.run import Step, ViewsRun, suited
from features.views.sets import VIEW_SETS
from features.views.view_set import Longs, ViewSet


def match_views(
    images: ViewSet | ViewsRecipe | Sequence[Source] | None = None,
    recipe: ViewsRecipe | None = None,
    *,
    points: Sequence[Any] | None = None,
    truth: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
    watch: Callable[[Step], object] | None = None,
    time_limit: float | None = None,
    **changes: Any,
) -> Views:
    """Match several views of a thing, so that the matches close: A → B → C → A leads back.

    Parameters
    ----------
    images : sequence of paths, bytes, arrays or Pillow pictures, ViewSet or ViewsRecipe
        The images, two or more; None: points alone. Or views that were read, or a recipe that names a set of views.
    recipe : ViewsRecipe, optional
        The model, the method, which pairs are compared and what makes tracks of them.
    points : sequence, optional
        The points of every view, as for `features.match`; without them they are detected, once per image.
    truth : sequence of int sequences, optional
        For every point of every view the number of the thing that it shows, −1 for none.
    names : sequence of str, optional
        Titles of the views.
    watch : callable, optional
        Told of every `Step`; the run stops when it returns True.
    time_limit : float, optional
        Seconds of computing for everything.
    **changes
        Fields of the recipe, such as ``plan="ring", joint="spectral"``, and of how a pair is matched, such as
        ``model="photo", method="adgm", point_params={"left": 300}``.

    Returns
    -------
    Views
        The tracks, the matchings of all pairs, the total energy, cycle errors, and how sure each track is.

    Raises
    ------
    ValueError
        What was given cannot be read or does not fit together, in a sentence.
    TypeError
        A field that there is not.

    Examples
    --------
    >>> from features.views import match_views
    >>> square = [[0, 0], [4, 0], [0, 3], [5, 5]]
    >>> found = match_views(points=[square, [[x + 9, y] for x, y in square], [[x, y + 9] for x, y in square]])
    >>> found.table.tolist()
    [[0, 0, 0], [1, 1, 1], [2, 2, 2], [3, 3, 3]]
    """
    if isinstance(images, ViewsRecipe):
        if recipe is not None:
            raise ValueError("Two recipes were given; expected one.")
        images, recipe = None, images
    if images is None and points is None and recipe is not None and recipe.dataset != OWN:
        images = VIEW_SETS[recipe.dataset].load(**dict[str, Any](recipe.dataset_params))
    if not isinstance(images, ViewSet):
        images = view_set_of(images, points=points, truth=truth, names=names)
    elif points is not None or truth is not None or names is not None:
        raise ValueError("Views were given, and points, truth or names beside them; they have their own.")
    return ViewsRun(images, changed(recipe, images, changes), time_limit=time_limit).finish(watch)


def changed(recipe: ViewsRecipe | None, view_set: ViewSet, changes: Mapping[str, Any]) -> ViewsRecipe:
    """The recipe with other fields; those of how a pair is matched go to what suits the views."""
    recipe = recipe or ViewsRecipe(OWN)
    own = {name: value for name, value in changes.items() if name in ("plan", "neighbours", "joint", "how")}
    pair = {name: value for name, value in changes.items() if name not in own}
    known = [name for name in Recipe.__dataclass_fields__ if not name.startswith("dataset")]
    for name in pair:
        if name not in known:
            raise TypeError(
                f"match_views has no option {name[:40]!r}; it has plan, neighbours, joint, {', '.join(known)}."
            )

    recipe = replace(recipe, **own)
    return replace(recipe, how=replace(recipe.how or suited(view_set), **pair)) if pair else recipe


def view_set_of(
    images: Sequence[Source] | None,
    *,
    points: Sequence[Any] | None = None,
    truth: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
) -> ViewSet:
    """Views from images, from points, or from both; points count in the pixels of the original images."""
    if images is None and points is None:
        raise ValueError("Neither images nor points were given.")
    count = len(images if images is not None else points or ())
    if images is not None and points is not None and len(images) != len(points):
        raise ValueError(f"{len(images)} images and the points of {len(points)} were given.")
    if count > LIMITS.views:
        raise ValueError(f"{count} views were given; at most {LIMITS.views} can be matched.")
    views = []
    titles = [f"view {k + 1}" for k in range(count)]
    for k in range(count):
        image = None if images is None else as_image(images[k], titles[k])
        if images is not None and isinstance(source := images[k], str | Path):
            titles[k] = Path(source).name
        spots = NOBODY if points is None else as_points(points[k], f"points of {titles[k]}")
        views.append(View(image, spots if image is None else spots.scaled(image.scale)))
    known: tuple[Longs, ...] | None = None
    if truth is not None:
        known = tuple(np.asarray(one, np.int64) for one in truth)
    complete = points is not None and len({len(view.points) for view in views}) == 1
    if known is not None:
        complete = complete and all(np.array_equal(np.sort(one), np.sort(known[0])) for one in known)
    return ViewSet(tuple(views), tuple(names or titles), "views", known, complete=complete)
