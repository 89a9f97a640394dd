"""The one way from two images to a matching: every way in gives the same run; what is lazy agrees with the rest."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from PIL import Image as Pillow

import features
from adgm import Dense, Problem, Sparse
from features.__main__ import parser
from features.cli.arguments import recipe_and_pair
from features.datasets import DATASETS
from features.files.exports import open_pair, save_pair
from features.files.point_files import write_points, write_truth
from features.judge.metrics import kinds, measure
from features.matching import GIVEN, IMAGES, LANDMARKS, Matching, match, suited
from features.pairs import NOBODY, Pair, View, as_image, read_pair
from features.points.keypoints import Keypoints
from features.recipe import OWN, Recipe
from ui.choice import uploads

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pair() -> Pair:
    return DATASETS["turntable"].load(left=40, right=44, points=12)


@pytest.fixture(scope="module")
def found(pair) -> Matching:
    return match(pair, model="B", method="adgm1")


def test_a_pair_is_matched_as_its_recipe_says(pair, found):
    assert found.recipe == Recipe(OWN, model="B", method="adgm1")
    expected = found.recipe.run(found.recipe.problem(pair))
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    assert found.metrics == measure(pair, found.problem, expected.assignment, "similarity")
    assert found.kinds == kinds(pair, found.pairs)


def test_strengths_are_minus_the_shares_of_the_energy(found):
    assert found.strengths.sum() == pytest.approx(-found.result.energy)
    assert sum(term.cost for term in found.terms) == pytest.approx(found.result.energy)
    assert len(found.strengths) == len(found.relaxed) == len(found.pairs)


def test_images_come_as_paths_bytes_or_pixels(pair, tmp_path):
    paths = [tmp_path / f"{side}.png" for side in ("left", "right")]
    for path, view in zip(paths, (pair.left, pair.right), strict=True):
        Pillow.fromarray(view.image.rgb).save(path)
    few = {"points": "orb", "point_params": {"left": 9, "right": 10}, "model": "C"}
    ways = [paths, [path.read_bytes() for path in paths], [pair.left.image.rgb, pair.right.image.rgb]]
    ways = [match(*way, Recipe(OWN, **few)) for way in ways]
    for one in ways:
        assert one.pair.shape == (9, 10) and one.kinds is None and one.recipe == Recipe(OWN, **few)
        np.testing.assert_array_equal(one.pairs, ways[0].pairs)
    spots = tuple(write_points(view.points) for view in (pair.left, pair.right))
    own = match(*paths, points=spots, model="C")
    assert own.pair.shape == pair.shape and own.recipe == Recipe(OWN, model="C"), "the record says whose points"
    np.testing.assert_allclose(own.pair.left.points.xy, pair.left.points.xy)
    assert read_pair(*paths).shape == (40, 40)


# ---- ways to call: what is given in which form, and what comes back ----------------------------------------------

LEFT = np.array([[10.0, 10], [50, 12], [30, 50], [62, 40], [15, 60]])
TRUTH = [2, 0, 1, 4, 3]
RIGHT = (LEFT + 3)[np.argsort(TRUTH)]
SHEETS = np.random.default_rng(0).integers(0, 255, (2, 80, 80), np.uint8)
FORMS = {
    "array": lambda xy: xy,
    "list": lambda xy: xy.tolist(),
    "tuples": lambda xy: tuple(map(tuple, xy.tolist())),
    "keypoints": Keypoints,
    "bytes": lambda xy: write_points(Keypoints(xy)),
    "whole numbers": lambda xy: xy.astype(int),
}
TRUTHS = {
    "array": np.array(TRUTH),
    "list": TRUTH,
    "tuple": tuple(TRUTH),
    "bytes": write_truth(TRUTH),
    "nothing": None,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("images", [True, False])
def test_points_come_in_many_forms_and_are_matched_by_their_graphs(form, images):
    spots = FORMS[form](LEFT), FORMS[form](RIGHT)
    one = match(*(SHEETS if images else (None, None)), points=spots, truth=TRUTH)
    assert one.recipe == LANDMARKS == suited(one.pair)
    np.testing.assert_allclose(one.pair.left.points.xy, LEFT)
    assert one.metrics.correct == 5 and one.pair.name == "own pair"


@pytest.mark.parametrize("form", TRUTHS)
def test_the_truth_comes_in_many_forms(form):
    one = match(None, None, points=(LEFT, RIGHT), truth=TRUTHS[form], name="ours")
    assert one.metrics.correct == (None if form == "nothing" else 5) and one.pair.name == "ours"


def tensor(values):
    """What a PyTorch tensor can do, as far as it is asked for: `numpy` only once it is detached and in memory."""

    class Tensor:
        ready = 0

        def detach(self):
            self.ready += 1
            return self

        cpu = detach

        def numpy(self):
            assert self.ready == 2, "torch refuses"
            return np.asarray(values)

    return Tensor()


def first(pixels):
    """The channels of an image first, as floats, as PyTorch has them."""
    return np.moveaxis(pixels, -1, 0) / 255.0


COLOURED = np.random.default_rng(0).integers(0, 255, (2, 60, 80, 3), np.uint8)
PICTURES = {
    "Pillow": Pillow.fromarray,
    "tensor": lambda rgb: tensor(first(rgb)),
    "batch": lambda rgb: tensor(first(rgb)[None]),
    "channels last": tensor,
    "grey tensor": lambda rgb: tensor(rgb[..., 0]),
    "palette": lambda rgb: Pillow.fromarray(rgb).quantize(256),
}


@pytest.mark.parametrize("form", PICTURES)
def test_images_come_from_other_libraries(form):
    given = [PICTURES[form](rgb) for rgb in COLOURED]
    pair = match(*given, points=(LEFT, RIGHT)).pair
    for view, rgb in zip((pair.left, pair.right), COLOURED, strict=True):
        expected = np.repeat(rgb[..., :1], 3, axis=2) if form == "grey tensor" else rgb
        assert view.image.size == (80, 60)
        assert np.abs(view.image.rgb.astype(int) - expected).mean() < (30 if form == "palette" else 0.5)


def test_a_picture_of_pillows_is_turned_as_its_camera_says(tmp_path):
    path, marks = tmp_path / "turned.png", Pillow.Exif()
    marks[0x0112] = 6
    Pillow.fromarray(COLOURED[0]).save(path, exif=marks)
    with Pillow.open(path) as picture:
        np.testing.assert_array_equal(as_image(picture).rgb, as_image(path).rgb)
    assert as_image(path).size == (60, 80)


def test_a_real_tensor_of_pytorch_is_taken():
    torch = pytest.importorskip("torch", reason="PyTorch is not ours to install")
    image = torch.from_numpy(first(COLOURED[0])).to(torch.bfloat16).requires_grad_()
    pair = match(image, image, points=(torch.tensor(LEFT), torch.tensor(RIGHT)), truth=torch.tensor(TRUTH)).pair
    assert pair.left.image.size == (80, 60) and pair.truth.tolist() == TRUTH


def test_networkx_is_not_imported_and_its_graphs_are_matched():
    cycle = nx.Graph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("d", "e")])
    where = [3, 1, 4, 0, 2]
    names = list(cycle)
    other = nx.Graph()
    other.add_nodes_from(range(5))
    other.add_edges_from((where[names.index(u)], where[names.index(v)]) for u, v in cycle.edges)
    found = match(cycle, other, truth=where, name="cycles")
    assert found.recipe == GIVEN == suited(found.pair) and found.pair.name == "cycles"
    assert found.result.energy == 0.0 and found.metrics.truth_energy == 0.0
    weighted = nx.DiGraph()
    weighted.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 5.0), (1, 1, 3.0)])
    nx.set_node_attributes(weighted, {0: (0, 0), 1: (3, 4)}, "pos")
    turned = nx.relabel_nodes(weighted, {0: 1, 1: 0})
    both = match(weighted, turned)
    energies = [both.problem.energy(x) for x in (np.eye(2), np.eye(2)[::-1])]
    # its nodes come in the order 1, 0: edges of 2 and 5 against 5 and 2, a loop of 3 against none, and none against it
    assert energies == [0.0, 2 * (5 - 2) ** 2 + 2 * 3**2] and both.result.matching.tolist() == [0, 1]
    assert both.pair.left.points.xy.tolist() == [[0, 0], [3, 4]]
    words = "import sys, features; features.match; assert not {'networkx', 'torch', 'tqdm'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", words], cwd=ROOT, check=True, timeout=120)


@pytest.mark.parametrize("there", [True, False])
def test_progress_is_told_on_one_line(there, monkeypatch, capsys):
    if not there:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    else:
        pytest.importorskip("tqdm")
    seen = []
    one = match(PAIR, progress=True, every=1, watch=lambda state: seen.append(state.iteration))
    told = capsys.readouterr().err
    assert f"{one.result.iterations}" in told and "energy" in told and told.endswith("\n") and told.count("\n") == 1
    assert seen[-1] == one.result.iterations, "others are told, too"
    assert match(PAIR, progress=True, watch=lambda state: True).result.status == "stopped"


# ---- the call, the command line and the page, on the same inputs --------------------------------------------------

FILES = ("left.png", "right.png", "left.csv", "right.csv", "truth.csv")
ZIPS = {
    "points.zip": lambda pair: save_pair(pair),
    "photographs.zip": lambda pair: save_pair(Pair(*(replace(v, points=NOBODY) for v in (pair.left, pair.right)))),
    "recipe.zip": lambda pair: save_pair(pair, Recipe(OWN, model="B", method="rrwm")),
    "costs.zip": lambda pair: save_pair(replace(pair, given=Problem(pair.shape, [Dense(np.eye(5))]))),
}
# Which files are given, and by what they are matched: all three ways agree.
GIVEN_FILES: list[tuple[str, Recipe | str]] = [
    ("left.png right.png", IMAGES),
    ("left.png right.png left.csv", IMAGES),
    ("left.png right.png right.csv", IMAGES),
    ("left.png right.png left.csv right.csv", LANDMARKS),
    ("left.png right.png left.csv right.csv truth.csv", LANDMARKS),
    ("left.csv right.csv", LANDMARKS),
    ("left.csv right.csv truth.csv", LANDMARKS),
    ("points.zip", LANDMARKS),
    ("photographs.zip", IMAGES),
    ("recipe.zip", Recipe(OWN, model="B", method="rrwm")),
    ("costs.zip", GIVEN),
    ("left.png broken.png", "not an image that can be read"),
    ("left.csv broken.csv", "line 1 has 4 columns"),
    ("left.csv right.csv wrong.csv", "sends left point 0 to 9|names right point 9|9"),
    ("broken.zip", "is not a zip file"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, sheet, xy in zip(("left", "right"), SHEETS, (LEFT, RIGHT), strict=True):
        Pillow.fromarray(sheet).save(folder / f"{name}.png")
        (folder / f"{name}.csv").write_bytes(write_points(Keypoints(xy)))
    (folder / "truth.csv").write_bytes(write_truth(TRUTH))
    pair = read_pair(folder / "left.png", folder / "right.png", points=(LEFT, RIGHT))
    for name, content in ZIPS.items():
        (folder / name).write_bytes(content(pair))
    (folder / "wrong.csv").write_bytes(b"left,right\n0,9\n")
    for kind in ("png", "csv", "zip"):
        (folder / f"broken.{kind}").write_bytes(b"neither numbers nor pixels")
    return folder


def sorted_out(names: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The images, the points of both sides ("" for none) and the truth among the files."""
    images = [name for name in names if name.endswith(".png")]
    tables = [name for name in names if name.endswith(".csv")]
    truth = tables[2:] if len(tables) > 2 else []
    spots = tables[:2] if len(tables) > 1 else [name if name in tables else "" for name in FILES[2:4]]
    return images, spots, truth


def called(folder: Path, names: list[str]) -> Recipe:
    images, spots, truth = sorted_out(names)
    if names[0].endswith(".zip"):
        opened = open_pair((folder / names[0]).read_bytes())
        return match(opened.pair, opened.recipe, time_limit=1).recipe
    places = tuple(folder / name if name else None for name in spots)
    both = [folder / name for name in images] or [None, None]
    return match(*both, points=places, truth=folder / truth[0] if truth else None, time_limit=1).recipe


def commanded(folder: Path, names: list[str]) -> Recipe:
    images, spots, truth = sorted_out(names)
    words = ["--pair", str(folder / names[0])] if names[0].endswith(".zip") else [str(folder / name) for name in images]
    flags = zip(("--left-points", "--right-points", "--truth"), [*spots, *truth], strict=False)
    words += [word for flag, name in flags if name for word in (flag, str(folder / name))]
    return recipe_and_pair(parser().parse_args(["match", *words]))[0]


def shown_on_the_page(folder: Path, names: list[str], monkeypatch) -> Recipe:
    """What the page chooses when these files come; its uploaders give them, and what it says is an error."""
    images, spots, truth = sorted_out(names)
    given = dict(zip(("Left image", "Right image"), images, strict=False))
    given |= dict(zip(("Left points", "Right points"), spots, strict=True)) | dict(
        zip(["truth file"], truth, strict=False)
    )
    given |= dict(zip(["pair zip"], names, strict=True)) if names[0].endswith(".zip") else {}

    def uploader(label: str, *rest: object, key: str, **options: object) -> object:
        name = given.get(key)
        content = (folder / name).read_bytes if name else None
        return SimpleNamespace(name=name, getvalue=content, file_id=name) if name else None

    def refuse(said: str) -> None:
        raise ValueError(said.replace("\\", ""))

    chosen: list[Recipe] = []
    monkeypatch.setattr(uploads.st, "file_uploader", uploader)
    monkeypatch.setattr(uploads.st, "error", refuse)
    monkeypatch.setattr(uploads.address, "use", chosen.append)
    monkeypatch.setattr(uploads, "remembered", lambda pair=None: pair)
    empty = SimpleNamespace(get=lambda: None, set=lambda value: None, pop=lambda: None)
    for slot in ("FILES", "ARRANGED", "START", "SHOTS", "ROUND", "RUN"):
        monkeypatch.setattr(uploads, slot, empty)
    uploads.choose()
    return chosen[-1]


@pytest.mark.parametrize(("names", "expected"), GIVEN_FILES, ids=[names for names, _ in GIVEN_FILES])
def test_the_command_line_the_page_and_the_call_choose_the_same(names, expected, files, monkeypatch):
    ways = (called, commanded, lambda *given: shown_on_the_page(*given, monkeypatch))
    for way in ways:
        if isinstance(expected, Recipe):
            assert way(files, names.split()) == expected
        else:
            with pytest.raises(ValueError, match=expected):
                way(files, names.split())


PAIR = Pair(View(None, Keypoints(LEFT)), View(None, Keypoints(RIGHT)), np.array(TRUTH))
BOTH = {"points": (LEFT, RIGHT)}
GRAPH, ODD = nx.path_graph(3), nx.Graph([(0, 1, {"weight": "heavy"})])
WRONG: list[tuple[tuple, dict, type[Exception], str]] = [
    (("left.png",), {}, ValueError, "One image was given; expected two"),
    ((None, SHEETS[0]), BOTH, ValueError, "One image was given"),
    ((None, None), {}, ValueError, "No image was given; expected two, or the points of both sides"),
    ((None, None), {"points": (LEFT, None)}, ValueError, "No image was given"),
    ((None, None), {"points": LEFT}, ValueError, r"points is a pair \(left, right\)"),
    ((None, None), {"points": (LEFT,)}, ValueError, "points is a pair"),
    ((None, None), {"points": (LEFT, [[1, 2], [3]])}, ValueError, "The right points are no points"),
    ((None, None), {"points": (LEFT, LEFT[:, :1])}, ValueError, "The right points are no points"),
    ((None, None), {"points": (LEFT, 7)}, ValueError, "The right points is of type int; expected a path"),
    ((None, None), {"points": ("none.csv", LEFT)}, ValueError, "none.csv could not be read"),
    ((None, None), BOTH | {"truth": [0, 1]}, ValueError, "truth of own pair has shape"),
    ((None, None), BOTH | {"truth": [0, 1, 2, 3, 5]}, ValueError, "sends left point 4 to 5"),
    ((GRAPH, SHEETS[0]), {}, ValueError, "One graph was given; expected two"),
    ((GRAPH, GRAPH), BOTH, ValueError, "A graph was given, and points beside it; it has its own"),
    ((GRAPH, ODD), {}, ValueError, "The edge 0 – 1 weighs 'heavy'; expected a number"),
    ((tensor(SHEETS[:, None]), SHEETS[0]), {}, ValueError, "An image has shape"),
    ((Pillow.new("RGB", (0, 3)), SHEETS[0]), {}, ValueError, "nothing to see"),
    ((None, None), BOTH | {"truth": 3.5}, ValueError, "The truth file is of type float"),
    ((3, SHEETS[0]), {}, ValueError, "The left image is of type int; expected a path, a file's bytes or an array"),
    ((SHEETS[0], SHEETS[1] / 300.0 + 2), {}, ValueError, "between 0 and 1"),
    ((PAIR, SHEETS[0]), {}, ValueError, "A pair was given, and a right image beside it; it has its own"),
    ((PAIR,), BOTH, ValueError, "A pair was given, and points beside it"),
    ((PAIR,), {"truth": TRUTH}, ValueError, "A pair was given, and truth beside it"),
    ((LANDMARKS,), BOTH, ValueError, "A recipe was given, and points beside it"),
    ((LANDMARKS, LANDMARKS), {}, ValueError, "Two recipes were given"),
    ((PAIR, LANDMARKS, LANDMARKS), {}, ValueError, "Two recipes were given"),
    ((PAIR,), {"methd": "rrwm"}, TypeError, "no option 'methd'; did you mean 'method'?"),
    ((None, None), BOTH | {"time_limt": 3}, TypeError, "no option 'time_limt'; did you mean 'time_limit'?"),
    ((PAIR,), {"colour": "red"}, TypeError, r"no option 'colour'\.$"),
    ((PAIR,), {"model": "B", "sigma2": 9}, TypeError, r"a parameter of the model: model_params=\{'sigma2': …\}"),
    ((PAIR,), {"rows": "any"}, TypeError, "a parameter of the model"),
    ((PAIR,), {"max_iter": 9}, TypeError, r"an option of the method: method_options=\{'max_iter': …\}"),
    ((PAIR,), {"model": "Z"}, ValueError, "no model 'Z'"),
    ((PAIR,), {"method_options": {"max_itr": 9}}, ValueError, "no option 'max_itr'; it has"),
]


@pytest.mark.parametrize(("given", "options", "error", "said"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_with_a_call_is_said_in_a_sentence(given, options, error, said):
    with pytest.raises(error, match=said) as caught:
        match(*given, **options)
    assert str(caught.value)[-1] in ".…?" and len(str(caught.value)) < 500


def test_a_recipe_stands_beside_a_pair_in_either_place(pair, found):
    for one in (match(pair, found.recipe), match(pair, recipe=found.recipe), match(pair, None, found.recipe)):
        assert one.recipe == found.recipe
        np.testing.assert_array_equal(one.pairs, found.pairs)


def test_costs_that_are_infinite_are_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"entry at \(0, 1\) is inf; .*candidates"):
        Dense([[1.0, np.inf]])


def test_a_hyperedge_that_uses_a_node_twice_is_paid_only_where_that_is_allowed():
    row = Sparse([[0, 1]], [5.0])  # the left node with both right ones
    for rule, paid in (("any", 5.0), ("at_most_one", 0.0), ("exactly_one", 0.0)):
        problem = Problem((1, 2), [row], rows=rule)
        allowed = [[0, 1], [1, 0]] + ([[0, 0]] if rule != "exactly_one" else []) + ([[1, 1]] if rule == "any" else [])
        assert max(problem.energy(np.array(x, float)) for x in allowed) == paid


def test_a_recipe_describes_its_own_pair(found):
    recipe = Recipe("turntable", {"left": 40, "right": 44, "points": 12}, "B", method="adgm1")
    again = match(recipe, curve=True, every=5)
    np.testing.assert_array_equal(again.pairs, found.pairs)
    assert again.curve.iterations[-1] == again.result.iterations
    assert match(recipe, watch=lambda state: True).result.status == "stopped"


def test_defaults_are_those_of_the_page():
    assert Recipe().method == IMAGES.method == "adgm"
    with pytest.raises(ValueError, match="expected two"):
        match("left.png")


def test_the_front_door_is_light():
    assert features.match is match and features.Matching is Matching
    words = "import sys, features; assert not {'cv2', 'scipy', 'matplotlib'} & set(sys.modules); features.match"
    subprocess.run([sys.executable, "-c", words], cwd=ROOT, check=True, timeout=120)
    with pytest.raises(AttributeError, match="no attribute 'mach'"):
        features.mach  # noqa: B018
