"""Tensors and pictures of other libraries as NumPy arrays, recognised by what they can do: nothing is imported."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

CHANNELS = (1, 3, 4)  # of an image


@runtime_checkable
class Tensor(Protocol):
    """What a PyTorch tensor can do, as far as it is needed here."""

    def detach(self) -> Any: ...
    def cpu(self) -> Any: ...
    def numpy(self) -> Any: ...


def as_array(value: Any) -> Any:
    """A tensor, on any device, as a NumPy array; anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    found: Any = value.detach().cpu()
    try:
        return np.asarray(found.numpy())
    except TypeError:  # bfloat16 has no kind in NumPy
        return np.asarray(found.float().numpy())


def as_pixels(value: Any) -> Any:
    """A tensor as an image array: its channels come first, (c, h, w), perhaps in a batch of one; else as it is."""
    if not isinstance(value, Tensor):
        return value
    pixels: NDArray[Any] = as_array(value)
    if pixels.ndim == 4 and len(pixels) == 1:
        pixels = pixels[0]
    return np.moveaxis(pixels, 0, -1) if pixels.ndim == 3 and len(pixels) in CHANNELS else pixels
