"""The one way from two images to a matching: every way in gives the same run; what is lazy agrees with the rest."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

import features
from features.datasets import DATASETS
from features.matching import IMAGES, Matching, match
from features.metrics import kinds, measure
from features.pairs import Pair, read_pair
from features.point_files import write_points
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
