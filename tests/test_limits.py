"""Budgets: one place, two sets, each refused in a sentence that tells the limit before any work is done."""

import io
from dataclasses import fields, replace

import numpy as np
import pytest
from PIL import Image

import features.files.npz
import features.files.point_files
import features.models.base
import features.points.images
from features.datasets import DATASETS, cells
from features.files.point_files import read_points
from features.files.problem_files import read_problem, record
from features.limits import LAPTOP, PUBLIC, Limits, chosen
from features.models import MODELS
from features.pairs import Pair, View
from features.points.images import decode
from features.points.keypoints import Keypoints


def png(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("L", (width, height)).save(out, "PNG")
    return out.getvalue()


def test_strangers_get_at_most_what_a_laptop_takes():
    for one in fields(Limits):
        assert getattr(PUBLIC, one.name) <= getattr(LAPTOP, one.name), one.name


def test_the_environment_chooses_the_set_and_single_limits():
    assert chosen({}) == chosen({"ADGM_PUBLIC": "0"}) == LAPTOP
    assert chosen({"ADGM_PUBLIC": "1"}) == PUBLIC
    assert chosen({"ADGM_PUBLIC": "1", "ADGM_VISITORS": "7"}) == replace(PUBLIC, visitors=7)
    assert chosen({"ADGM_PATIENCE": "1.5"}) == replace(LAPTOP, patience=1.5)
    former = {"ADGM_DESK_BYTES": "7", "ADGM_DESK_SECONDS": "9", "ADGM_RELOAD_SECONDS": "8"}
    assert chosen(former) == replace(LAPTOP, reload_bytes=7, reload_seconds=8.0)  # the former names are read, too
    for text in ("many", "0", "-3"):
        with pytest.raises(ValueError, match=r"(?i)visitors.* expected"):
            chosen({"ADGM_VISITORS": text})


def pair_of(n1: int, n2: int) -> Pair:
    rng = np.random.default_rng(0)
    views = [View(None, Keypoints(rng.uniform(0, 100, (n, 2)))) for n in (n1, n2)]
    return Pair(views[0], views[1], None, "points")


@pytest.mark.parametrize(("n1", "n2"), [(20_000, 20_000), (5_000, 5_000), (200, 100_000)])
@pytest.mark.parametrize("key", [key for key, model in MODELS.items() if not model.given])
def test_a_problem_that_is_too_large_is_refused_before_anything_is_built(monkeypatch, key, n1, n2):
    built = []
    model = replace(MODELS[key], terms=lambda pair, **values: built.append(pair))
    with pytest.raises(ValueError, match="Take fewer points"):
        model.build(pair_of(n1, n2))
    assert not built


def test_generated_cells_that_would_fill_the_memory_are_refused_before_any_is_made(monkeypatch):
    monkeypatch.setattr(cells, "spread", lambda *given: pytest.fail("it was begun"))
    for sizes in (
        {"nodes": 1000, "outliers": 1000, "left_outliers": 1000, "candidates": 60, "neighbours": 20},
        {"nodes": 500, "candidates": 60, "neighbours": 20},
    ):
        with pytest.raises(ValueError, match=r"at most 8,000,000.* Take fewer cells"):
            DATASETS["cells"].load(**sizes)
    monkeypatch.setattr(cells, "LIMITS", PUBLIC)
    with pytest.raises(ValueError, match=r"at most 2,000,000, and 500,000 pairs of cells"):
        DATASETS["cells"].load(nodes=1000, candidates=2, neighbours=1)


def test_a_public_server_gives_less_memory_to_the_tables(monkeypatch):
    pair = DATASETS["random"].load()
    monkeypatch.setattr(features.models.base, "LIMITS", PUBLIC)
    assert MODELS["B"].build(pair).memory == PUBLIC.table_bytes
    given = replace(pair, given=MODELS["B"].build(pair))
    assert MODELS["given"].build(given) is given.given  # no table is thrown away for nothing


def test_files_are_judged_by_the_limits_in_force(monkeypatch):
    small = replace(PUBLIC, points=2, node_pairs=3, image_pixels=5)
    for module in (features.files.point_files, record, features.points.images):
        monkeypatch.setattr(module, "LIMITS", small)
    with pytest.raises(ValueError, match="more than 2 entries"):
        read_points(b"1 1\n2 2\n3 3\n")
    with pytest.raises(ValueError, match="at most 3 are accepted"):
        read_problem(b"p 2 2 1 0\na 0 0 0 1.0\n", "small.dd")
    with pytest.raises(ValueError, match="megapixels are accepted"):
        decode(png(3, 2))
