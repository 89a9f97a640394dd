"""Tables for people: cells that are ready, as Markdown, LaTeX, HTML, aligned text; and records as CSV.

pandas writes Markdown only with a further package and LaTeX only with a template engine, and neither marks single
cells; for cells that are text already the writers below are shorter.
"""

import base64
import csv
import html
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adgm.machine import cells

TEX = {letter: f"\\{letter}" for letter in "&%$#_{}"}
TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"}
TEX |= {"ρ": r"$\rho$", "β": r"$\beta$", "σ": r"$\sigma$", "°": r"$^\circ$", "–": "--", "×": r"$\times$"}

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
BEGIN, SIGNS = r"((?:^|[;\t\r\n])[\s\"]*)", "('*[=+\\-@＝＋－＠])"  # the wide ones count in some languages
FORMULA, GUARDED = re.compile(BEGIN + SIGNS), re.compile(f"{BEGIN}'{SIGNS}")

# Of a page that is a file of its own.
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-size:13px}td,th{padding:.2rem .6rem;text-align:right;
border-bottom:1px solid #dfe3e8}td:first-child,th:first-child{text-align:left}img{max-width:100%}
caption{text-align:left;font-weight:600;padding:.3rem 0}code{background:#f3f4f6;padding:.1rem .3rem;
overflow-wrap:anywhere}section{break-inside:avoid;margin-top:2rem}
"""


@dataclass(frozen=True)
class Table:
    """Cells as text, and which of them are bold, as (line, column)."""

    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]] = frozenset()
    title: str = ""
    align: str = ""  # l or r per column; empty: the first to the left, the others to the right

    def __post_init__(self) -> None:
        width = len(self.header)
        for line in self.lines:
            if len(line) != width:
                raise ValueError(f"A line has {len(line)} cells, but the header has {width}: {line}.")
        object.__setattr__(self, "align", self.align or "l" + "r" * (width - 1))
        if len(self.align) != width or set(self.align) - set("lr"):
            raise ValueError(f"align is {self.align!r}; expected {width} letters, each l or r.")

    def _marked(self, safe: Callable[[str], str], bold: str) -> Iterator[list[str]]:
        """The cells of every line, made safe, the bold ones put into `bold`."""
        for at, line in enumerate(self.lines):
            cells = enumerate(map(safe, line))
            yield [bold.replace("…", cell) if (at, column) in self.bold else cell for column, cell in cells]

    def markdown(self) -> str:
        """For a README. Cells may hold Markdown; only what would end a cell is escaped."""
        rule = "|".join({"l": "---", "r": "---:"}[letter] for letter in self.align)
        lines = [f"**{self.title}**", ""] if self.title else []
        lines += [f"| {' | '.join(map(_piped, self.header))} |", f"|{rule}|"]
        lines += [f"| {' | '.join(cells)} |" for cells in self._marked(_piped, "**…**")]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """For a paper (package booktabs); with a title it floats and the title is its caption."""
        lines = [r"\begin{table}", rf"\caption{{{tex(self.title)}}}"] if self.title else []
        lines += [rf"\begin{{tabular}}{{{self.align}}}", r"\toprule", " & ".join(map(tex, self.header)) + r" \\"]
        lines += [r"\midrule", *(" & ".join(cells) + r" \\" for cells in self._marked(tex, r"\textbf{…}"))]
        lines += [r"\bottomrule", r"\end{tabular}", *([r"\end{table}"] if self.title else [])]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """For a page, everything escaped."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        lines = ["".join(f"<td>{cell}</td>" for cell in cells) for cells in self._marked(html.escape, "<b>…</b>")]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><caption>{html.escape(self.title)}</caption><tr>{head}</tr>{body}</table>"

    def _repr_html_(self) -> str:
        """For notebooks; a line with something bold stands out."""
        return cells.card(self.title, cells.table(self.header, self.lines, self.align, {at for at, _ in self.bold}))

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Aligned columns for a terminal; a star at the end of the lines that hold something bold."""
        starred = {at for at, _ in self.bold}
        cells = [(*self.header, ""), *((*line, "*" * (at in starred)) for at, line in enumerate(self.lines))]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        sides = [str.ljust if letter == "l" else str.rjust for letter in self.align + "r"]
        lines = [
            "  ".join(side(*cell) for side, cell in zip(sides, zip(line, widths, strict=True), strict=True))
            for line in cells
        ]
        lines = [line.rstrip() for line in lines]
        return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def html_page(title: str, parts: Sequence[str]) -> str:
    """One HTML file that needs nothing else, of parts that are HTML already."""
    head = f"<meta charset='utf-8'><title>{html.escape(title)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>"


def html_picture(png: bytes, alt: str) -> str:
    """A picture within such a file."""
    return f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def _piped(text: str) -> str:
    return text.replace("|", "\\|")


def tex(text: str) -> str:
    """Text for LaTeX: its special letters escaped, the paper's Greek ones as mathematics."""
    return "".join(TEX.get(letter, letter) for letter in text)


def csv_text(records: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Every number in full, a line per record; the columns are those of the record with the most, if none are given."""
    names = max((list(record) for record in records), key=len, default=[]) if columns is None else list(columns)
    for record in records:
        if unknown := record.keys() - set(names):
            raise ValueError(f"A record has values that no column is for: {', '.join(sorted(unknown))}.")
    return csv_lines([names, *([record.get(name, "") for name in names] for record in records)])


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """The one way to CSV: no text in it becomes a formula where a spreadsheet opens it."""
    out = io.StringIO()
    safe = ([guarded(value) if isinstance(value, str) else value for value in row] for row in rows)
    csv.writer(out, lineterminator="\n").writerows(safe)
    return out.getvalue()


def guarded(text: str) -> str:
    """Text that no spreadsheet computes: an apostrophe before what would begin a formula, as people type it there.

    A cell begins anew after a tab, a line break or a semicolon where those part columns. Numbers stay as they are.
    """
    return text if NUMBER.fullmatch(text) else FORMULA.sub(r"\1'\2", text)


def unguarded(text: str) -> str:
    """What `guarded` was given."""
    return GUARDED.sub(r"\1\2", text)
