"""HTML for notebooks, written by hand: cards, tables and curves as SVG, without an image library or a script.

Text and axes take the notebook's own colour, so that a cell can be read on light and on dark ground. Whatever comes
from outside goes through `text`.
"""

import html
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from adgm._kernels import FloatArray

CURVES = {"residual": "#56B4E9", "energy": "#D55E00", "rho": "#E69F00"}  # seen on white and on black
LABELS = {"residual": "residual", "energy": "energy of the relaxed assignment", "rho": "penalty ρ"}
LOGARITHMIC = ("residual", "rho")
FLOOR = 1e-9  # of what is drawn on a logarithmic axis
MOST = 400  # points of a curve
WIDTH, HEIGHT, TOP, FOOT = 330, 120, 20, 16  # of one curve, in pixels, and of what is above and below it
STYLE = """<style>
.adgm{font:13px/1.45 system-ui,sans-serif;max-width:62rem}.adgm p{margin:.2rem 0}.adgm b{font-weight:600}
.adgm table,.adgm tr,.adgm td,.adgm th{background:none!important;color:inherit;border:0;margin:0}
.adgm table{border-collapse:collapse;margin:.3rem 1.5rem .3rem 0;font-size:inherit}
.adgm td,.adgm th{padding:.1rem .8rem .1rem 0;text-align:left;vertical-align:top;font-weight:400}
.adgm .many td,.adgm .many th{border-bottom:1px solid #8886;font-variant-numeric:tabular-nums}
.adgm .n{text-align:right!important}.adgm svg,.adgm img{max-width:100%;height:auto}
.adgm .side{display:flex;flex-wrap:wrap;align-items:flex-start}.adgm .faint{opacity:.7}
</style>"""


def text(value: object) -> str:
    """A value as text that HTML and SVG can hold."""
    return html.escape("".join(letter if letter.isprintable() else " " for letter in str(value)))


def card(title: str, *parts: str) -> str:
    """A cell: a title and parts that are HTML already."""
    return f'{STYLE}<div class="adgm"><p><b>{text(title)}</b></p>{"".join(parts)}</div>'


def words(sentence: str, *, faint: bool = False) -> str:
    """A paragraph; nothing if there is nothing to say."""
    return f"<p{' class=faint' * faint}>{text(sentence)}</p>" if sentence else ""


def facts(values: Mapping[str, object]) -> str:
    """Names and values, a line each; without a value, none."""
    told = "".join(f"<tr><th>{text(k)}</th><td>{text(v)}</td></tr>" for k, v in values.items() if v is not None)
    return f"<table>{told}</table>"


def table(header: Sequence[str], lines: Iterable[Sequence[object]], align: str, bold: Iterable[int] = ()) -> str:
    """Columns to the left (l) or to the right (r); `bold` lines stand out."""
    kinds = ["" if letter == "l" else ' class="n"' for letter in align]
    head = "".join(f"<th{kind}>{text(cell)}</th>" for kind, cell in zip(kinds, header, strict=True))
    strong, body = set(bold), []
    for at, line in enumerate(lines):
        told = [f"<b>{text(cell)}</b>" if at in strong else text(cell) for cell in line]
        cells = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, told, strict=True))
        body.append(f"<tr>{cells}</tr>")
    return f'<table class="many"><tr>{head}</tr>{"".join(body)}</table>'


def side_by_side(*parts: str) -> str:
    return f'<div class="side">{"".join(parts)}</div>'


def curves(history: Mapping[str, ArrayLike]) -> str:
    """What a run traced, a picture for each."""
    return side_by_side(*(_curve(name, np.asarray(history[name], float)) for name in CURVES if name in history))


def _curve(name: str, values: FloatArray) -> str:
    """One curve over the iterations; what is not finite is left out."""
    steps = np.arange(1, len(values) + 1)
    fine = np.isfinite(values)
    if not fine.any():
        return ""
    at, drawn = steps[fine], values[fine]
    some = np.unique(np.linspace(0, len(at) - 1, MOST).astype(int))
    at, drawn = at[some], drawn[some]
    low, high = float(drawn.min()), float(drawn.max())
    if name in LOGARITHMIC:
        drawn = np.log10(np.maximum(drawn, FLOOR))
    drawn = drawn / (2.0 * np.abs(drawn).max() or 1.0)  # no difference is too large for a number
    span = float(np.ptp(drawn)) or 1.0
    x = 6 + (at - 1) / max(len(values) - 1, 1) * (WIDTH - 12)
    y = TOP + 4 + (drawn.max() - drawn) / span * (HEIGHT - TOP - FOOT - 8)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    label = f"{LABELS[name]}, {'logarithmic, ' * (name in LOGARITHMIC)}{low:.4g} to {high:.4g}"
    frame = f'<path d="M6 {TOP}V{HEIGHT - FOOT}H{WIDTH - 6}" stroke="currentColor" stroke-opacity=".4"/>'
    line = f'<polyline points="{points}" stroke="{CURVES[name]}" stroke-width="1.6" stroke-linejoin="round"/>'
    dot = f'<circle cx="{x[-1]:.1f}" cy="{y[-1]:.1f}" r="2.5" fill="{CURVES[name]}"/>'
    words = [(6, 12, "start", label), (WIDTH - 6, HEIGHT - 3, "end", f"iteration {len(values)}")]
    told = "".join(f'<text x="{a}" y="{b}" text-anchor="{how}">{text(said)}</text>' for a, b, how, said in words)
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return (
        f'<svg {size} fill="none" role="img" aria-label="{text(label)}">{frame}{line}{dot}'
        f'<g fill="currentColor" font-size="11" font-family="system-ui,sans-serif">{told}</g></svg>'
    )
