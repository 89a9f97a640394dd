"""Edited points without a browser: what a page sends is checked, clipped and kept, and every point keeps its number."""

from dataclasses import replace

import numpy as np
import pytest

from test_canvas import TOO_MANY, Script
from ui.parts import canvas


def test_an_edit_is_kept_clipped_and_sent_back_under_its_number():
    script = Script("edit")
    script.edit([[10, 20], [9e9, -5]], [], revision=7)
    assert script.data["sides"][0]["points"] == [[10, 20, -1], [400, 0, -1]]
    assert script.data["sides"][1]["points"] == []
    assert script.data["revision"] == 7
    assert "left [[10, 20], [400, 0]]" in script.texts


@pytest.mark.parametrize(
    "left",
    [
        *("no list", [[1]], [["a", "b"]], [[1, float("nan")]], [[1, 10**400]], [[0, 0]] * TOO_MANY),
        *([[1, 2, 3]], [[1, 2, -2]], [[1, 2, 0.0]], [[1, 2, True]], [[1, 2, 0], [3, 4, 0]], [[1, 2, 0, 0]]),
    ],
    ids=[
        *("text", "one number", "words", "nan", "400 digits", "too many"),
        *("no such point", "negative", "no whole number", "truth value", "the same point twice", "four numbers"),
    ],
)
def test_a_refused_edit_brings_the_kept_points_back(left):
    script = Script("edit")
    before = script.data["sides"]
    script.edit(left, [], revision=3)
    assert script.data["sides"] == before
    assert script.data["revision"] == 3


def test_points_keep_their_numbers_whatever_is_removed_and_added():
    script = Script("edit")
    (a, b, c), right = (side["points"] for side in script.data["sides"])
    assert [point[2] for point in (a, b, c)] == [0, 1, 2]
    script.edit([a, c, [7, 8]], right)
    assert script.data["sides"][0]["points"] == [a, c, [7, 8, -1]]
    script.edit([[c[0] + 3, c[1], 2], b], right, revision=2)  # undone, and moved
    assert script.data["sides"][0]["points"] == [[c[0] + 3, c[1], 2], b]


def test_points_are_in_order_until_one_is_removed_even_if_another_comes_instead():
    xy = np.zeros((2, 2))
    own = canvas.Edits(xy, xy, "start", 1, ((0, 1), (0, 1)), (2, 2))
    assert own.in_order  # moved ones, too
    assert not replace(own, origin=((1, -1), (0, 1))).in_order and not replace(own, origin=((0, 1), (1, 0))).in_order


@pytest.mark.parametrize("partners", ["01", [[0]], [[0, 9]], [[-1, 0]], [[0, 0], [0, 1]], [[0, True]], 7])
def test_partners_that_cannot_be_are_refused(partners):
    script = Script("edit")
    before = script.data["partners"]
    script.edit([[1, 1], [2, 2]], [[3, 3], [4, 4]], partners=partners)
    assert script.data["partners"] == before == [[0, 2], [2, 0]]
    assert len(script.data["sides"][0]["points"]) == 3
    script.edit([[1, 1], [2, 2]], [[3, 3]], partners=[[1, 0]], revision=2)
    assert script.data["partners"] == [[1, 0]] and "truth [-1, 0]" in script.texts


def test_an_edit_of_replaced_points_is_ignored():
    script = Script("edit")
    before = script.data
    script.edit([], [], revision=3, start="another start")
    assert script.data == before
