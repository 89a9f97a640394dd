"""The Compare page in a real Chromium: compare all, sort, take every file away, open a row, stop half-way."""

import csv
import io
import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from experiments.tools.browser import Server
from experiments.tools.browser import Visit as AnyVisit
from features.judge import comparison
from features.judge.classics import CLASSICS, Ransac
from features.judge.metrics import percent
from features.recipe import Recipe

ROOT = Path(__file__).parents[1]
PAIR = Recipe("turntable", {"left": 20, "right": 40, "points": 8, "landmarks": "seen in both views"}, "B")
QUERY = "data=turntable&data.left=20&data.right=40&data.points=8&data.landmarks=seen+in+both+views&model=B"

# What assistive technology reads of the table; empty for moments while it is drawn anew.
CELLS = """name => {
  const all = (kind) => [...document.querySelectorAll(`canvas [role=${kind}]`)];
  const head = all("columnheader").find(one => one.textContent === name);
  const at = head && head.getAttribute("aria-colindex");
  return all("gridcell").filter(one => one.getAttribute("aria-colindex") === at).map(one => one.textContent);
}"""

pytestmark = pytest.mark.browser


class Visit(AnyVisit):
    """The Compare page of one visitor, reached from the Match page."""

    def __init__(self, browser, server: Server, query: str, width: int = 1300):
        self.context = browser.new_context(viewport={"width": width, "height": 1000})
        super().__init__(self.context, f"{server.url}/?{query}")
        self.ready()
        self.page.wait_for_url(re.compile("method="))  # the choice is in the address
        self.page.get_by_role("link", name="Compare").first.click()
        self.button("Compare").wait_for()

    def button(self, name: str):
        return self.main.get_by_role("button", name=name, exact=True)

    def column(self, name: str) -> list[str]:
        """The cells of a column, from top to bottom, as assistive technology reads them; all at one moment."""
        found: list[str] = []

        def read() -> bool:
            found[:] = self.page.evaluate(CELLS, name)
            return bool(found)

        self.wait_until(read)
        return found

    def click_table(self, row: int, x: float) -> None:
        """A click on a row of the table, 0 for its header."""
        table = self.main.get_by_test_id("stDataFrame")
        table.scroll_into_view_if_needed()
        frame = table.bounding_box()
        self.page.mouse.click(frame["x"] + x, frame["y"] + 18 + 35 * row)

    def taken(self, name: str) -> tuple[str, bytes]:
        with self.page.expect_download() as coming:
            self.page.get_by_role("button", name=name, exact=True).click()
        return coming.value.suggested_filename, Path(coming.value.path()).read_bytes()


@pytest.fixture
def visit(browser, server):
    visits: list[Visit] = []

    def open_page(query: str, **options) -> Visit:
        visits.append(Visit(browser, server, query, **options))
        return visits[-1]

    yield open_page
    for one in visits:
        one.context.close()
        assert not one.errors


@pytest.mark.long
def test_compare_all_sort_take_away_and_open_a_row(visit):
    here = visit(QUERY)
    problem = PAIR.problem()
    here.main.get_by_text(f"8 × {problem.shape[1]} points").wait_for()  # the choice made on the Match page came along
    here.main.get_by_label("Time limit each (s)", exact=True).fill("1")
    here.main.get_by_label("Time limit each (s)", exact=True).press("Enter")
    here.button("Compare").click()
    here.says("All done")
    classics = [key for key, one in CLASSICS.items() if isinstance(one.options, Ransac)]
    labels = [comparison.LABELS[key] for key in [*comparison.fitting(problem), *classics]]
    here.main.locator("canvas [role=row]").nth(len(labels)).wait_for(state="attached")
    assert [name.removesuffix(" ★") for name in here.column("Method")] == labels
    here.says(re.compile(r"\d+ different matchings|All methods came to one matching"))
    for label in labels:  # every method below the picture of its matching
        here.main.get_by_role("button", name=re.compile(f"^{re.escape(label)} [0-9]")).first.wait_for()

    # sort by the names, upwards and then downwards, and open the row that is on top now: TM
    accuracy = dict(zip(labels, here.column("Accuracy"), strict=True))["TM"]
    for _ in range(2):
        here.click_table(0, 120)
        here.page.wait_for_timeout(1000)  # two clicks are not a double click
    here.click_table(1, 18)
    here.button("Start").wait_for()
    here.page.wait_for_url(re.compile("[?&]method=tm"))
    here.says(re.compile(f"^{percent(float(accuracy))}$"))
    here.page.get_by_role("link", name="Compare").first.click()
    here.says("All done")

    # every file can be read
    here.share()
    name, data = here.taken("CSV")
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    assert name == "comparison.csv" and [row["method"] for row in rows] == labels
    assert all(0 <= float(row["accuracy"]) <= 1 and float(row["gap"]) >= 0 for row in rows)
    name, data = here.taken("Markdown")
    lines = data.decode().splitlines()
    assert name == "comparison.md" and len(lines) == 2 + len(labels)
    assert {line.count("|") for line in lines} == {lines[0].count("|")}
    name, data = here.taken("LaTeX")
    assert name == "comparison.tex" and data.decode().count(r"\\") == 1 + len(labels)
    name, data = here.taken("Grid (PNG)")
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert name == "grid.png" and min(picture.shape[:2]) > 300
    name, data = here.taken("Grid (PDF)")
    assert name == "grid.pdf" and data.startswith(b"%PDF") and data.rstrip().endswith(b"%%EOF")
    name, data = here.taken("Matchings (JSON)")
    content = json.loads(data)
    assert name == "matchings.json" and [one["label"] for one in content["methods"]] == labels
    first = content["methods"][0]
    assert first["pairs"] == Recipe.from_dict(first["recipe"]).run().pairs.tolist()
    here.says("python -m features compare --dataset turntable")


def test_stop_half_way_and_a_phone_shows_it_all(visit):
    here = visit("data=turntable&data.left=20&data.right=65&model=C")
    here.button("Compare").click()
    here.button("Stop comparing").wait_for()
    here.wait_until(lambda: "converged" in here.column("Status"))  # the first result is there while others run
    here.button("Stop comparing").click()
    here.says("not run:")
    here.main.get_by_text("Stopped").first.wait_for()
    here.wait_until(here.button("Compare").is_enabled)
    here.main.get_by_test_id("stDataFrame").hover()
    here.main.get_by_role("button", name="Fullscreen").first.wait_for()
    assert not here.main.get_by_role("button", name="Download as CSV").count()  # Streamlit's own knows no formulas
    finished = len(here.column("Method"))
    assert 1 <= finished < len(comparison.fitting(Recipe("turntable", {"left": 20, "right": 65}, "C").problem()))
    here.page.set_viewport_size({"width": 390, "height": 844})
    here.wait_until(lambda: here.main.evaluate("one => innerWidth === 390 && one.scrollWidth <= one.clientWidth + 1"))


@pytest.mark.long
def test_looking_at_the_options_of_a_method_changes_none(visit):
    here = visit(QUERY)
    here.settled()
    here.page.get_by_text("Lower bound", exact=True).click()  # the page is drawn again before the options are looked at
    here.settled()
    here.main.get_by_role("button", name="Options").click()
    most = here.page.get_by_role("spinbutton", name="Most iterations")
    here.wait_until(lambda: most.input_value() == "10000")
    here.shut()
    here.settled()
    here.main.get_by_role("button", name="Options").click()
    here.wait_until(lambda: most.input_value() == "10000")
    assert not here.page.get_by_text("Changed:").count()
