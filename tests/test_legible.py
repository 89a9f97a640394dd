"""Charts: every word on them can be read, on a light page and on a dark one."""

from types import SimpleNamespace

import numpy as np
import pytest

from features.plots.theme import COLOURS
from ui.parts.charts.comparison import scatter_chart, time_chart
from ui.parts.charts.debug import energy_along
from ui.parts.charts.legible import BEARERS, LEAST, PAGES, TEXTS, contrast, legible, readable
from ui.parts.charts.run import TITLES, USUAL, Curves, Reason, blank, energy_chart, penalty_chart

BLACK_AND_WHITE = 21.0


def rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))


def colours_of_words(node, name=""):
    """The colour of every style of text in a chart."""
    if isinstance(node, list):
        for one in node:
            yield from colours_of_words(one, name)
    elif isinstance(node, dict):
        if name in TEXTS:
            yield node["color"]
        for key, value in node.items():
            yield from colours_of_words(value, key)


def charts():
    history = {"iteration": np.arange(5.0)} | {name: np.geomspace(9, 1, 5) for name in ("residual", "rho", "energy")}
    curves = Curves(history, [Reason(2, "× 2", "by hand", by_hand=True)], [(0, 3.0)])
    way = SimpleNamespace(energies=(3.0, 2.0, 1.0), steps=(), first_dear=None, top=0, barrier=0.0)
    return {
        "blank": blank(TITLES[0], "words", USUAL[0]),
        "penalty": penalty_chart(curves),
        "energy": energy_chart(curves, truth=1.0),
        "time": time_chart({"adgm": ((0.1, 3.0), (0.2, 2.0))}, "cost", 1.0),
        "scatter": scatter_chart({"adgm": (3.0, 0.5)}, "cost", (1.0, 1.0)),
        "way": energy_along(way, None),
    }


@pytest.mark.parametrize("scheme", PAGES)
@pytest.mark.parametrize("name", charts())
def test_every_word_of_a_chart_has_the_contrast_of_text(name, scheme):
    spec = legible(charts()[name], scheme)
    found = list(colours_of_words(spec))
    assert found and all(contrast(rgb(colour), rgb(PAGES[scheme])) >= LEAST - 0.05 for colour in found)
    for part, style in BEARERS.items():  # also where a chart gives them no style
        for one in [spec[part]] if isinstance(spec.get(part), dict) else spec.get(part, []):
            assert "color" in one[style]


@pytest.mark.parametrize("scheme", PAGES)
@pytest.mark.parametrize("colour", COLOURS)
def test_a_colour_that_can_be_read_stays_and_another_moves_no_further_than_it_must(colour, scheme):
    page = rgb(PAGES[scheme])
    made = readable(colour, PAGES[scheme])
    assert contrast(rgb(made), page) >= LEAST - 0.05
    assert made.lower() == colour.lower() or contrast(rgb(made), page) < LEAST + 0.7


def test_contrast_is_that_of_the_standard():
    assert contrast(rgb("#ffffff"), rgb("#000000")) == pytest.approx(BLACK_AND_WHITE)
    assert contrast(rgb("#777777"), rgb("#ffffff")) == pytest.approx(4.48, abs=0.01)
