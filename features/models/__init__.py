"""MODELS: what it costs to match points, edges, triangles … One line here makes a model appear everywhere.

`MODELS[key].build(pair, **parameters)` is an `adgm.Problem`. Your own model: `MODELS["mine"] =
own_model(function)`.
"""

from features.models.base import Model
from features.models.combined import COMBINED
from features.models.given import GIVEN
from features.models.own import own_model
from features.models.pairwise import A, B, C
from features.models.photo import PHOTO
from features.models.sampled import AFFINE, THIRD

MODELS: dict[str, Model] = {
    "A": A,
    "B": B,
    "C": C,
    "third": THIRD,
    "affine": AFFINE,
    "combined": COMBINED,
    "photo": PHOTO,
    "given": GIVEN,
}

__all__ = ["MODELS", "Model", "own_model"]
