"""The parts of a model that is a sum: model C's length and direction are two parts of one potential."""

from features.formulas.build import Part, parts
from features.formulas.ready import READY
from features.formulas.records import FormulaText
from features.formulas.text import model_text
from features.models import MODELS, written
from features.pairs import Pair
from features.recipe import CONSTRAINED, Recipe


def formula_of(key: str) -> FormulaText | None:
    """The formula of a model, its own or that of a ready model; None where it has none."""
    text = key if written(key) else READY.get(key)
    return None if text is None else model_text(text)


def summands(recipe: Recipe, pair: Pair) -> list[Part] | None:
    """The potentials of a recipe's model by summand; None where it is no formula."""
    formula = formula_of(recipe.model)
    if formula is None:
        return None
    values = {name: value for name, value in recipe.model_params.items() if name not in CONSTRAINED}
    return parts(formula, pair, MODELS[recipe.model].values(**values), summands=True)
