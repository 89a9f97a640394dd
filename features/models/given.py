"""The model of a problem that is there already: a file's, or an instance of a benchmark."""

from adgm import Problem
from features.models.base import Model
from features.pairs import Pair


def terms(pair: Pair) -> Problem:
    """The problem that comes with the pair."""
    if pair.given is None:
        raise ValueError(f"{pair.name} comes without costs of its own; open a problem file, or choose another model.")
    return pair.given


GIVEN = Model(
    label="Given costs",
    orders=(1, 2),
    formula=r"F^1_{i_1i_2},\ F^2_{i_1i_2,\,j_1j_2}\ \text{as they come with the pair}",
    sense="cost",
    use="A problem file or an instance of a benchmark: its own costs and constraints, as they are.",
    terms=terms,
    given=True,
    complete=False,
)
