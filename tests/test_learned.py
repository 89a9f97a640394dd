"""Points of networks: the loading code on a tiny network made here, the words where something is not installed, and the
real networks where they are."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features import plugins
from features.datasets import warp
from features.judge import comparison
from features.judge.classics import CLASSICS
from features.pairs import Pair, View
from features.points import learned, onnx_network
from features.points.images import from_array
from features.points.keypoints import DETECTORS, Keypoints, detect
from features.points.onnx_network import described, onnx_detector

here = pytest.mark.skipif(bool(learned.missing()), reason=learned.missing())


def pair_of(detector, count=300):
    images = warp.photograph(), warp.warped("homography", 0.4, 2.0, 3)
    views = [View(image, detect(image, detector, count)) for image in images]
    return Pair(*views, homography=warp.forward_map("homography", 0.4, 3))


# ---- what is not installed ---------------------------------------------------------------------------------------


def test_what_is_not_installed_says_so_with_the_command(monkeypatch):
    monkeypatch.setattr(learned, "NEEDED", ("no_such_package", "numpy"))
    assert DETECTORS["aliked"].title == "ALIKED (not installed)"
    with pytest.raises(ValueError, match=r"ALIKED cannot be used: no_such_package not installed: pip install"):
        detect(warp.photograph(), "aliked", 10)
    pair = Pair(*[View(warp.photograph(), Keypoints([[9.0, 9.0]]))] * 2)
    assert "lightglue" not in comparison.references(pair)
    told = dict(comparison.refused(pair))["LightGlue"]
    assert told == f"matches points that ALIKED or DISK found; {learned.missing()}" and learned.COMMAND in told


def test_lightglue_refuses_points_that_no_network_found():
    pair = Pair(*[View(warp.photograph(), detect(warp.photograph(), "sift", 20))] * 2)
    with pytest.raises(ValueError, match="It matches points that ALIKED or DISK found"):
        CLASSICS["lightglue"].matching(pair)


# ---- a network of the user's own ---------------------------------------------------------------------------------


def brightest(count=12, *, channels=1, keypoints="keypoints"):
    """A network that finds the brightest pixels and describes them by how bright they are."""
    onnx = pytest.importorskip("onnx", reason="The test makes a network with onnx")
    pytest.importorskip("onnxruntime", reason="Networks of one's own need onnxruntime")
    make, kind = onnx.helper, onnx.TensorProto

    def constant(name, values, of=kind.INT64):
        return make.make_tensor(name, of, [len(values)], values)

    nodes = [
        make.make_node("ReduceMax", ["image", "axis1"], ["grey"], keepdims=0),
        make.make_node("Shape", ["grey"], ["shape"]),
        make.make_node("Gather", ["shape", "two"], ["width"]),
        make.make_node("Reshape", ["grey", "all"], ["flat"]),
        make.make_node("TopK", ["flat", "count"], ["scores", "at"]),
        make.make_node("Mod", ["at", "width"], ["x"]),
        make.make_node("Div", ["at", "width"], ["y"]),
        make.make_node("Unsqueeze", ["x", "axis1"], ["x1"]),
        make.make_node("Unsqueeze", ["y", "axis1"], ["y1"]),
        make.make_node("Concat", ["x1", "y1"], ["places"], axis=1),
        make.make_node("Cast", ["places"], [keypoints], to=kind.FLOAT),
        make.make_node("Unsqueeze", ["scores", "axis1"], ["bright"]),
        make.make_node("Cos", ["bright"], ["cos"]),
        make.make_node("Concat", ["bright", "cos"], ["descriptors"], axis=1),
    ]
    outputs = [(keypoints, [count, 2]), ("scores", [count]), ("descriptors", [count, 2])]
    graph = make.make_graph(
        nodes,
        "brightest",
        [make.make_tensor_value_info("image", kind.FLOAT, [1, channels, "h", "w"])],
        [make.make_tensor_value_info(name, kind.FLOAT, shape) for name, shape in outputs],
        [constant("two", [2]), constant("all", [-1]), constant("count", [count]), constant("axis1", [1])],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 18)])
    model.ir_version = 8
    return model.SerializeToString()


def spotted():
    """A dark picture with twelve bright pixels, and where they are."""
    xy = np.array([[10 + 12 * k, 20 + 7 * k] for k in range(12)])
    grey = np.zeros((130, 170), np.uint8)
    grey[xy[:, 1], xy[:, 0]] = 255 - 10 * np.arange(12)
    return from_array(grey), xy


@pytest.mark.parametrize("channels", [1, 3])
def test_a_network_of_ones_own_finds_what_it_finds(tmp_path, monkeypatch, channels):
    file = tmp_path / "brightest.onnx"
    file.write_bytes(brightest(channels=channels))
    monkeypatch.setitem(DETECTORS, "brightest", onnx_detector(file, "Brightest"))
    image, xy = spotted()
    found = detect(image, "brightest", 12)
    assert_array_equal(found.xy, xy)
    bright = (255 - 10 * np.arange(12)) / 255
    assert_allclose(found.strength, bright, atol=1e-3)
    assert_allclose(found.looks, learned.unit_rows(np.stack([bright, np.cos(bright)], 1)), atol=1e-3)
    assert found.looks_by.startswith("onnx ")


@pytest.mark.parametrize(
    ("change", "words"),
    [({"channels": 2}, "expected one float32 input"), ({"keypoints": "points"}, "has no output 'keypoints'")],
)
def test_a_network_that_does_not_fit_is_refused_when_it_is_loaded(tmp_path, change, words):
    file = tmp_path / "other.onnx"
    file.write_bytes(brightest(**change))
    with pytest.raises(ValueError, match=words):
        onnx_detector(file)


def test_a_file_that_is_no_network_is_refused(tmp_path):
    pytest.importorskip("onnxruntime", reason="Networks of one's own need onnxruntime")
    file = tmp_path / "text.onnx"
    file.write_text("no network")
    with pytest.raises(ValueError, match=r"text.onnx is no network that onnxruntime reads"):
        onnx_detector(file)
    with pytest.raises(ValueError, match="could not be read: no such file"):
        onnx_detector(tmp_path / "absent.onnx")


def test_bits_are_compared_by_how_many_differ():
    rows = np.random.default_rng(0).integers(0, 256, (6, 8), np.uint8)
    seen, bits = described(rows), np.unpackbits(rows, axis=1)
    for a, b in np.ndindex(6, 6):
        assert ((seen[a] - seen[b]) ** 2).sum() == pytest.approx(4 * (bits[a] != bits[b]).mean(), abs=1e-5)


def test_a_plug_in_adds_a_detector(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_network, "missing", lambda: "onnxruntime not installed: pip install onnxruntime")
    (tmp_path / "net.onnx").write_bytes(b"anything: it is checked when it is used")
    file = tmp_path / "mine.py"
    file.write_text(
        f"from {onnx_network.__name__} import onnx_detector\n"
        f"from {DETECTORS['sift'].detect.__module__} import DETECTORS\n"
        f"DETECTORS['mine'] = onnx_detector({str(tmp_path / 'net.onnx')!r})\n"
    )
    try:
        assert plugins.load(file) == (("detector", "mine"),)
        assert DETECTORS["mine"].label == "net (mine)"
        with pytest.raises(ValueError, match="onnxruntime not installed: pip install onnxruntime"):
            detect(warp.photograph(), "mine", 10)
    finally:
        DETECTORS.pop("mine", None)


# ---- the real networks, where they are installed -----------------------------------------------------------------


@here
def test_deformed_convolution_against_a_loop():
    import torch

    rng = np.random.default_rng(0)
    image, weight = rng.normal(size=(2, 6, 7)), rng.normal(size=(3, 2, 3, 3))
    offset, bias = rng.normal(0, 1.5, (18, 6, 7)), rng.normal(size=3)

    def at(channel, y, x):
        total = 0.0
        for i in (int(np.floor(y)), int(np.floor(y)) + 1):
            for j in (int(np.floor(x)), int(np.floor(x)) + 1):
                if 0 <= i < 6 and 0 <= j < 7:
                    total += (1 - abs(y - i)) * (1 - abs(x - j)) * image[channel, i, j]
        return total

    expected = np.zeros((3, 6, 7))
    for o, y, x in np.ndindex(3, 6, 7):
        expected[o, y, x] = bias[o] + sum(
            weight[o, c, k // 3, k % 3]
            * at(c, y + k // 3 - 1 + offset[2 * k, y, x], x + k % 3 - 1 + offset[2 * k + 1, y, x])
            for c in range(2)
            for k in range(9)
        )
    given = (torch.tensor(one) for one in (image[None], offset[None], weight, bias))
    assert_allclose(learned.deformed(*given, padding=(1, 1))[0].numpy(), expected, atol=1e-9)


@here
@pytest.mark.long
@pytest.mark.parametrize("detector", list(learned.NETWORKS))
def test_a_photograph_and_its_warped_copy_by_a_network(detector):
    """Ours and LightGlue's; the same points every time; one whose file is missing is not downloaded."""
    pair = pair_of(detector)
    assert_array_equal(pair.left.points.xy, detect(pair.left.image, detector, 300).xy)
    assert "lightglue" in comparison.references(pair)
    from features.matching import match

    for found in (match(pair, model="photo", method="adgm").pairs, _pairs(CLASSICS["lightglue"].matching(pair))):
        right = pair.correct(found)
        assert right.sum() > 80 and right.mean() > 0.85
    mixed = replace(pair, right=View(pair.right.image, detect(pair.right.image, "sift", 50)))
    with pytest.raises(ValueError, match="points that ALIKED or DISK found"):
        CLASSICS["lightglue"].matching(mixed)


def _pairs(matching):
    rows = np.flatnonzero(matching >= 0)
    return np.stack([rows, matching[rows]], 1)
