"""The numbers of the answers below the picture: short, and apart where they differ."""

import base64
from dataclasses import replace

import cv2
import numpy as np
import pytest

from features.judge.metrics import number
from features.pairs import Pair, View
from features.points.images import Image
from features.points.keypoints import Keypoints
from ui.match import patches
from ui.match.answers import column
from ui.match.timeline import told
from ui.parts.charts.run import power


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((0.0, 395.8155, None, 23.1894), ["0", "396", "–", "23"]),
        ((23.1298, 23.1894, 23.1894), ["23.1", "23.2", "23.2"]),
        ((54.4521, 54.5446), ["54.45", "54.54"]),
        ((-541.26, -541.21, np.inf), ["−541.3", "−541.2", "–"]),
        ((0.00012,), ["0.00012"]),
        ((), []),
    ],
)
def test_a_column_has_as_few_decimals_as_tell_its_numbers_apart(values, shown):
    assert column(values) == shown


def test_what_differs_in_four_decimals_is_never_shown_alike():
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = (rng.normal(size=4) * 10.0 ** rng.integers(-1, 4)).round(4).tolist()
        values.append(values[0] + rng.choice([0, 1e-4, 0.01]))
        assert len(set(column(values))) == len({number(value) for value in values})


def test_small_numbers_are_powers_of_ten_as_people_write_them():
    assert [power(x) for x in (0.0, 0.911, 12.0, 1.514e-8, 2e5)] == ["0", "0.91", "12", "1.5·10⁻⁸", "2.0·10⁵"]


def test_the_stop_beside_the_slider_in_words():
    assert [told(labels, -1) for labels in ((), ("1", "1200"), ("1", "polished"))] == [
        "not started",
        "step 1,200",
        "polished",
    ]


def dotted(x: int, y: int, colour: tuple[int, int, int]) -> View:
    """A grey picture with one square of a colour, which is the view's only point, at its corner if need be."""
    rgb = np.full((120, 160, 3), 128, np.uint8)
    rgb[max(y - 2, 0) : y + 3, max(x - 2, 0) : x + 3] = colour
    return View(Image(rgb), Keypoints(np.array([[float(x), float(y)]])))


@pytest.mark.parametrize("at", [(80, 60), (0, 0), (159, 119)])
def test_a_patch_has_its_point_in_the_middle_also_at_the_edge_of_a_picture(at):
    red, blue = (230, 30, 30), (30, 30, 230)
    pair = Pair(dotted(*at, red), dotted(40, 30, blue))
    ((left, right),) = patches.patches(pair, np.array([[0, 0]]))
    for picture, colour in ((left, red), (right, blue)):
        coded = np.frombuffer(base64.b64decode(picture.partition(",")[2]), np.uint8)
        seen = cv2.imdecode(coded, cv2.IMREAD_COLOR)[..., ::-1].astype(int)
        middle = patches.SHOWN // 2
        assert seen.shape == (patches.SHOWN, patches.SHOWN, 3)
        assert np.abs(seen[middle, middle] - colour).max() < 40
        assert at == (0, 0) or np.abs(seen[2, 2] - 128).max() < 40


def test_patches_are_bounded_and_need_both_pictures():
    pair = Pair(dotted(80, 60, (0, 0, 0)), dotted(40, 30, (0, 0, 0)))
    many = np.zeros((3 * patches.MOST, 2), np.int64)
    assert len(patches.patches(pair, many)) == patches.MOST
    assert patches.patches(replace(pair, left=replace(pair.left, image=None)), many) == []
