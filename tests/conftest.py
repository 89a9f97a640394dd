"""What tests need from outside: the real data and a real browser. Missing ones skip, or fail where CI demands them.

Files with a browser form one group, which one worker runs: they share one Chromium and one server. Of the long tests,
which take minutes there, every worker runs some, with a Chromium and a server of its own. Every other file is a group,
so that what it builds is built once. The names of the files say which, because pytest-xdist's own mark for groups has
no effect with pytest 9.2.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from adgm import precompile
from adgm._kernels import cache
from adgm._kernels.interpreted import INTERPRETER
from experiments.tools.browser import Server, Visit, chromium, chromium_path, serving

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")


# Several workers and a dozen servers load the same sources: compiled by one of them for all, whatever the shell says.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# How the names of their files end
WITH_BROWSER = ("_browser.py", "test_boards.py", "test_canvas.py", "test_presses_long.py")
SAME_RUNS = ("test_learn.py", "test_lessons.py")  # made once where one worker has both
COMPILING = pytest.StashKey[subprocess.Popen[bytes]]()
TURNS = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def missing(what: str, demanded_by: str) -> None:
    if os.environ.get(demanded_by):
        pytest.fail(f"{what}, and {demanded_by} demands it")
    pytest.skip(what)


def pytest_configure(config: pytest.Config) -> None:
    """Servers and commands that the tests start find the kernels where the tests have them, and no test runs
    uncompiled ones unless it says so."""
    INTERPRETER.never()
    if cache.FOLDER is not None:
        os.environ[cache.VARIABLE] = str(cache.FOLDER.parent)


@pytest.hookimpl(wrapper=True)
def pytest_sessionstart(session: pytest.Session) -> Iterator[None]:
    """Kernels are compiled once, before every worker, and every server that it starts, would do it for itself; the
    workers collect the tests meanwhile."""
    options = session.config.option
    controls = getattr(options, "numprocesses", None) and not hasattr(session.config, "workerinput")
    if controls and not precompile.complete():
        command = [sys.executable, "-m", "adgm.precompile"]
        session.config.stash[COMPILING] = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["turns"] = node.config.stash.setdefault(TURNS, tempfile.TemporaryDirectory()).name


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """The first worker compiles what the tests import; the others begin when it has collected them, and load that."""
    turns = getattr(session.config, "workerinput", {}).get("turns")
    if turns is None:
        return (yield)
    collected = Path(turns, "collected")
    with FileLock(Path(turns, "lock")) as turn:
        if collected.exists():
            turn.release()
        result = yield
        collected.touch()
        return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """No worker gets a test before the kernels are there."""
    compiling = session.config.stash.get(COMPILING, None)
    if compiling is not None and compiling.wait():
        pytest.exit(f"adgm.precompile ended with {compiling.returncode}", 3)


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: the one with the browser waits half of its time."""
    return (os.cpu_count() or 1) + 1


def group(file: str, *, long: bool = False) -> str:
    if file.endswith(WITH_BROWSER) and not long:
        return "browser"
    return "learn" if file.endswith(SAME_RUNS) else file


class ByFile(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid.partition("::")[0], long="not long" not in self.config.option.markexpr)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those with a browser come first, so that they are not left alone at the end."""
    items.sort(key=lambda item: group(item.path.name) != "browser")


@pytest.fixture(autouse=True)
def same_main_module() -> Iterator[None]:
    """Streamlit's AppTest leaves its script as the main module, and processes that are spawned later would run it."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(autouse=True)
def no_run_goes_on() -> Iterator[None]:
    """What a test has started in the server's pool ends with it: else it takes the places of the tests that follow."""
    yield
    pool = sys.modules.get("ui.jobs.scheduler")
    for member in list(pool.POOL.members) if pool else ():
        if hasattr(member, "stop"):
            member.stop()
            member.wait()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the four real data sets."""
    folder = Path(os.environ.get("ADGM_DATA_DIR") or "no data folder set")
    if not (folder / "house" / "labels").is_dir():
        missing("ADGM_DATA_DIR does not point to the real data sets", "ADGM_REQUIRE_DATA")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """The system's Chromium, driven by playwright."""
    if chromium_path() is None:
        missing("no Chromium on this machine", "ADGM_REQUIRE_BROWSER")
    pytest.importorskip("playwright.sync_api")
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app on a machine without the real data sets, whose runs end soon after their page is gone."""
    folder = str(tmp_path_factory.mktemp("cache"))
    with serving(ADGM_DATA_DIR=None, XDG_CACHE_HOME=folder, ADGM_PATIENCE="20") as running:
        yield running


@pytest.fixture(scope="module")
def server(app: Server) -> Iterator[Server]:
    """The app, which must not complain while the tests of this file run."""
    mine = replace(app, read=len(app.written()))
    yield mine
    assert not mine.complaints()


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[object]:
    """Pages that share a cache, as a visitor's do."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, accept_downloads=True)
    yield context
    context.close()


@pytest.fixture
def visit(window: object, server: Server) -> Iterator[Callable[..., Visit]]:
    """Opens a page of the app, which must not meet an error."""
    visits: list[Visit] = []

    def open_page(query: str = "", context: object = None) -> Visit:
        visits.append(Visit(context or window, f"{server.url}/{query}"))
        return visits[-1]

    yield open_page
    for one in visits:
        one.close()
        assert not one.errors
