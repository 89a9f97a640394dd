"""A model as a formula: the parts of one that is a sum, as model C is, and a ready one to start from."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from features.formulas.build import Part, names_of, parts
from features.formulas.ready import READY
from features.formulas.text import model_text
from features.formulas.typeset import Curve, curve
from features.models import MODELS, written
from features.pairs import Pair
from features.recipe import CONSTRAINED, Recipe

CURVE = 80  # places of a curve


def as_formula(recipe: Recipe) -> Recipe | None:
    """The same run with its ready model as a formula, to be changed from there; None where the model has none."""
    if recipe.model not in READY:
        return None
    text, values = READY[recipe.model], dict(recipe.model_params)
    if recipe.model in ("third", "affine"):
        text = sampled_text(text, MODELS[recipe.model].values(**_own(recipe)))
    known = {*CONSTRAINED, *(one.name for one in model_text(text).parameters)}
    return replace(recipe, model=text, model_params={name: value for name, value in values.items() if name in known})


def sampled_text(text: str, values: Mapping[str, Any]) -> str:
    """The text of a model that samples, with its parameters in the place where a formula has them."""
    formula = model_text(text)
    (term,) = formula.terms
    every, tuples, neighbours = values["sampling"] == "all", int(values["tuples"]), int(values["neighbours"])
    place = replace(
        term.place,
        graph="all" if every else "",
        sample=0 if every else tuples,
        with_nearest=0 if every else neighbours,
    )
    return replace(formula, terms=(replace(term, place=place),)).text


def _own(recipe: Recipe) -> dict[str, Any]:
    return {name: value for name, value in recipe.model_params.items() if name not in CONSTRAINED}


def part_names(recipe: Recipe) -> list[str] | None:
    """What the summands of a recipe's model are called, in the order of `summands`; None where it is no formula."""
    own = _written(recipe)
    return None if own is None else names_of(model_text(own.model))


def summands(recipe: Recipe, pair: Pair) -> list[Part]:
    """The potentials of a model that is a formula, by summand."""
    own = _written(recipe)
    assert own is not None
    return parts(model_text(own.model), pair, MODELS[own.model].values(**_own(own)), summands=True)


def curves_of(recipe: Recipe) -> Iterator[tuple[str, Curve]]:
    """What each potential of a formula costs over each of the names that it depends on; nothing where it is none."""
    own = _written(recipe)
    if own is None:
        return
    values = MODELS[own.model].values(**_own(own))
    for term in model_text(own.model).terms:
        for name in (*term.quantities, *term.parameters):
            yield term.what, curve(term, name, values, count=CURVE)


def _written(recipe: Recipe) -> Recipe | None:
    return recipe if written(recipe.model) else as_formula(recipe)
