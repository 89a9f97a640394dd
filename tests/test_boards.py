"""The boards of the Learn page: the browser's numbers are Python's, and a board works as a file, without a server."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import javascript
from features.explain import lessons
from ui.learn import assignment, static_boards
from ui.learn.chapters import CHAPTERS


def test_the_browser_projects_as_the_solver_does(request):
    rng = np.random.default_rng(1)
    given = [[0.75, 0.45, -0.2], [1.6, -0.1, -0.5], [0.2, 0.5, 0.3], *rng.uniform(-3, 3, (60, 4)).round(3).tolist()]
    expression = "data.map((c) => ({ ...splitOf(c), told: toldSplit(c, c.map((_, k) => String(k + 1))) }))"
    for c, found in zip(given, javascript.evaluate(request, expression, given), strict=True):
        assert_allclose(found["x"], lessons.nearest(c), atol=1e-12)
        assert found["tau"] == pytest.approx(lessons.threshold(c), abs=1e-12)
        told = found["told"].replace("−", "-")
        taken = f"{found['tau']:.2f}"
        for k, x in enumerate(found["x"]):
            assert f"{k + 1}: {c[k]:.2f} {'-' if x > 0 else '≤'} {taken} → {x:.2f}"[: None if x > 0 else -3] in told


def test_the_browser_adds_up_the_energies_of_all_matchings(request):
    rng = np.random.default_rng(2)
    sides = [[lessons.LEFT, lessons.RIGHT], *(rng.integers(1, 11, (5, 2, 3, 2)) / 2).tolist()]
    names = [lessons.NAMES, lessons.NUMBERS]
    ranked = [lessons.ranking(lessons.triangles(*each)) for each in sides]
    data = [[each, [one.matching for one in all_six], names] for each, all_six in zip(sides, ranked, strict=True)]
    expression = "data.map(([sides, six, names]) => six.map((one) => toldEdges(sides, one, names)))"
    for told, all_six in zip(javascript.evaluate(request, expression, data), ranked, strict=True):
        for words, one in zip(told, all_six, strict=True):
            costs = [float(cost) for cost in re.findall(r": ([\d.]+)", words)]
            assert_allclose(sorted(costs), sorted(term.cost for term in one.terms), atol=0.0051)
            assert abs(float(words.rsplit(" ", 1)[1]) - one.energy) < 0.0051
            (a, i), (b, j) = one.terms[0].matches
            assert f"{names[0][a]}{names[0][b]} on {names[1][i]}{names[1][j]}: " in words


@pytest.mark.parametrize("chapter", static_boards.with_board(), ids=lambda chapter: chapter.key)
def test_a_board_is_one_file_that_asks_for_nothing(chapter, tmp_path):
    page = static_boards.page(chapter, chapter.defaults)
    script = page.partition('<script type="module">')[2].partition("</script>")
    assert script[2] == "</body></html>"  # nothing in it ends the script early
    assert not re.search(r"\b(src|href|import|fetch|url)\b *[=(]?[\"'(]", page.replace("url(#", ""))
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "</script" not in static_boards.embedded({"text": "</script><script>"})


def test_a_command_writes_the_boards_of_three_chapters(tmp_path):
    written = static_boards.write(tmp_path / "made")
    assert [file.name for file in written] == ["adgm-assignment.html", "adgm-plane.html", "adgm-simplex.html"]
    assert all(file.read_text(encoding="utf-8").startswith("<!doctype html>") for file in written)


def test_a_board_as_a_file_has_all_matchings_and_the_page_its_own_buttons():
    chapter = CHAPTERS["assignment"]
    assert len(assignment.board(chapter.defaults)["choices"]) == 6
    assert assignment.board(chapter.defaults, choices=False)["choices"] == []


@pytest.mark.browser
@pytest.mark.long
def test_boards_are_opened_from_the_file_system_and_dragged(browser, tmp_path):
    opened, errors = browser.new_page(), []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    told, files = opened.locator(".told"), {file.stem: file for file in static_boards.write(tmp_path)}

    def drag(name, by):
        before, frame = told.inner_text(), opened.get_by_role("button", name=re.compile(name)).bounding_box()
        x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
        opened.mouse.move(x, y)
        opened.mouse.down()
        opened.mouse.move(x + by[0], y + by[1], steps=4)
        opened.mouse.up()
        assert told.inner_text() != before

    opened.goto(files["adgm-assignment"].as_uri())
    opened.get_by_role("button", name="A3 B1 C2").click()
    assert told.inner_text().endswith("energy 0.53")
    drag("^Point C", (70, -40))
    opened.goto(files["adgm-simplex"].as_uri())
    drag("^Target c", (120, 60))
    opened.goto(files["adgm-plane"].as_uri())
    for _ in range(14):
        opened.get_by_role("button", name="Step forward").click()
    assert told.inner_text().startswith("After 14 iterations the points agree, at height 1.90.")
    drag("^Set 2", (-30, 40))
    opened.get_by_role("button", name="Disc and two islands").click()
    assert "start S" in told.inner_text()
    opened.close()
    assert errors == []
