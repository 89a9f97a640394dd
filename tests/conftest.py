"""What tests need from outside: the real data and a real browser. Missing ones skip, or fail where CI demands them."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.browser import chromium, chromium_path


def missing(what: str, demanded_by: str) -> None:
    if os.environ.get(demanded_by):
        pytest.fail(f"{what}, and {demanded_by} demands it")
    pytest.skip(what)


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
