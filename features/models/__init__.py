"""MODELS: what it costs to match points, edges, triangles … One line here makes a model appear everywhere.

`MODELS[key].build(pair, **parameters)` is an `adgm.Problem`. Your own model is a formula, which is its own key
(`features.formulas`), as in `MODELS["edges (d1 - d2)^2"]`; or a function: `MODELS["mine"] = own_model(function)`.
"""

from features.models.base import Model
from features.models.combined import COMBINED
from features.models.given import GIVEN
from features.models.own import own_model
from features.models.pairwise import A, B, C
from features.models.photo import PHOTO
from features.models.sampled import AFFINE, THIRD, sampled_tuples


class Models(dict[str, Model]):
    """Models by their keys, those of the registry; any other text of several words is read as a formula, and a
    `FormulaError` says what is wrong with one."""

    def __missing__(self, key: str) -> Model:
        from features.formulas.build import model_of  # which needs the models that are ready

        if not written(key):
            raise KeyError(key)
        return model_of(key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or (isinstance(key, str) and written(key))


def written(key: str) -> bool:
    """Whether a key is a model's text, and no name: a line has two words or more."""
    return len(key.split()) > 1


MODELS = Models(
    {
        "A": A,
        "B": B,
        "C": C,
        "third": THIRD,
        "affine": AFFINE,
        "combined": COMBINED,
        "photo": PHOTO,
        "given": GIVEN,
    }
)

__all__ = ["MODELS", "Model", "own_model", "sampled_tuples", "written"]
