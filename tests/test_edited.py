"""Points edited by hand: each keeps what is known about it, and nothing passes to its neighbour."""

from dataclasses import fields

import numpy as np
import pytest

from features.pairs import View
from features.points import rootsift
from features.points.edited import edited
from features.points.images import from_array
from features.points.keypoints import Keypoints

SIZES = np.array([8.0, 10.0, 12.0, 30.0])


@pytest.fixture(scope="module")
def view() -> View:
    rng = np.random.default_rng(0)
    image = from_array(rng.integers(0, 255, (120, 160), np.uint8))
    xy, angle = rng.uniform(30, 90, (4, 2)), rng.uniform(-3, 3, 4)
    looks = rootsift.at(image.grey, xy, SIZES, angle)
    shape = rng.uniform(1, 2, (4, 2, 2)) + 3 * np.eye(2)
    return View(image, Keypoints(xy, angle, SIZES, np.arange(4.0), ("a", "b", "c", "d"), looks, shape))


def row(points: Keypoints, k: int) -> dict[str, object]:
    """All that is known about a point."""
    values = {one.name: getattr(points, one.name) for one in fields(points)}
    return {name: column[k] for name, column in values.items() if column is not None and name != "looks_by"}


def test_who_stays_keeps_everything_and_who_comes_takes_nothing(view):
    """One is deleted, another added: as many points as before."""
    before = view.points
    xy = np.vstack([before.xy[[0, 2, 3]], [[50.0, 60.0]]])
    after = edited(view, xy, [0, 2, 3, -1]).points
    for at, was in enumerate([0, 2, 3]):
        np.testing.assert_equal(row(after, at), row(before, was))
    assert after.labels == ("a", "c", "d", "")
    usual = float(np.median(SIZES))
    assert (after.size[3], after.angle[3], after.strength[3]) == (usual, 0.0, 0.0)
    np.testing.assert_array_equal(after.shape[3], usual * np.eye(2))
    seen = rootsift.at(view.image.grey, xy[3:], np.array([usual]), np.zeros(1))
    np.testing.assert_array_equal(after.looks[3], seen[0])


def test_who_is_moved_keeps_the_label_and_is_looked_at_again(view):
    xy = view.points.xy.copy()
    xy[1] += [5.0, -3.0]
    after = edited(view, xy, range(4)).points
    assert after.labels == view.points.labels and after.xy[1].tolist() == xy[1].tolist()
    assert not np.allclose(after.looks[1], view.points.looks[1])
    assert after.angle[1] == 0.0
    for k in (0, 2, 3):
        np.testing.assert_equal(row(after, k), row(view.points, k))


def test_what_a_browser_rounds_has_not_moved(view):
    after = edited(view, np.round(view.points.xy, 2), range(4)).points
    np.testing.assert_array_equal(after.looks, view.points.looks)


@pytest.mark.parametrize("origin", [[], [-1, -1]], ids=["none", "new ones"])
def test_where_nobody_stays_nothing_is_known(view, origin):
    after = edited(view, np.full((len(origin), 2), 40.0), origin).points
    assert len(after) == len(origin) and after.looks is after.angle is after.size is after.shape is None


def test_points_without_anything_but_places_can_be_edited():
    view = View(None, Keypoints([[1.0, 2.0], [3.0, 4.0]]))
    after = edited(view, np.array([[3.0, 4.0], [9.0, 9.0]]), [1, -1]).points
    assert after.xy.tolist() == [[3, 4], [9, 9]] and after.labels is None


@pytest.mark.parametrize("origin", [[0, 1], [0, 1, 4]])
def test_numbers_that_fit_no_points_are_refused(view, origin):
    with pytest.raises(ValueError, match="need as many numbers"):
        edited(view, np.zeros((3, 2)), origin)
