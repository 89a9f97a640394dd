"""A formula's text with another default and range of a parameter; the rest of what its author wrote stays."""

import re

from features.formulas.records import declaration
from features.parameters import Parameter


def with_parameter(text: str, one: Parameter) -> str:
    """The text in which a parameter has this default, range and step: its line is replaced, or one is added."""
    mine = re.compile(rf"(\s*){re.escape(one.name)}\s*=(?!=)")
    lines = text.splitlines()
    for number, line in enumerate(lines):
        code, mark, comment = line.partition("#")
        pieces = code.split(";")
        for k, piece in enumerate(pieces):
            if found := mine.match(piece):
                pieces[k] = found[1] + declaration(one) + " " * bool(mark and k == len(pieces) - 1)
                lines[number] = ";".join(pieces) + mark + comment
                return "\n".join(lines)
    return "\n".join([*lines, declaration(one)])
