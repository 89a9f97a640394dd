"""Pictures: what is drawn is what was found, every format is deterministic, and it is fast."""

import ast
import io
import itertools
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image as Pillow

from adgm import METHODS
from features.datasets import DATASETS
from features.judge.classics import CLASSICS
from features.judge.metrics import kinds_of
from features.pairs import Pair, View
from features.plots import figures
from features.plots.stage import GAP, Stage
from features.plots.theme import CANDIDATE, COLOURS, KINDS, method_look
from features.points.images import Image
from features.points.keypoints import Keypoints

PNG = b"\x89PNG\r\n\x1a\n"
SHAPES = [(0, 0), (1, 1), (1, 3), (2, 1), (5, 7)]


def points_only(n1: int, n2: int, truth=None, seed=0) -> Pair:
    rng = np.random.default_rng(seed)
    views = [View(None, Keypoints(rng.uniform(0, 100, (n, 2)))) for n in (n1, n2)]
    return Pair(views[0], views[1], truth, "points")


@pytest.fixture(scope="module")
def turntable() -> Pair:
    return DATASETS["turntable"].load(left=40, right=50)


@pytest.fixture(scope="module")
def found(turntable) -> np.ndarray:
    """Two right, one wrong, one on a point without a partner if there is one; the rest unmatched."""
    rows = np.flatnonzero(turntable.has_partner)[:3]
    cols = turntable.truth[rows].copy()
    cols[2] = turntable.truth[np.flatnonzero(turntable.has_partner)[5]]
    return np.stack([rows, cols], axis=1)


def lines_of(figure: Figure, colour: str) -> int:
    """How many segments of a colour the first axes hold."""
    collections = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    return sum(len(c.get_segments()) for c in collections if to_hex(c.get_edgecolor()[0]).lower() == colour.lower())


def words_of(figure: Figure) -> str:
    texts = [text.get_text() for text in figure.texts]
    return "\n".join(texts + [text.get_text() for legend in figure.legends for text in legend.get_texts()])


def test_kinds_part_the_matches_and_the_missed_points(turntable, found):
    kinds = kinds_of(turntable, found)
    assert [len(kinds[name]) for name in ("correct", "wrong", "stray")] == [2, 1, 0]
    assert len(kinds["missed"]) == turntable.has_partner.sum() - 3
    together = np.concatenate([kinds[name] for name in ("correct", "wrong", "stray")])
    assert sorted(map(tuple, together)) == sorted(map(tuple, found))
    for i, j in kinds["missed"]:
        assert turntable.truth[i] == j and i not in found[:, 0]


def test_every_kind_is_drawn_and_explained_by_colour_and_line(turntable, found):
    figure = figures.matches(turntable, found)
    for name, some in kinds_of(turntable, found).items():
        assert lines_of(figure, KINDS[name].colour) == len(some)
    words = words_of(figure)
    assert "correct (2)" in words and "wrong (1)" in words and "missed" in words
    assert len({str(kind.dashes) for kind in KINDS.values()}) == len({kind.colour for kind in KINDS.values()}) == 4


def test_a_map_is_enough_to_tell_right_from_wrong(turntable, found):
    close = replace(turntable, truth=None, homography=np.eye(3), tolerance=30.0)
    figure = figures.matches(close, found)
    assert lines_of(figure, KINDS["correct"].colour) == close.correct(found).sum()


def test_every_method_has_a_look_of_its_own():
    looks = [method_look(key) for key in [*METHODS, *CLASSICS]]
    assert len({(look.colour, look.stroke) for look in looks}) == len(looks)
    assert len(set(COLOURS)) == len(COLOURS) >= 10
    with pytest.raises(ValueError, match="nobody"):
        method_look("nobody")


# What protanopes, deuteranopes and tritanopes see of a colour, in linear RGB (Machado, Oliveira and Fernandes, 2009).
SEEN = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "everybody": np.eye(3),
}


def as_seen(colour, by):
    """A colour in CIELAB, where a distance of about 2 is just noticed, and 10 at a glance."""
    value = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ np.clip(SEEN[by] @ linear, 0.0, 1.0) / to_xyz.sum(axis=1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("by", SEEN)
@pytest.mark.parametrize("where", ["colour", "bright"])
def test_the_colour_blind_tell_right_from_wrong_and_every_kind_by_its_colour_or_its_mark(where, by):
    looks = {**KINDS, "candidate": CANDIDATE}
    seen = {name: as_seen(getattr(look, where), by) for name, look in looks.items()}
    assert np.linalg.norm(seen["correct"] - seen["wrong"]) > 30
    for one, other in itertools.combinations(looks, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 10, (one, other)
        assert looks[one].dashes != looks[other].dashes or looks[one].mark != looks[other].mark


@pytest.mark.parametrize("size", [(200, 200), (60, 240), (300, 60)])
def test_nothing_runs_over_the_edge(size):
    """Every kind of match, every entry of the legend, whatever the shape of the images."""
    rng = np.random.default_rng(0)
    views = [View(Image(np.zeros((*size[::-1], 3), np.uint8)), Keypoints(rng.uniform(0, 60, (9, 2)))) for _ in "lr"]
    pair = Pair(views[0], views[1], np.array([0, 1, 2, 3, 4, -1, -1, 5, 6]), "all kinds")
    some = np.array([[0, 0], [1, 2], [2, 1], [5, 8]])
    everything = figures.matches(pair, some, graph="delaunay", strength=[1, 2, 3, 4.0], caption="caption")
    unknown = figures.matches(replace(pair, truth=None), some, graph="delaunay", strength=[1, 2, 3, 4.0])
    for figure in (everything, unknown, figures.grid(pair, {"A": ("1/7 (2.0)", some)}), figures.assignment(np.eye(9))):
        figures.save(figure)
        for part in [*figure.legends, *figure.texts]:
            box = part.get_window_extent()
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
        for legend in figure.legends:
            assert not any(legend.get_window_extent().overlaps(axes.get_window_extent()) for axes in figure.axes)


def test_a_line_ends_at_its_two_points(turntable, found):
    segments = Stage(turntable).segments(found)
    for (i, j), (start, end) in zip(found, segments, strict=True):
        # both images of this set have the same size: no scaling, the right one is moved by its width and the gap
        np.testing.assert_allclose(start, turntable.left.points.xy[i] + 0.5)
        width = turntable.left.image.size[0]
        np.testing.assert_allclose(end, turntable.right.points.xy[j] + 0.5 + [width * (1 + GAP), 0])


def test_without_truth_lines_are_coloured_by_strength(turntable, found):
    pair = replace(turntable, truth=None)
    figure = figures.matches(pair, found, strength=[0.1, 0.9, 0.5], strength_label="how sure")
    assert len(figure.axes) == 2 and figure.axes[1].get_ylabel() == "how sure"
    coloured = [c for c in figure.axes[0].collections if c.get_array() is not None]
    assert coloured[0].get_array().tolist() == [0.1, 0.5, 0.9]  # the strongest is drawn last
    assert np.all(np.diff(coloured[0].get_linewidths()) > 0)  # and widest: not by colour alone
    assert "matched (3)" in words_of(figure)


def test_strength_must_fit(turntable, found):
    with pytest.raises(ValueError, match="3 matches"):
        figures.matches(turntable, found, strength=[1.0])
    with pytest.raises(ValueError, match="no graph 'web'"):
        figures.matches(turntable, found, graph="web")


def test_graph_edges_are_drawn(turntable):
    bare, edged = figures.matches(turntable), figures.matches(turntable, graph="delaunay")
    assert len(edged.axes[0].collections) == len(bare.axes[0].collections) + 4
    assert "Delaunay" in words_of(edged)


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_the_same_figure_gives_the_same_bytes(turntable, found, format):
    first, second = (figures.save(figures.matches(turntable, found, caption="x"), format) for _ in range(2))
    assert first == second
    if format == "png":
        assert Pillow.open(io.BytesIO(first)).format == "PNG"
    elif format == "svg":
        assert ET.fromstring(first).tag.endswith("svg")
    else:
        assert first.startswith(b"%PDF") and b"CreationDate" not in first


def test_an_unknown_format_is_refused(turntable):
    with pytest.raises(ValueError, match=r"'gif'.*png, svg, pdf"):
        figures.save(figures.matches(turntable), "gif")


@pytest.mark.parametrize("name", ["costs $5 or $6", "$\\frac", "bell\x07 tab\t", "<b>&amp;", "名前"])
@pytest.mark.filterwarnings("ignore:Glyph")
def test_any_name_is_text(name):
    pair = replace(points_only(3, 3, np.arange(3)), name=name)
    figure = figures.grid(pair, {name: (name, [[0, 0]])}, note=name)
    for one in (figures.matches(pair, [[0, 0]], caption=name), figure, figures.curves({}, title=name)):
        assert ET.fromstring(figures.save(one, "svg")).tag.endswith("svg")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("known", [True, False])
def test_any_number_of_points_can_be_drawn(shape, known):
    n1, n2 = shape
    truth = np.where(np.arange(n1) < n2, np.arange(n1), -1) if known else None
    pair = points_only(n1, n2, truth)
    some = [[i, i] for i in range(min(n1, n2))]
    drawn = [figures.matches(pair, some, graph="delaunay", strength=np.ones(len(some)))]
    drawn.append(figures.grid(pair, {"A": ("1/1 (2.0)", some), "B": ("0/1 (1.0)", [])}))
    if min(shape):
        drawn.append(figures.assignment(np.eye(n1, n2), some, truth))
    assert all(figures.save(one).startswith(PNG) for one in drawn)


def test_curves_mark_every_increase_of_rho():
    rho = np.repeat([1.0, 2.0, 4.0], 5)
    history = {"residual": np.geomspace(10, 1e-30, 15), "rho": rho, "energy": -np.arange(15.0)}
    figure = figures.curves(history, sense="similarity", rounded=([1, 15], [-1.0, -9.0]), best=-9.0, truth=-10.0)
    residual, penalty, energy = figure.axes
    assert residual.get_yscale() == penalty.get_yscale() == "log"
    marks = next(line for line in penalty.lines if line.get_label() == "ρ grows")
    assert marks.get_xdata().tolist() == [6, 11] and marks.get_ydata().tolist() == [2, 4]
    shown = {line.get_label(): np.asarray(line.get_ydata(), float).tolist() for line in energy.lines}
    assert shown["relaxed"] == list(range(15)) and shown["rounded"] == [1, 9]  # scores: −energy
    assert shown["truth"] == [10, 10] and "higher is better" in energy.get_ylabel()
    assert min(residual.lines[-2].get_ydata()) >= figures.FLOOR
    figures.save(figure)


@pytest.mark.parametrize(
    "history", [{}, {"residual": [1.0]}, {"energy": [2.0, 1.0]}, {"rho": [1.0]}, {"residual": [0]}]
)
def test_curves_draw_what_there_is(history):
    assert figures.save(figures.curves(history)).startswith(PNG)


def test_sorting_puts_the_truth_on_the_diagonal():
    truth = np.array([2, 0, 1])
    x = np.zeros((3, 4))
    x[np.arange(3), truth] = 1
    figure = figures.assignment(x, np.stack([np.arange(3), truth], axis=1), truth)
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), np.eye(3, 4))
    matched = figure.axes[0].lines[1]
    assert list(matched.get_xdata()) == list(matched.get_ydata()) == [0, 1, 2]


def test_grid_has_a_cell_for_the_pair_and_each_method_and_says_who_is_best(turntable, found):
    figure = figures.grid(turntable, {"A": ("2/38 (1.0)", found), "B": ("1/38 (0.5)", found[:1])}, best=["A"])
    assert len(figure.axes) == 3
    bold = [text.get_text() for text in figure.texts if text.get_weight() == "bold"]
    assert "A 2/38 (1.0)" in bold and "B 1/38 (0.5)" not in bold


def test_pyplot_is_never_imported():
    folder = Path(figures.__file__).parents[1]
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not any("pyplot" in name for name in [module, *names]), file.name
