"""Boards of the Learn page as files that need no server: one HTML file each, with the page's own script.

python -m ui.learn.static_boards FOLDER     writes one for every chapter whose picture the browser computes
"""

import json
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ui.learn import boards, formula
from ui.learn.chapter import Chapter, Values
from ui.learn.chapters import CHAPTERS

LOOK = """
:root {
  color-scheme: light dark; --st-font: "Source Sans 3", "Segoe UI", system-ui, sans-serif;
  --st-text-color: light-dark(#1b1f24, #f0f2f5); --st-background-color: light-dark(#ffffff, #10151c);
  --st-secondary-background-color: light-dark(#f5f6f8, #1d242e); --st-primary-color: light-dark(#006ba6, #7cc3f2);
}
body {
  font-family: var(--st-font); color: var(--st-text-color); background: var(--st-background-color); max-width: 58rem;
  margin: 1rem auto; padding: 0 1rem; line-height: 1.45;
}
h1 { font-size: 1.2rem; margin: 0 0 0.3rem; } p { margin: 0.2rem 0 0.8rem; }
.formula { font: italic 1.05rem/1.6 Georgia, serif; margin: 0.8rem 0; }
.formula sub { font-size: 0.7em; line-height: 0; }
.frac { display: inline-flex; flex-direction: column; vertical-align: middle; text-align: center; line-height: 1.25; }
.frac > span:first-child { border-bottom: 1px solid; }
"""
# Where the browser's script looks for its data, and whom it tells what was moved: nobody.
MOUNT = "mount({ parentElement: document, data: DATA, setStateValue() {} });"


def with_board() -> list[Chapter]:
    return [chapter for chapter in CHAPTERS.values() if chapter.board]


def name(chapter: Chapter) -> str:
    return f"adgm-{chapter.key}.html"


def page(chapter: Chapter, values: Values) -> str:
    """The board of a chapter as it stands."""
    assert chapter.board is not None
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(chapter.title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{LOOK}{boards.STYLE}</style></head><body><h1>{escape(chapter.claim)}</h1>"
        f"<p>{escape(chapter.to_do(lambda name: False))}</p>{boards.HTML}{formula.html(chapter.formula)}"
        f'<script type="module">{boards.SCRIPT}\n{MOUNT.replace("DATA", embedded(chapter.board(values)))}</script>'
        "</body></html>"
    )


def embedded(data: Mapping[str, Any]) -> str:
    """As JSON that cannot end the script it stands in."""
    return json.dumps(data).replace("<", "\\u003c")


def write(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / name(chapter) for chapter in with_board()]
    for file, chapter in zip(files, with_board(), strict=True):
        file.write_text(page(chapter, chapter.defaults), encoding="utf-8")
    return files


if __name__ == "__main__":
    for each in write(Path(sys.argv[1] if len(sys.argv) > 1 else "boards")):
        print(each)
