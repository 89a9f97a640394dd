"""Tables: every format holds the same cells, and no cell can break out of its format."""

import csv
import io
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit import config

from features.files.exports import keypoints
from features.files.point_files import read_points
from features.pairs import View
from features.points.keypoints import Keypoints
from features.tables import TEX, Table, csv_lines, csv_text, guarded, tex, unguarded

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


def test_a_record_with_a_value_that_has_no_column_is_refused():
    with pytest.raises(ValueError, match="no column is for: b"):
        csv_text([{"a": 1, "b": 2}], ["a"])


NASTY = some.text("=+-@＝＋－＠'\"; \t,\r\n1.eA", max_size=8)


def begins_a_formula(cell):
    try:
        float(cell)
    except ValueError:
        return cell.strip().startswith(tuple("=+-@＝＋－＠"))
    return False


@settings(deadline=None, derandomize=True, max_examples=300)
@given(NASTY)
def test_no_text_is_a_formula_whatever_parts_the_columns(text):
    written = csv_lines([["left", text, "right"]])
    for mark in ",;\t":
        for line in csv.reader(io.StringIO(written, newline=""), delimiter=mark):
            assert not any(map(begins_a_formula, line)), (mark, line)
    if "\r" not in text:  # which no label holds
        (cells,) = csv.reader(io.StringIO(written, newline=""))
        assert unguarded(cells[1]) == text
    assert unguarded(guarded(guarded(text))) == guarded(text)


@pytest.mark.parametrize(
    "text", ['=HYPERLINK("http://x")', "@SUM(1)", "+A1", "-A1", "=1", " =1", "a\t=1", "a;=1", "--1"]
)
def test_what_would_be_a_formula_has_an_apostrophe(text):
    assert guarded(text) == text.replace(text.strip("a\t; "), "'" + text.strip("a\t; ")) and "'" in guarded(text)


@pytest.mark.parametrize("text", ["-5", "+5", "-1e-3", ".5", "a=b", "a-b", "it's", "", "'quoted'"])
def test_other_text_and_numbers_stay_as_they_are(text):
    assert guarded(text) == unguarded(text) == text


@settings(deadline=None, derandomize=True, max_examples=100)
@given(some.lists(NASTY.map(lambda text: "".join(filter(str.isprintable, text)).strip()), min_size=2, max_size=2))
def test_labels_of_points_come_back_from_a_file_that_is_safe_to_open(labels):
    points = Keypoints([[1.0, -2.0], [-3.0, 4.0]], labels=labels)
    written = keypoints(View(None, points))
    assert read_points(written).labels == points.labels
    lines = list(csv.DictReader(io.StringIO(written.decode())))
    assert not any(begins_a_formula(line["label"]) for line in lines)
    assert [float(line["x"]) for line in lines] == [1.0, -3.0]


def test_tables_on_the_page_offer_no_csv_file_of_streamlits_own():
    assert config.get_option("client.disableDataExport")
