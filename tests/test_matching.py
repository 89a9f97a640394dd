"""The one way from two images to a matching: every way in gives the same run; what is lazy agrees with the rest."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

import features
from adgm import Dense, Problem, Sparse
from features.__main__ import parser
from features.cli.asked import described
from features.datasets import DATASETS
from features.files.point_files import write_points, write_truth
from features.judge.metrics import kinds, measure
from features.matching import IMAGES, LANDMARKS, Matching, match, suited
from features.pairs import Pair, View, read_pair
from features.points.keypoints import Keypoints
from features.recipe import OWN, Recipe

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


def test_the_command_line_the_page_and_the_call_choose_the_same(tmp_path):
    paths = [tmp_path / name for name in ("left.png", "right.png", "left.csv", "right.csv")]
    for path, sheet, xy in zip(paths[:2], SHEETS, (LEFT, RIGHT), strict=True):
        Pillow.fromarray(sheet).save(path)
        path.with_suffix(".csv").write_bytes(write_points(Keypoints(xy)))
    called = match(*paths[:2], points=tuple(paths[2:]))
    words = [*map(str, paths[:2]), "--left-points", str(paths[2]), "--right-points", str(paths[3])]
    for expected, given in ((called.recipe, words), (IMAGES, words[:2])):
        told, _ = described(parser().parse_args(["match", *given]))
        assert told == expected
    assert suited(read_pair(*paths[:2], points=tuple(paths[2:]), detector=None)) == called.recipe, "the page's way"
    assert suited(read_pair(*paths[:2], detector=None)) == IMAGES
    np.testing.assert_array_equal(called.pairs[:, 1], np.array(TRUTH)[called.pairs[:, 0]])


PAIR = Pair(View(None, Keypoints(LEFT)), View(None, Keypoints(RIGHT)), np.array(TRUTH))
BOTH = {"points": (LEFT, RIGHT)}
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
