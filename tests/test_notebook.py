"""What a notebook shows: short representations, and cells that are well-formed, escaped, and say what is true."""

import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from adgm import AT_MOST_ONE, Dense, Formula, Problem, Run, Sparse, solve
from adgm.explain.ledger import ledger
from adgm.machine import cells
from experiments.tools import notebooks
from features import Matching, match
from features.judge.comparison import compare, table
from features.pairs import Pair, View
from features.points.keypoints import Keypoints
from features.recipe import Recipe
from features.tables import Table

HOSTILE = "<script>alert('1')</script> & \"x\" \x07 ]]>"
VOID = {"image", "path", "rect", "circle", "polyline", "img"}


class Elements(HTMLParser):
    """Every start tag with its attributes, all texts; an end tag that does not fit is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, tag):
        return [attributes for one, attributes in self.found if one == tag]


@pytest.fixture(scope="module")
def found() -> Matching:
    """A matching with right, wrong and stray matches."""
    return match(Recipe("turntable", model="B"))


@pytest.fixture(scope="module")
def shown(found) -> dict[str, object]:
    """Everything that a notebook draws."""
    true = np.zeros(found.problem.shape)
    true[np.arange(len(found.pair.truth)), found.pair.truth] = found.pair.truth >= 0
    rows = list(compare(found.recipe, found.pair, found.problem, ["adgm", "sm"]))
    return {
        "matching": found,
        "pair": found.pair,
        "problem": found.problem,
        "result": found.result,
        "ledger": ledger(found.problem, found.result.assignment, true),
        "table": table(rows),
        "animation": found.animation(300),
        "row": rows[0],
    }


NAMES = ("matching", "pair", "problem", "result", "ledger", "table", "animation", "row")


@pytest.mark.parametrize("name", NAMES)
def test_representations_are_short_and_cells_are_whole(name, shown):
    assert len(repr(shown[name])) < 400 or name == "table"
    if not hasattr(shown[name], "_repr_html_"):
        return
    page = Elements(shown[name]._repr_html_())
    assert not page.named("script") and not re.search(r"\bon\w+=", shown[name]._repr_html_().partition("base64")[0])
    links = [value for _, told in page.found for key, value in told.items() if key in ("src", "href")]
    assert all(link.startswith("data:image/") for link in links), "a saved notebook needs no other file"
    for picture in re.findall(r"<svg.*?</svg>", shown[name]._repr_html_(), re.S):
        ElementTree.fromstring(picture)


def test_representations_say_what_is_there(found):
    problem = found.problem
    assert repr(problem) == "Problem(39 × 43 nodes, order 2, 1677 variables)"
    assert f"{found.result.iterations} iterations, energy {found.result.energy:.7g}" in repr(found.result)
    assert repr(Dense(np.eye(3))) == "Dense(costs=float64 (3, 3))"
    assert "iteration 0" in repr(Run(problem, found.recipe.method_object()))
    candidates = np.zeros((200, 300), bool)
    candidates[:, :2] = True
    large = Problem((200, 300), [Dense(np.zeros((200, 300)))], candidates=candidates)
    assert "400 variables" in repr(large) and "400 of 60000 pairs" in large._repr_html_()
    assert "layout" not in vars(large), "telling a problem builds nothing"
    state = repr(found.result.state)
    assert "ADGMState(iteration=" in state and "x=float64 (1677,)" in state and len(state) < 500


def test_the_cell_of_a_problem_lists_its_potentials():
    edges = np.array([[0, 1], [1, 2]])
    line = np.abs(np.subtract.outer([0.0, 1, 3], [0.0, 1, 3]))
    parts = [
        Dense(np.zeros((3, 3))),
        Sparse([[0, 4, 8]], [-1.0], symmetric=True),
        Formula(line, line, lambda a, b: np.abs(a - b)[..., 0], left_edges=edges, right_edges=edges[:1], where="both"),
    ]
    told = " ".join(Elements(Problem((3, 3), parts, cols=AT_MOST_ONE)._repr_html_()).texts)
    for said in ("Dense 1 3 × 3", "Sparse 3 1 tuples, in any order", "Formula 2 computed on 2 left edges and 1 right"):
        assert said in " ".join(told.split())
    assert "one partner or none" in told


def test_every_line_tells_its_match_under_the_pointer(found):
    page = found._repr_html_()
    titles = re.findall(r"<title>(left \d+ → right \d+) · ([\w ]+) · share of the score (\S+) ", page)
    expected = {f"left {i} → right {j}": kind for (i, j), kind in zip(found.pairs.tolist(), found.kinds, strict=True)}
    words = {"correct": "correct", "wrong": "wrong", "stray": "without a partner"}
    assert {place: said for place, said, _ in titles} == {place: words[kind] for place, kind in expected.items()}
    assert sum(float(share) for *_, share in titles) == pytest.approx(found.metrics.score, rel=1e-3)
    assert f"wrong ({found.kinds.count('wrong')})" in page and found.metrics.explanation.split(":")[0] in page


def test_a_line_ends_at_its_two_points():
    spots = np.array([[10.0, 20], [60, 50]])
    pair = Pair(*(View(None, Keypoints(spots)) for _ in "lr"), np.array([0, 1]), "two")
    page = match(pair)._repr_html_()
    lines = {tuple(map(float, way)) for way in re.findall(r'class="l" d="M(\S+) (\S+)L(\S+) (\S+)"', page)}
    dots = re.search(r'pointer-events="none"><path d="([^"]+)"', page)
    places = [tuple(map(float, at)) for at in re.findall(r"M(\S+) (\S+?)h0", dots[1])]
    assert lines == {(*places[0], *places[2]), (*places[1], *places[3])}


def test_names_from_outside_stay_text(found):
    pair = replace(found.pair, name=HOSTILE)
    lined = replace(found, pair=pair)
    written = Table((HOSTILE,), ((HOSTILE,),), title=HOSTILE)
    for one in (pair, lined, written):
        page = Elements(one._repr_html_())
        assert not page.named("script") and "alert('1')" in "".join(page.texts) and "\x07" not in one._repr_html_()


@given(st.text(max_size=60))
def test_any_text_is_told_as_it_is(said):
    page = Elements(
        cells.card(said, cells.words(said), cells.facts({said: said}), cells.table((said,), [(said,)], "l"))
    )
    assert {tag for tag, _ in page.found} <= {"style", "div", "p", "b", "table", "tr", "th", "td"}
    plain = "".join(letter if letter.isprintable() else " " for letter in said)
    assert page.texts.count(plain) >= (3 if plain else 0)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=30))
def test_a_curve_rises_where_its_values_do(values):
    page = cells.curves({"energy": values, "other": values})
    finite = [(k, value) for k, value in enumerate(values) if np.isfinite(value)]
    if not finite:
        assert "polyline" not in page
        return
    told = re.search(r'points="([^"]+)"', page)[1].split()
    places = [tuple(map(float, point.split(","))) for point in told]
    assert len(places) == len(finite)
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert np.isfinite(places).all()
    heights = [y for _, (_, y) in sorted(zip([value for _, value in finite], places, strict=True))]
    assert heights == sorted(heights, reverse=True), "the axis points upwards"


def test_a_run_without_iterations_is_drawn():
    result = solve(Problem((2, 3), [Dense(np.eye(2, 3))]), "adgm", watch=lambda state: True)
    assert result.status == "stopped"
    Elements(result._repr_html_())


def said(book) -> list[list[str]]:
    """What every cell printed."""
    return [[one.text for one in cell.outputs if one.output_type == "stream"] for cell in notebooks.code_cells(book)]


@pytest.mark.long
@pytest.mark.parametrize("name", ["first-matching", "own-model", "debugging-a-failure"])
def test_the_notebooks_run_and_say_what_they_are_stored_with(name):
    path = notebooks.NOTEBOOKS / f"{name}.ipynb"
    pytest.importorskip("nbclient", reason="nbclient runs the notebooks")
    stored = notebooks.read(path)
    now = notebooks.executed(path)
    assert said(now) == said(stored) and any(map(len, said(now)))
    for one, other in zip(notebooks.code_cells(now), notebooks.code_cells(stored), strict=True):
        kinds = [sorted(out.get("data", {})) for cell in (one, other) for out in cell.outputs]
        assert kinds[: len(one.outputs)] == kinds[len(one.outputs) :]
    shown = [out.data for cell in notebooks.code_cells(now) for out in cell.outputs if "data" in out]
    pictures = [data["text/html"] for data in shown if "text/html" in data]
    assert any("<svg" in page for page in pictures) and all(Elements(page).found for page in pictures)


def test_an_animation_begins_relaxed_and_ends_with_the_matching(shown, tmp_path):
    moving = shown["animation"]
    moving.save(tmp_path / "run.gif")
    with Pillow.open(tmp_path / "run.gif") as picture:
        assert picture.n_frames == moving.frames > 10 and picture.width == 300
        frames = []
        for k in (0, moving.frames - 1):
            picture.seek(k)
            frames.append(np.asarray(picture.convert("RGB")).astype(int))
    assert np.abs(frames[0] - frames[1]).max() > 100
    assert io.BytesIO(moving.gif).read(3) == b"GIF"
