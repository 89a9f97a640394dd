"""A formula of one's own in a real Chromium: typed with a mistake, mended, moved by a slider, run, shared, debugged."""

import re

import pytest

from experiments.tools.browser import Visit

pytestmark = [pytest.mark.browser, pytest.mark.long]
SCENE = "?data=random&data.inliers=10&data.outliers=4&data.seed=3&model=C&method=adgm1"
SPRINGS = "edges (d1 - d2)^2 / s2 on delaunay\ns2 = 400 in 1..1000"


def typed(page: Visit, text: str) -> None:
    """The text stands in the editor, and the server has answered it."""
    field = page.side.get_by_role("textbox", name="Formula")
    asked = page.talk.count("asked")
    field.fill(text)
    page.wait_until(lambda: page.talk.count("asked") > asked)
    page.settled()


def costs(page: Visit) -> str:
    """From where to where the costs of the first histogram go."""
    return str(page.side.locator(".separation .ends").first.inner_text())


def test_a_formula_is_typed_mended_moved_run_shared_and_opened_on_debug(visit, browser):
    page = visit(SCENE)
    page.ready()
    page.settings()
    page.choose("Model", "Your own formula")
    field = page.side.get_by_role("textbox", name="Formula")
    field.wait_for()
    assert "change" in field.input_value()  # it begins with model C, as a formula
    page.wait_until(lambda: page.side.locator(".separation .name").count() >= 3)  # the whole, its length, its direction

    typed(page, SPRINGS.replace("d2)", "d)"))
    page.side.get_by_text(re.compile("d has a value on either side; write d1 or d2")).wait_for()
    assert field.get_attribute("aria-invalid") == "true"
    runs = page.main.get_by_text(re.compile("run 1$"))
    assert not runs.count()  # the last valid model stays, and nothing is run
    typed(page, SPRINGS)
    page.wait_until(lambda: field.get_attribute("aria-invalid") == "false")
    page.finish()  # a change of the formula starts a run

    before = costs(page)
    slider = page.side.get_by_role("slider", name=re.compile("s2"))
    slider.press("Home")
    page.finish(2)  # as does a slider
    page.wait_until(lambda: costs(page) != before)

    bar = page.side.locator(".separation svg").first
    bar.hover(position={"x": 4, "y": 40})
    page.side.get_by_text(re.compile(r"^Cost .* of the right and .* of the wrong tuples")).first.wait_for()

    other = visit(page.page.url.partition("/?")[2] and f"?{page.page.url.partition('?')[2]}", browser.new_context())
    other.ready()
    other.settings()
    shared = other.side.get_by_role("textbox", name="Formula")
    shared.wait_for()
    assert shared.input_value() == SPRINGS
    assert other.side.get_by_role("slider", name=re.compile("s2")).get_attribute(
        "aria-valuenow"
    ) == slider.get_attribute("aria-valuenow")

    page.settings(shown=False)
    page.press("Why? Open in Debug")
    page.says(re.compile("Right or wrong|Ledger"))
