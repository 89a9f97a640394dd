"""The stage of Match in a real Chromium: which lines are drawn, what the legend does, and that no point is cut off."""

import re
from collections.abc import Iterator

import pytest

from experiments.tools.browser import Visit

pytestmark = pytest.mark.browser
MANY = "?data=random&data.inliers=60&data.noise=20&model=B&method=adgm1&method.max_iter=3&run=1"
INSIDE = """board => board.points.every((points, side) => points.every((point) => {
  const [x, y] = board.toScreen(side, point), [left, top, width, height] = board.halfOnScreen(side);
  return x >= left && y >= top && x <= left + width && y <= top + height;
}))"""
SHOWN = "board => board.shown.map((line) => line.index)"
COLOURS = """(board, [i, j]) => [[0, i], [1, j]].map(([side, k]) => {
  const [x, y] = board.toScreen(side, board.points[side][k]), ratio = window.devicePixelRatio || 1;
  return [...board.context.getImageData(x * ratio, y * ratio, 1, 1).data];
})"""


@pytest.fixture(scope="module")
def many(browser, app) -> Iterator[Visit]:
    """A finished run with more lines than are drawn at first, some of them wrong."""
    page = Visit(browser, f"{app.url}/{MANY}")
    page.finish()
    yield page
    page.close()
    assert not page.errors


def test_some_of_many_lines_are_drawn_the_same_ones_each_time_and_all_on_demand(many):
    drawn = many.board(SHOWN)
    assert len(drawn) == 48 < many.board("board => board.wanted.length")
    many.press("All lines")
    many.wait_until(lambda: many.board("board => board.shown.length === board.wanted.length"))
    many.press("Fewer lines")
    many.wait_until(lambda: many.board(SHOWN) == drawn)


def test_the_legend_filters_kinds_and_a_second_press_brings_all_back(many):
    kinds = "board => [...new Set(board.wanted.map((line) => board.data.kinds[line.kind].name))].sort()"
    every = many.board(kinds)
    assert every == ["correct", "wrong"]  # and none that was missed: nobody has asked for those
    wrong = many.page.locator(".legend").get_by_role("button", name=re.compile("wrong$"))
    wrong.click()
    many.wait_until(lambda: many.board(kinds) == ["wrong"])
    wrong.click()
    many.wait_until(lambda: many.board(kinds) == every)


def test_with_points_only_partners_have_one_colour(many):
    many.press("Points only")
    many.wait_until(lambda: many.board("board => board.memory.look") == "points")
    pairs = many.board("board => board.wanted.slice(0, 6).map((line) => [line.i, line.j])")

    def colours() -> list[list[list[int]]]:
        return [many.board(COLOURS, pair) for pair in pairs]

    many.wait_until(lambda: len({str(left) for left, _ in colours()}) > 3)
    assert all(left == right for left, right in colours())
    many.press("Lines")


WHOLE = """box => [...box.querySelectorAll(".chip:not([hidden])")].every((chip) => {
  const [mine, room] = [chip.getBoundingClientRect(), box.getBoundingClientRect()];
  return mine.top >= room.top - 1 && mine.bottom <= room.bottom + 1;
})"""


@pytest.mark.long
def test_matches_to_look_at_are_shown_whole_and_the_rest_are_counted_and_shown_on_demand(many):
    box = many.page.locator(".answers .chips")
    shown = box.locator(".chip:not(.rest):not([hidden])")
    rest, few = box.locator(".rest"), shown.count()
    assert box.evaluate(WHOLE) and few >= 1
    every = int(many.page.locator(".answers .look h3").inner_text().split()[0])
    assert rest.inner_text() == f"{every - few} more"
    rest.click()
    many.wait_until(lambda: shown.count() == min(every, 40) > few)


@pytest.mark.parametrize(
    "size", [(1280, 720), *(pytest.param(size, marks=pytest.mark.long) for size in ((1920, 1080), (390, 844)))]
)
def test_no_point_is_cut_off(browser, app, size):
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = Visit(context, app.url)
    page.ready()
    page.settled()
    assert page.board(INSIDE)
    context.close()
