"""The Debug page in a real Chromium: from a wrong match on Match to its ledger in two clicks, and a term lights up."""

import re

import pytest

from experiments.tools.browser import Visit
from features.explain import case_of
from features.recipe import Recipe

RECIPE = Recipe("random", {"inliers": 8, "outliers": 3, "noise": 30.0, "seed": 0}, "B", {}, "adgm")
QUERY = "?" + "&".join(f"{name}={value}" for name, value in RECIPE.to_query().items())
MIDDLE = """(board, [i, j]) => {
  const [from, to] = board.endsOf(board.lines.find((line) => line.i === i && line.j === j));
  return [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
}"""
PICKED = "(board, [i, j]) => board.selected && board.selected.i === i && board.selected.j === j"

pytestmark = pytest.mark.browser


def test_from_a_wrong_match_to_its_ledger_in_two_clicks_and_its_terms_light_up(browser, server):
    case = case_of(RECIPE)
    match = case.wrong[0]
    book = case.ledger(match)
    visit = Visit(browser.new_context(viewport={"width": 1280, "height": 900}), server.url + "/" + QUERY)
    visit.ready()
    visit.choose("Pace", "full speed")
    visit.press("Start")
    visit.finish()
    canvas = visit.page.locator("canvas[aria-roledescription]").last
    canvas.scroll_into_view_if_needed()
    frame, (x, y) = canvas.bounding_box(), visit.board(MIDDLE, list(match))
    visit.page.mouse.click(
        frame["x"] + x, frame["y"] + y
    )  # one: the wrong line (lines may cross: it picks the nearest)
    visit.wait_until(lambda: visit.board(PICKED, list(match)))
    visit.settled()
    visit.press("Why? Open in Debug")  # two
    visit.settled()
    visit.says(f"Left {match[0]} → right {match[1]}")
    visit.says(repr(book.total))

    rows = visit.page.locator(".lines tbody tr")
    visit.wait_until(lambda: rows.count() == len(book.lines))
    lit = {tuple(m) for m in book.lines[0].matches}
    strong = "board => board.lines.filter((line) => line.value > 0.5).map((line) => [line.i, line.j])"

    def lights_up() -> bool:
        """Point at the first line, anew each time: the page may move under the pointer while it is drawn."""
        visit.page.mouse.move(0, 0)
        rows.first.hover()
        visit.settled()
        return {tuple(m) for m in visit.board(strong)} == lit

    visit.wait_until(lights_up)
    visit.wait_until(lambda: visit.board("board => board.data.sides[0].edges.length > 0"))

    visit.page.mouse.move(0, 0)  # and goes out again
    visit.wait_until(lambda: visit.board("board => board.data.sides[0].edges.length === 0"))

    visit.main.get_by_role("radio", name=re.compile("Confidence$")).click()
    visit.press("Find margins")
    visit.says(re.compile(f"of {len(case.pairs)} margins certified"))
    assert not visit.errors
    visit.page.context.close()
