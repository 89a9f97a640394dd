"""MODELS: what it costs to match points, edges, triangles … One line here makes a model appear everywhere.

`MODELS[key].build(pair, **parameters)` is an `adgm.Problem`. Your own model: `MODELS["mine"] =
own_model(function)`.
"""

from features.models.base import Model, Parameter
from features.models.combined import COMBINED
from features.models.own import own_model
from features.models.pairwise import A, B, C
from features.models.sampled import AFFINE, THIRD

MODELS: dict[str, Model] = {"A": A, "B": B, "C": C, "third": THIRD, "affine": AFFINE, "combined": COMBINED}

__all__ = ["MODELS", "Model", "Parameter", "own_model"]
