"""The kernels are compiled beside the server, in the order in which visitors need them."""

import os
import subprocess
import sys
import threading
from importlib import import_module
from itertools import product
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from adgm import METHODS, _kernels, precompile, solve
from adgm._kernels import cache
from adgm.precompile import STAGES
from features.files.problem_files.qaplib import qap
from features.recipe import Recipe
from ui.jobs.numpy_fallback import NumpyFallback
from ui.shell import warmup as beside_server

ROOT = Path(__file__).resolve().parents[1]


def test_every_stage_is_told_when_its_kernels_are_there():
    words = [sys.executable, "-m", "adgm.precompile"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == list(STAGES)
    assert precompile.complete()


def test_the_mark_of_a_full_cache_holds_for_the_same_code_only(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    assert not precompile.complete()
    cache.mark().touch()
    assert precompile.complete()
    monkeypatch.setattr(cache, "digest", lambda folder: "another version of the solver")
    assert not precompile.complete()


def signatures() -> set[tuple[str, str, Any]]:
    """Everything that is compiled in this process: kernels, and what they are called with."""
    modules = [import_module(f"adgm._kernels.{each.name}") for each in iter_modules(_kernels.__path__)]
    found = [(name, kernel) for module in modules for name, kernel in vars(module).items()]
    return {
        (kernel.py_func.__module__, name, signature)
        for name, kernel in found
        if isinstance(kernel, Dispatcher)
        for signature in kernel.signatures
    }


SCENE = {"left": 20, "right": 40, "points": 12, "landmarks": "seen in both views"}
CHOICES = [Recipe("turntable", SCENE, model) for model in ("A", "B", "C", "third")] + [Recipe("portrait", {}, "photo")]


def compiled_by_runs() -> set[tuple[str, str, Any]]:
    """What runs of all methods on all models compile that the warm-up has not compiled."""
    for stage in STAGES.values():
        stage()
    before = signatures()
    facilities = qap(*np.random.default_rng(0).integers(0, 9, (2, 6, 6)).astype(float)).problem
    problems = [*(recipe.problem(recipe.pair()) for recipe in CHOICES), facilities]
    for problem, method in product(problems, METHODS):
        if not METHODS[method].refusal(problem):
            solve(problem, method, time_limit=0.5)
    return signatures() - before


@pytest.mark.long
def test_a_run_compiles_nothing_after_the_warm_up():
    """Else that would count as its time. In a process of its own: other tests compile, too."""
    code = "from test_warmup import compiled_by_runs; print(compiled_by_runs())"
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    words, settings = [sys.executable, "-c", code], {**os.environ, "PYTHONPATH": path}
    found = subprocess.run(words, cwd=ROOT, env=settings, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


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
    assert isinstance(warm.with_fallback("adgm1", METHODS["adgm1"].make(), 2, (5, 5))[0], NumpyFallback)
    assert not begun.wait(0.2) and warm.thread.is_alive()
    warm.wanted.set()


def test_the_compiler_begins_at_once_for_a_run_that_waits_for_it(beside):
    warm, begun = beside
    method, lacks_kernels = warm.with_fallback("adgm+", METHODS["adgm+"].make(), 2, (5, 5))
    assert not isinstance(method, NumpyFallback)
    assert begun.wait(60)
    warm.thread.join(60)
    assert not lacks_kernels(None)


def test_the_match_page_brings_in_nothing_heavy_that_its_first_drawing_does_without():
    """Each of these takes as long to import as the page to draw; Streamlit's own tests of the app import pandas."""
    heavy = ["matplotlib", "pandas", "pyarrow", "scipy.spatial", "scipy.sparse", "scipy.interpolate", "pooch"]
    pages = ["ui.learn.page", "ui.learn.chapters", "ui.compare", "ui.debug.page", "ui.experiments", "experiments"]
    load = "DATASETS['turntable'].load(points=3)"  # the first picture
    code = f"import sys, ui.match.page; from features.datasets import DATASETS; {load}; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(found.stdout.split()) & {*heavy, *pages}
