"""Masks: where points are looked for, as words, in detection, in recipes, on the command line and in `match`."""

import shlex
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from features.__main__ import parser
from features.cli.arguments import recipe_and_pair
from features.datasets import DATASETS
from features.files.exports import save_pair
from features.matching import match
from features.points.keypoints import detect
from features.points.regions import Mask, Region, parse, told
from features.recipe import Recipe
from ui.match import masking

TEXT = "keep 100 60 400 330, drop 200 100 260 200"


def allowed(text: str, x: float, y: float) -> bool:
    """The plain definition: in some kept rectangle, if there is any, and in no dropped one."""
    regions = parse(text)
    inside = [r.left <= x <= r.right and r.top <= y <= r.bottom for r in regions]
    kept = [there for there, r in zip(inside, regions, strict=True) if r.keep]
    return (any(kept) or not kept) and not any(there for there, r in zip(inside, regions, strict=True) if not r.keep)


def ends(low: int, high: int):
    return some.tuples(some.integers(low, high), some.integers(1, 300)).map(lambda one: (one[0], one[0] + one[1]))


regions = some.builds(
    lambda keep, x, y: Region(keep, x[0], y[0], x[1], y[1]), some.booleans(), ends(0, 500), ends(0, 400)
)


@given(
    some.lists(regions, max_size=5), some.lists(some.tuples(some.integers(0, 800), some.integers(0, 600)), min_size=1)
)
def test_words_say_the_regions_and_a_mask_allows_what_they_say(those, places):
    text = told(tuple(those))
    assert parse(text) == tuple(those)
    found = Mask.of(text, (800, 600)).allows(np.array(places, float) / 2, (400, 300))  # a picture of half the size
    near = [any(min(abs(x - r.left), abs(x - r.right)) < 1 or min(abs(y - r.top), abs(y - r.bottom)) < 1 for r in those)
            for x, y in places]  # fmt: skip
    assert all(one == allowed(text, *place) for one, place, edge in zip(found, places, near, strict=True) if not edge)


@pytest.mark.parametrize(
    "text", ["keep 1 2 3", "cut 1 2 3 4", "keep 5 2 3 4", "keep 1 2 3 x", "keep -1 2 3 4", 7, "drop 0 0 9 9," * 21]
)
def test_what_is_no_mask_is_refused_in_a_sentence(text):
    with pytest.raises(ValueError, match=r"expected"):
        Recipe("turntable", points="sift", point_params={"mask_left": text})


@pytest.mark.parametrize("detector", ["sift", "corners", "contours", "akaze"])
def test_points_are_found_only_where_the_mask_allows_and_as_many_as_there(detector):
    image = DATASETS["turntable"].load(left=20, right=30).left.image
    mask = Mask.of(TEXT, image.original_size)
    found, all_over = detect(image, detector, 60, mask=mask), detect(image, detector, 400)
    assert len(found) and all(allowed(TEXT, *(xy / image.scale)) for xy in found.xy)
    there = sum(allowed(TEXT, *(xy / image.scale)) for xy in all_over.xy)
    assert len(found) >= min(40, there // 2)  # others do not take their places


def test_a_recipe_carries_its_mask_into_links_files_programs_and_commands():
    recipe = Recipe("turntable", {"left": 20, "right": 30}, points="sift", point_params={"left": 50, "mask_left": TEXT})
    assert Recipe.from_query(recipe.to_query()) == recipe == Recipe.from_json(recipe.to_json())
    pair = recipe.pair()
    scale = pair.left.image.scale
    assert len(pair.left.points) > 10 and all(allowed(TEXT, *(xy / scale)) for xy in pair.left.points.xy)
    assert not all(allowed(TEXT, *(xy / scale)) for xy in pair.right.points.xy)
    assert f'"mask_left": "{TEXT}"'.replace('"', "'") in recipe.as_python() and "--mask-left" in recipe.as_command()
    again, same = recipe_and_pair(parser().parse_args(shlex.split(recipe.as_command())[3:]))
    assert again.wanted == recipe.wanted and save_pair(same) == save_pair(pair)


def test_match_takes_a_mask_for_two_images():
    rng = np.random.default_rng(0)
    picture = np.kron(rng.integers(0, 255, (30, 40)), np.ones((8, 8))).astype(np.uint8)
    rgb = np.stack([picture] * 3, 2)
    found = match(rgb, rgb, mask=("keep 0 0 160 240", None), time_limit=5)
    assert found.pair.left.points.xy[:, 0].max() <= 160 < found.pair.right.points.xy[:, 0].max()
    assert found.recipe.wanted["mask_left"] == "keep 0 0 160 240"
    spots = np.array([[9.0, 9.0], [90.0, 60.0]])
    with pytest.raises(ValueError, match="points of both sides are given"):
        match(rgb, rgb, points=(spots, spots), mask=("keep 0 0 160 240", None))


def test_what_a_browser_sends_of_regions_is_checked_and_told_in_pixels_of_the_original(monkeypatch):
    chosen = Recipe("turntable", points="sift")
    monkeypatch.setattr(masking.address, "current", lambda: chosen)
    used: list[Recipe] = []
    monkeypatch.setattr(masking.address, "use", used.append)
    monkeypatch.setattr(masking.st, "toast", lambda words: None)
    image = SimpleNamespace(scale=0.5, original_size=(800, 600))
    pair = SimpleNamespace(left=SimpleNamespace(image=image), right=SimpleNamespace(image=image))
    masking.receive(pair, {"left": [[1, 10, 20, 900, 40], [0, -5, 2, -1, 9]], "right": []})
    assert (
        used.pop().wanted["mask_left"] == "keep 20 40 800 80"
    )  # clipped to the picture; what lies outside is left out
    for sent in (
        None,
        {},
        {"left": [[1, 2]], "right": []},
        {"left": [["x"] * 5], "right": []},
        {"left": 3, "right": 4},
    ):
        masking.receive(pair, sent)
    masking.receive(pair, {"left": [[1, 0, 0, float("nan"), 1]], "right": []})
    assert not used
