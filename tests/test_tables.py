"""Tables: every format holds the same cells, and no cell can break out of its format."""

import csv
import io
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from features.tables import TEX, Table, csv_text, tex

CELL = some.text("ab|&%$#_{}\\<>~^ρ–°1. ", min_size=1, max_size=6).map(str.strip).filter(bool)


@some.composite
def tables(draw):
    width = draw(some.integers(1, 4))
    line = some.lists(CELL, min_size=width, max_size=width).map(tuple)
    lines = tuple(draw(some.lists(line, max_size=3)))
    return Table(draw(line), lines, frozenset({(0, width - 1)} if lines else set()), draw(CELL))


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.rows, self.tags = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows:
            self.rows[-1][-1] += data


@settings(deadline=None, derandomize=True, max_examples=80)
@given(tables())
def test_every_format_holds_the_same_cells(table):
    expected = [list(table.header), *map(list, table.lines)]
    page = Cells(table.html())
    assert page.rows == expected and page.tags <= {"table", "caption", "tr", "td", "th", "b"}
    markdown = table.markdown().splitlines()
    assert markdown[0] == f"**{table.title}**"
    for at, cells in enumerate(expected):
        safe = [cell.replace("|", "\\|") for cell in cells]
        safe[-1] = f"**{safe[-1]}**" if at == 1 else safe[-1]
        assert markdown[2 + at + (at > 0)] == f"| {' | '.join(safe)} |"
    latex = [line for line in table.latex().splitlines() if line.endswith(r" \\")]
    bold = [rf"\textbf{{{tex(cell)}}}" for cell in (table.lines[0][-1:] if table.lines else ())]
    for at, (line, cells) in enumerate(zip(latex, expected, strict=True)):
        assert line == " & ".join([*map(tex, cells[:-1]), *(bold if at == 1 else [tex(cells[-1])])]) + r" \\"
    assert len(table.text().splitlines()) == len(expected) + 1


@pytest.mark.parametrize("letter", "&%$#_{}\\~^")
def test_no_special_letter_of_latex_is_left_alone(letter):
    assert tex(f"a{letter}b") == f"a{TEX[letter]}b" != f"a{letter}b"


def test_text_is_aligned_and_starred():
    table = Table(("method", "n"), (("a", "1"), ("long", "20")), frozenset({(1, 0)}))
    assert table.text().splitlines() == ["method   n", "-" * 13, "a        1", "long    20  *"]


def test_csv_comes_back():
    records = [{"a": 1.5}, {"a": 0.1, "b": "x, y"}]
    lines = list(csv.DictReader(io.StringIO(csv_text(records))))
    assert lines == [{"a": "1.5", "b": ""}, {"a": "0.1", "b": "x, y"}]


def test_uneven_lines_are_refused():
    with pytest.raises(ValueError, match="A line has 1 cells, but the header has 2"):
        Table(("a", "b"), (("c",),))
    with pytest.raises(ValueError, match="align is 'x'"):
        Table(("a",), (), align="x")
