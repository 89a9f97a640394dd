"""What tests need from outside: the real data and a real browser. Missing ones skip, or fail where CI demands them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.browser import Server, Visit, chromium, chromium_path, serving


def missing(what: str, demanded_by: str) -> None:
    if os.environ.get(demanded_by):
        pytest.fail(f"{what}, and {demanded_by} demands it")
    pytest.skip(what)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Kernels are compiled once, before every worker, and every server that it starts, would do it for itself."""
    options = session.config.option
    if getattr(options, "numprocesses", None) and not hasattr(session.config, "workerinput"):
        subprocess.run([sys.executable, "-m", "adgm.warmup"], check=True, stdout=subprocess.DEVNULL)


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: those in a browser wait half of their time."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest first, so that no worker is left alone with one of them at the end."""
    slow = {item.path for item in items if item.get_closest_marker("browser") is not None}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True)
def same_main_module() -> Iterator[None]:
    """Streamlit's AppTest leaves its script as the main module, and processes that are spawned later would run it."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app on a machine without the real data sets, whose runs end soon after their page is gone."""
    cache = str(tmp_path_factory.mktemp("cache"))
    with serving(ADGM_DATA_DIR=None, XDG_CACHE_HOME=cache, ADGM_PATIENCE="20") as running:
        yield running
        assert not running.complaints()


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
