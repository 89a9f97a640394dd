"""The documentation as it is built and seen: all names are there, nothing is fetched, nothing is wider than a phone."""

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import adgm
import features
from conftest import missing
from experiments import __main__ as experiments_main
from experiments.tools.documentation import SOURCES, links
from test_docstrings import PUBLIC

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built as by the command: a warning of MkDocs, or a dead link, is an error."""
    for package in ("mkdocs", "material", "mkdocstrings", "latex2mathml", "hatchling"):
        try:
            __import__(package)
        except ImportError:
            missing(f"{package} is not installed (assets/docs/requirements.txt)", "ADGM_REQUIRE_DOCS")
    folder = tmp_path_factory.mktemp("site")
    assert experiments_main.main(["docs", str(folder)]) == 0
    return folder


def test_the_site_has_every_page_and_every_public_name(site):
    pages = links.pages(site)
    assert not list(links.dead(site)) and len(pages) > 25
    names = {f"adgm.{name}" for name in adgm.__all__} | {f"adgm_explorer.{name}" for name in features.__all__}
    places = set().union(*(page.places for page in pages.values()))
    rooms = [(site / "reference" / f"{room}.html").read_text(encoding="utf-8") for room in ("solver", "explorer")]
    text = "".join(rooms)
    for name in names:
        module = getattr(PUBLIC[name.replace("adgm_explorer", "features")], "__module__", "")
        home = f"{module.replace('features', 'adgm_explorer.features')}.{name.rpartition('.')[2]}"
        assert {name, home} & places or f"<code>{name}</code>" in text, name


def test_the_site_speaks_of_the_installed_package_and_shows_what_it_ran(site):
    for path in links.pages(site):
        text = path.read_text(encoding="utf-8")
        assert "data-kept" not in text, path
        plain = re.sub(r"<[^>]*>", "", text)
        assert not re.search(r"python -m (features|experiments)\b|from features[. ]", plain), path
    for script in (SOURCES / "gallery").glob("*.py"):
        page = (site / "gallery" / f"{script.stem}.html").read_text(encoding="utf-8")
        assert 'class="cell"' in page or 'class="figure"' in page
    algorithm = (site / "algorithm.html").read_text(encoding="utf-8")
    assert algorithm.count("<math") > 10 and algorithm.count('display="block"') == 3
    for line in ("def step(", "    for d in blocks:", "        x[d] = project(problem, c[d], d)"):
        assert line in re.sub(r"<[^>]*>", "", algorithm)  # as it is written


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_on_a_phone_fetches_nothing_and_fits(theme: str, site: Path, address: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=theme)
    page, elsewhere, errors = context.new_page(), [], []
    page.on("request", lambda one: elsewhere.append(one.url) if one.url.startswith("http") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    grounds = set()
    for path in list(links.pages(site))[:: 1 if theme == "light" else 4]:
        page.goto(f"{address}{path.relative_to(site.resolve()).as_posix()}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path.name
        broken = "[...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"
        assert page.evaluate(broken) == []
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    dark = [sum(map(int, one.strip("rgb()").split(", ")[:3])) < 200 for one in grounds]
    assert dark == [theme == "dark"]
    assert not [url for url in elsewhere if not url.startswith(address)] and not errors
    context.close()


@pytest.mark.browser
def test_what_is_looked_for_is_found(address: str, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{address}index.html")
    page.locator(".md-search__input").first.click()
    page.locator(".md-search__input").first.press_sequentially("from_affinity")
    page.locator(".md-search-result__link").first.click()
    page.wait_for_function("location.pathname.includes('solver') || location.pathname.includes('problem-files')")
    page.close()
