"""Tests run in processes that are forked from this one: which lines of which modules each test runs, and whether some
tests pass.

A forked process has numba, SciPy and the compiled kernels already, which cost seconds to load; everything else of the
project is imported anew from the tree that it is told.
"""

import hashlib
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import Phase, settings
from platformdirs import user_cache_dir

from adgm.precompile import STAGES

PROJECT = ("adgm", "experiments", "features", "tests", "ui")
KEPT = "adgm._kernels"  # imports nothing else of the project, and is never changed
HELPERS = ("conftest", "commands", "problems", "streamlit_client")  # of the tests, beside test_* and oracles*
LIBRARIES = ("cv2", "matplotlib.pyplot", "scipy.optimize", "scipy.sparse.linalg", "scipy.spatial")
QUIET = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:warnings")
WAITS = 10.0  # seconds on the clock for one of computing, on a busy machine
LONGEST = 900.0  # seconds of computing for tests that are known to pass
IMPORTED = ""  # stands for what runs when a test file is imported
Reached = dict[str, tuple[float, dict[str, list[int]]]]  # test: its seconds, and by module the lines that it runs


def forked(work: Callable[[], int], seconds: float) -> int | None:
    """The exit code of some work in a process of its own; None if it computed for longer, or waited ten times as
    long, or was killed."""
    sys.stdout.flush(), sys.stderr.flush()
    if (child := os.fork()) == 0:
        with suppress(BaseException):
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            empty = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(empty, stream)
            os._exit(work())
        os._exit(99)
    over = time.monotonic() + WAITS * seconds
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > over:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        time.sleep(0.01)
    return os.WEXITSTATUS(ended[1]) if os.WIFEXITED(ended[1]) else None


def load() -> None:
    """Load what every forked process needs and no mutant changes: libraries, kernels, the plugins of pytest."""
    for library in LIBRARIES:
        import_module(library)
    for stage in STAGES.values():
        stage()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        pytest.main([*QUIET, "--collect-only", "--rootdir", folder, folder])


def run_tests(tree: Path, tests: Sequence[str], *plugins: object) -> int:
    """pytest's exit code, in this process, for tests of another tree."""
    os.chdir(tree)
    helpers = {path.stem for path in (tree / "tests").glob("*.py")}
    for name in list(sys.modules):
        if name.split(".")[0] in (*PROJECT, *helpers) and name != KEPT and not name.startswith(f"{KEPT}."):
            del sys.modules[name]
    sys.path[:0] = [str(tree), str(tree / "tests")]
    return int(pytest.main([*QUIET, *tests], plugins=[Unshrunk(), *plugins]))


def passes(tree: Path, tests: Sequence[str], seconds: float) -> bool | None:
    """Whether all of these tests pass, within so many seconds of computing; None if they do not end."""
    if not tests:  # pytest would run all that there are
        return True
    code = forked(lambda: run_tests(tree, tests), seconds)
    return None if code is None else code == 0


class Unshrunk:
    """A plugin of pytest: Hypothesis need not look for the simplest case that fails."""

    def pytest_sessionstart(self) -> None:
        settings.register_profile("unshrunk", settings.default, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("unshrunk")


class Tracer:
    """A plugin of pytest that notes the lines of some files that each test runs."""

    def __init__(self, tree: Path, modules: Sequence[str]) -> None:
        self.paths = {str(tree / path): path for path in modules}
        self.lines: set[tuple[str, int]] = set()
        self.found: Reached = {}

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        return self.line if frame.f_code.co_filename in self.paths else None

    def line(self, frame: FrameType, event: str, argument: object) -> Any:
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    def watch(self) -> None:
        threading.settrace(self)
        sys.settrace(self)

    def note(self, test: str, seconds: float) -> None:
        by_module: dict[str, list[int]] = {}
        for path, line in sorted(self.lines):
            by_module.setdefault(self.paths[path], []).append(line)
        self.found[test] = seconds, by_module
        self.lines.clear()

    def pytest_collection_finish(self) -> None:
        self.note(IMPORTED, 0.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.watch()
        began = time.process_time()
        result = yield
        self.note(item.nodeid, time.process_time() - began)
        return result


def traced(tree: Path, file: str, modules: Sequence[str]) -> Reached | None:
    """What each test of a file runs; None if one of them fails. Kept in the user's cache until one of the modules that
    the tests run, or the file itself, changes."""
    kept = Path(user_cache_dir("adgm")) / "mutate" / f"{fingerprint(tree, file, modules)}.json"
    if (known := still_true(kept, tree)) is not None:
        return known
    tracer = Tracer(tree, modules)

    def work() -> int:
        tracer.watch()
        code = run_tests(tree, [file], tracer)
        if code == 0:
            run = {module for _, lines in tracer.found.values() for module in lines}
            content = {"modules": {module: digest(tree / module) for module in run}, "tests": tracer.found}
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(content), encoding="utf-8")
        return code

    return still_true(kept, tree) if forked(work, LONGEST) == 0 else None


def still_true(kept: Path, tree: Path) -> Reached | None:
    """What has been kept, if the modules are those of then."""
    if not kept.is_file():
        return None
    content = json.loads(kept.read_text(encoding="utf-8"))
    same = all((tree / path).is_file() and digest(tree / path) == then for path, then in content["modules"].items())
    return dict(content["tests"]) if same else None


def fingerprint(tree: Path, file: str, modules: Sequence[str]) -> str:
    """Of a test file, of what it may use of the other tests, and of the modules' names."""
    helpers = [path for path in (tree / "tests").glob("*.py") if path.stem in HELPERS or "oracles" in path.stem]
    told = hashlib.sha256("\n".join(modules).encode())
    for path in sorted([*helpers, tree / file]):
        told.update(str(path.relative_to(tree)).encode() + path.read_bytes())
    return told.hexdigest()[:32]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
