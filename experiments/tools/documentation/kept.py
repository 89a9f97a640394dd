"""HTML that Markdown must not touch: a mark stands for it until the page is written.

Pictures of matchings, cells of notebooks and formulas are long, and Markdown would read stars and underscores in them.
"""

import html
import re
from importlib import import_module
from typing import Any

MARK = re.compile(r'<(div|span) data-kept="(\d+)"></\1>')
FENCED = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.M | re.S)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.S)


class Kept:
    """What is put into the pages last."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def keep(self, piece: str, kind: str = "div") -> str:
        self.pieces.append(piece)
        return f'<{kind} data-kept="{len(self.pieces) - 1}"></{kind}>'

    def put(self, page: str) -> str:
        """The page with every mark replaced by what it stands for."""
        return MARK.sub(lambda found: self.pieces[int(found[2])], page)

    def formulas(self, text: str) -> str:
        """The text with LaTeX between dollars, but for code, as MathML: browsers draw it without a script."""
        parts = FENCED.split(text)
        parts[::2] = [FORMULA.sub(self._formula, part) for part in parts[::2]]
        return "".join(parts)

    def _formula(self, found: re.Match[str]) -> str:
        block = found[1] is not None
        latex = (found[1] or found[2]).strip()
        latex = latex.replace(r"\sum_", r"\sum\limits_") if block else latex  # else limits stand beside the sign
        math = needed("latex2mathml.converter").convert(latex, display="block" if block else "inline")
        drawn = f'<div class="formula">{math}</div>' if block else math
        return f"\n\n{self.keep(drawn)}\n\n" if block else self.keep(drawn, "span")


def code(text: str, language: str = "", title: str = "") -> str:
    """A fenced block, whatever the text holds."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    about = f' title="{html.escape(title)}"' if title else ""
    return f"{fence}{language}{about}\n{text.rstrip()}\n{fence}\n"


def needed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ValueError(
            f"{package} is missing; the documentation needs: pip install -r assets/docs/requirements.txt"
        ) from error
