"""A run as GIF and video: opened again, and their frames counted."""

import io
from itertools import pairwise

import cv2
import numpy as np
import pytest
from PIL import Image as Pillow

from features.datasets import DATASETS
from features.plots import animation
from features.plots.animation import HOLD, Moment

RED = "#ff0000"


@pytest.fixture(scope="module")
def frames() -> list[np.ndarray]:
    pair = DATASETS["random"].load(inliers=4, outliers=0)
    history = {"iteration": np.arange(6.0), "residual": 10.0 ** -np.arange(6), "energy": np.arange(6.0)}
    moments = [Moment(f"iteration {k}", k, [(0, 0, k / 5, RED)]) for k in range(6)]
    return animation.pictures(pair, moments, history)


def test_a_line_grows_stronger_and_the_curves_longer(frames):
    def red(frame: np.ndarray) -> int:
        picture = frame[animation.LABEL : animation.LABEL + animation.PICTURE].astype(int)
        return int((picture[..., 0] - picture[..., 1]).sum())

    def drawn(frame: np.ndarray) -> int:
        return int((frame[animation.LABEL + animation.PICTURE :] < 250).sum())

    assert len(frames) == 6
    assert red(frames[0]) < red(frames[-1]) and all(drawn(a) < drawn(b) for a, b in pairwise(frames))


def test_a_gif_has_a_frame_for_each_moment(frames):
    opened = Pillow.open(io.BytesIO(animation.gif(frames, width=240)))
    assert (opened.format, opened.n_frames, opened.width) == ("GIF", len(frames), 240)


@pytest.mark.parametrize("kind", animation.VIDEOS)
def test_a_video_has_a_frame_for_each_moment_and_holds_the_last(frames, tmp_path, kind):
    path = tmp_path / f"run.{kind}"
    path.write_bytes(animation.video([frame[::2, ::2] for frame in frames], kind))
    video = cv2.VideoCapture(str(path))
    count = 0
    while video.read()[0]:
        count += 1
    assert count == len(frames) + HOLD - 1


def test_of_many_moments_some_are_taken_with_both_ends():
    pair = DATASETS["random"].load(inliers=4, outliers=0)
    moments = [Moment(str(k), k, []) for k in range(200)]
    some = animation.pictures(pair, moments, {"iteration": np.arange(200.0)})
    assert len(some) == animation.FRAMES
