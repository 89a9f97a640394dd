"""Text that somebody brought: nothing in it is read as Markdown."""

import re

import pytest

from ui.parts.escape import literal

SPECIAL = "\\`*_{}[]()#+-.!|<>$:~&"  # of Markdown and of what Streamlit adds: formulas, colours, icons, entities


@pytest.mark.parametrize("letter", SPECIAL)
def test_every_special_letter_is_escaped(letter):
    assert literal(letter) == f"\\{letter}" and literal(f"a{letter}b{letter}") == f"a\\{letter}b\\{letter}"


def test_other_text_stays_and_all_of_it_can_be_read():
    plain = "left, right; 7 ≤ 8 “ö” 'x' = 50 % ?/@^"
    assert literal(plain) == plain
    assert re.sub(r"\\(.)", r"\1", literal(SPECIAL + plain)) == SPECIAL + plain
