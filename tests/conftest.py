"""What tests need from outside: the real data and a real browser. Missing ones skip, or fail where CI demands them."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


def missing(what: str, demanded_by: str) -> None:
    if os.environ.get(demanded_by):
        pytest.fail(f"{what}, and {demanded_by} demands it")
    pytest.skip(what)


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
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        missing("no Chromium on this machine", "ADGM_REQUIRE_BROWSER")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=executable,
            args=["--no-sandbox", "--headless=new", "--disable-gpu", "--disable-background-networking"],
        )
        yield chromium
        chromium.close()
