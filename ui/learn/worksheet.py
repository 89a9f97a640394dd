"""The course on paper: one HTML file, clean when printed, made from the same text as the page."""

from collections.abc import Sequence
from html import escape

from ui.learn import formula
from ui.learn.chapter import Chapter

STYLE = """
body {
  font: 11.5pt/1.45 Georgia, "Times New Roman", serif; color: #111; max-width: 46rem; margin: 2rem auto;
  padding: 0 1rem;
}
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 0 0 .3rem; }
p { margin: .3rem 0; } .name { margin: 0 0 1.2rem; }
section { break-inside: avoid; border-top: 1px solid #999; padding: .8rem 0 .5rem; }
.formula { margin: .4rem 0; font-size: 1.1rem; } .formula small, .symbols { font-size: .85rem; color: #444; }
.frac { display: inline-flex; flex-direction: column; vertical-align: middle; text-align: center; padding: 0 .15em; }
.frac > span:first-child { border-bottom: 1px solid; }
sub, sup { font-size: .7em; line-height: 0; }
svg { display: block; width: 100%; max-width: 34rem; max-height: 20rem; margin: .4rem 0; }
figure { margin: .4rem 0; } figcaption { font-size: .85rem; color: #444; } .tables { display: flex; gap: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: bold; }
td, th { border: 1px solid #999; padding: .15rem .5rem; } td small { display: block; }
ul { list-style: none; padding: 0; margin: .3rem 0; } li::before { content: "☐ "; }
.line { border-bottom: 1px solid #999; height: 1.7rem; } .answer { background: #eef4f8; padding: .4rem .6rem; }
pre { font-size: 9pt; background: #f5f5f5; padding: .4rem .6rem; white-space: pre-wrap; }
@media print { body { margin: 0; max-width: none; } .answer, pre { print-color-adjust: exact; } }
"""


def page(chapters: Sequence[Chapter], *, answers: bool) -> str:
    """A worksheet with all questions and figures, or the one with the answers: of each chapter as it opens."""
    title = "Alternating Direction Graph Matching: worksheet" + (" with answers" if answers else "")
    sections = "".join(section(number, each, answers) for number, each in enumerate(chapters, 1))
    head = '<p class="name">Name: ______________________________ &nbsp; Date: ______________</p>'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body><h1>{title}</h1>{'' if answers else head}{sections}</body></html>"
    )


def section(number: int, chapter: Chapter, answers: bool) -> str:
    asked = chapter.question
    used = (formula.SYMBOLS[name] for name in formula.names(chapter.formula))
    symbols = "; ".join(f"<i>{formula.sign(one)}</i>: {escape(one.words)}" for one in used)
    options = "".join(f"<li>{escape(option)}</li>" for option in asked.options)
    sheet = chapter.sheet
    reply = "".join('<div class="line"></div>' for _ in range(2))
    if answers:
        answer = escape(chapter.told(chapter.defaults))
        reply = f'<p class="answer"><b>Answer.</b> {answer}</p><pre>{escape(chapter.code)}</pre>'
    return (
        f"<section><h2>{number}. {escape(chapter.title)}</h2><p>{escape(chapter.claim)}</p>"
        f'{formula.html(chapter.formula)}<p class="symbols">{symbols}</p><p>{escape(sheet.task)}</p>'
        f"{sheet.figure(chapter.defaults)}<p><b>{escape(sheet.question or asked.text)}</b></p>"
        f"{f'<ul>{options}</ul>' if options else ''}{reply}</section>"
    )
