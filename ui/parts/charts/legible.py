"""Charts whose words can be read on the page as it is, light or dark: the one place that draws a chart."""

from typing import Any

import streamlit as st

from ui.parts.charts.run import Spec

PAGES = {"light": "#ffffff", "dark": "#171614"}  # what a chart stands on
INKS = {"light": "#3d444c", "dark": "#d5dae0"}  # of words without a colour of their own
STRONG = {"light": "#0f1115", "dark": "#f0f3f6"}  # of bold words, as on the page around
LEAST = 4.5  # contrast of text, by WCAG 2.1
STEP = 0.04  # by which a colour goes towards black or white until it can be read
TEXTS = ("textStyle", "nameTextStyle", "axisLabel", "label", "b", "s")  # where words have a style
BEARERS = {"xAxis": "axisLabel", "yAxis": "axisLabel", "legend": "textStyle", "title": "textStyle"}
RGB = tuple[float, ...]


def draw(spec: Spec, **options: Any) -> Any:
    """A chart on the page; `options` are those of `st.echarts_chart`."""
    return st.echarts_chart(legible(spec, st.context.theme.type or "light"), **options)


def legible(spec: Spec, scheme: str) -> Spec:
    """The chart with every word in a colour that can be read on a light or a dark page."""
    page, ink = PAGES[scheme], INKS[scheme]

    def walk(name: str, node: Any) -> Any:
        if isinstance(node, list):
            return [walk(name, one) for one in node]
        if not isinstance(node, dict):
            return node
        bearer: Spec = {BEARERS[name]: {}} if name in BEARERS else {}
        made = {key: walk(key, value) for key, value in (bearer | node).items()}
        if name not in TEXTS:
            return made
        given = made.get("color", STRONG[scheme] if made.get("fontWeight") == "bold" else ink)
        return made | {"color": readable(given, page) if given.startswith("#") else ink}

    found: Spec = walk("", spec)
    return found


def readable(colour: str, page: str) -> str:
    """The colour itself, or the nearest one towards black or white that has enough contrast."""
    end = 255.0 if luminance(_rgb(page)) < 0.5 else 0.0
    start, share = _rgb(colour), 0.0
    while contrast(mixed := tuple(v + share * (end - v) for v in start), _rgb(page)) < LEAST and share < 1:
        share += STEP
    return "#" + "".join(f"{round(v):02x}" for v in mixed)


def contrast(one: RGB, other: RGB) -> float:
    """WCAG 2.1's ratio, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(rgb: RGB) -> float:
    """Relative luminance, from 0 to 1."""
    parts = (v / 255 for v in rgb)
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: str) -> RGB:
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))
