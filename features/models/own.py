"""A user's own model: a formula, or a function of two point sets, becomes an entry of MODELS in one line."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from math import inf

from adgm import Problem
from features.models.base import Model, Sense, number
from features.pairs import Pair
from features.parameters import Value


def own_model(
    function: Callable[..., Problem] | str,
    *,
    label: str | None = None,
    orders: tuple[int, ...] = (2,),
    sense: Sense = "cost",
    formula: str = "",
) -> Model:
    r"""A model from a formula, or from a function of two `Keypoints`, then perhaps numbers with defaults, to an
    `adgm.Problem`.

    For example, springs between all points, each matched to one of the other side:

        def springs(left, right, stiffness=1.0):
            "Distances hardly change, and every left point is on the right too."
            d1, d2 = cdist(left.xy, left.xy), cdist(right.xy, right.xy)
            spring = adgm.Formula(d1, d2, lambda a, b: stiffness * (a - b)[..., 0] ** 2)
            return adgm.Problem((len(left), len(right)), [spring], rows="exactly_one")

        MODELS["springs"] = own_model(springs)

    A text is a formula (`features.formulas`), as in `own_model("edges abs(d1 - d2)", label="Lengths")`, which says
    itself of which orders and sense it is.

    The numbers become the model's parameters, and the docstring's first line says when to use it. Costs are minimised;
    a function that returns negated similarities says so with `sense="similarity"`.
    """
    if isinstance(function, str):
        from features.formulas.build import model_of  # which needs the ready models

        found = model_of(function)
        return found if label is None else replace(found, label=label)
    name = getattr(function, "__name__", "the model")
    arguments = list(inspect.signature(function).parameters.values())
    if len(arguments) < 2:
        raise ValueError(f"{name} takes {len(arguments)} arguments; a model takes two Keypoints, then numbers")
    parameters = []
    for argument in arguments[2:]:
        if isinstance(argument.default, bool) or not isinstance(argument.default, int | float):
            raise ValueError(f"{argument.name} of {name} needs a number as its default, as in {argument.name}=1.0")
        step = 1 if isinstance(argument.default, int) else 0.01
        parameters.append(number(argument.name, "", argument.default, (-inf, inf), step, f"A number of {name}"))

    def terms(pair: Pair, **values: Value) -> Problem:
        problem = function(pair.left.points, pair.right.points, **values)
        if not isinstance(problem, Problem):
            raise ValueError(f"{name} returned a {type(problem).__name__}; a model returns an adgm.Problem")
        return problem

    use = (inspect.getdoc(function) or "A model of your own.").splitlines()[0]
    label = label or name.replace("_", " ").capitalize()
    return Model(label, orders, formula, sense, use, terms, tuple(parameters))
