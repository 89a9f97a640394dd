"""The kernels are compiled beside the server, in the order in which visitors need them."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from adgm import METHODS, warmup
from adgm._kernels import admm, cache
from adgm.warmup import STAGES
from ui import warmup as beside_server
from ui.jobs.meanwhile import Meanwhile

ROOT = Path(__file__).resolve().parents[1]


def test_every_stage_is_told_when_its_kernels_are_there():
    words = [sys.executable, "-m", "adgm.warmup"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == list(STAGES)
    assert warmup.complete()


def test_the_mark_of_a_full_cache_holds_for_the_same_code_only_and_goes_with_the_kernels(monkeypatch, tmp_path):
    beside = cache.mark(admm)
    assert beside.match("*.nb?") and list(beside.parent.glob("admm*.nb?"))
    monkeypatch.setattr(warmup, "mark", lambda kernel: tmp_path / beside.name)
    assert not warmup.complete()
    (tmp_path / beside.name).write_text(cache.fingerprint(), encoding="ascii")
    assert warmup.complete()
    monkeypatch.setattr(cache.numba, "__version__", "another")
    assert not warmup.complete()


@pytest.fixture()
def beside(monkeypatch):
    """A warm-up that has all to compile and, left alone, would begin in an hour; and whether it has begun."""
    begun = threading.Event()
    monkeypatch.setattr(beside_server, "QUIET", 3600.0)
    monkeypatch.setattr(beside_server, "KEPT", True)
    monkeypatch.setattr(beside_server, "complete", lambda: False)
    monkeypatch.setattr(beside_server.WarmUp, "_compile", lambda self: begun.set())
    return beside_server.WarmUp(), begun


def test_the_compiler_leaves_the_cores_to_a_run_that_can_begin_without_it(beside):
    warm, begun = beside
    assert isinstance(warm.meanwhile("adgm1", METHODS["adgm1"].make(), 2, (5, 5))[0], Meanwhile)
    assert not begun.wait(0.2) and warm.thread.is_alive()
    warm.wanted.set()


def test_the_compiler_begins_at_once_for_a_run_that_waits_for_it(beside):
    warm, begun = beside
    method, lacks = warm.meanwhile("adgm+", METHODS["adgm+"].make(), 2, (5, 5))
    assert not isinstance(method, Meanwhile)
    assert begun.wait(60)
    warm.thread.join(60)
    assert not lacks(None)


def test_the_match_page_brings_in_nothing_heavy_that_its_first_drawing_does_without():
    """Each of these takes as long to import as the page to draw; Streamlit's own tests of the app import pandas."""
    heavy = ["matplotlib", "pandas", "pyarrow", "scipy.spatial", "scipy.sparse", "scipy.interpolate", "pooch"]
    pages = ["ui.learn", "ui.compare", "ui.debug", "ui.experiments", "experiments"]
    load = "DATASETS['turntable'].load(points=3)"  # the first picture
    code = f"import sys, ui.match; from features.datasets import DATASETS; {load}; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(found.stdout.split()) & {*heavy, *pages}
