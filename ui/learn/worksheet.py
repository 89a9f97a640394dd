"""The course on paper: worksheets and speaker notes, each one HTML file, made from the same text as the page."""

from collections.abc import Sequence
from html import escape

from ui.learn import formula
from ui.learn.chapter import Chapter
from ui.parts.links import code_picture
from ui.shell import presenter

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
.qr { float: right; width: 5.2rem; height: auto; margin: 0 0 .3rem .8rem; }
ul { list-style: none; padding: 0; margin: .3rem 0; } li::before { content: "☐ "; } .plain li::before { content: ""; }
.line { border-bottom: 1px solid #999; height: 1.7rem; } .answer { background: #eef4f8; padding: .4rem .6rem; }
pre { font-size: 9pt; background: #f5f5f5; padding: .4rem .6rem; white-space: pre-wrap; }
@media print { body { margin: 0; max-width: none; } .answer, pre { print-color-adjust: exact; } }
"""


def page(chapters: Sequence[Chapter], *, answers: bool, link: str = "") -> str:
    """A worksheet with all questions and figures, or the one with the answers: of each chapter as it opens.

    `link`: the Learn page as phones reach it, for a QR code beside each chapter.
    """
    title = "Alternating Direction Graph Matching: worksheet" + (" with answers" if answers else "")
    sections = "".join(section(number, each, answers, link) for number, each in enumerate(chapters, 1))
    head = '<p class="name">Name: ______________________________ &nbsp; Date: ______________</p>'
    return _file(title, ("" if answers else head) + sections)


def _file(title: str, content: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body><h1>{title}</h1>{content}</body></html>"
    )


def section(number: int, chapter: Chapter, answers: bool, link: str = "") -> str:
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
        f"<section>{code_of(chapter, link)}<h2>{number}. {escape(chapter.title)}</h2><p>{escape(chapter.claim)}</p>"
        f'{formula.html(chapter.formula)}<p class="symbols">{symbols}</p><p>{escape(sheet.task)}</p>'
        f"{sheet.figure(chapter.defaults)}<p><b>{escape(sheet.question or asked.text)}</b></p>"
        f"{f'<ul>{options}</ul>' if options else ''}{reply}</section>"
    )


def code_of(chapter: Chapter, link: str) -> str:
    """A QR code that opens the chapter on a phone."""
    return code_picture(f"{link}chapter={chapter.key}", scale=3) if link else ""


def speaker_notes(chapters: Sequence[Chapter]) -> str:
    """What to do and to say at each chapter, with minutes; and which chapters make a lecture of ten minutes."""
    short = [(number, each) for number, each in enumerate(chapters, 1) if each.talk.short]
    rows = "".join(f"<li>{number}. {escape(each.title)}: {each.talk.short} min</li>" for number, each in short)
    keys = "".join(f"<li>{', '.join(names)}: {escape(does)}</li>" for names, does, _ in presenter.KEYS)
    keys += "".join(f"<li>{names[0]} … {names[-1]}: {escape(does)}</li>" for names, does, _ in presenter.PICKS)
    head = (
        f"<p>All chapters: {sum(each.talk.minutes for each in chapters)} minutes.</p>"
        f"<h2>In {sum(each.talk.short for _, each in short)} minutes</h2><ul class='plain'>{rows}</ul>"
        f"<h2>Keys</h2><ul class='plain'><li>f: presenter mode in and out; ?: all keys</li>{keys}</ul>"
    )
    return _file("Alternating Direction Graph Matching: speaker notes", head + "".join(map(_notes, chapters)))


def _notes(chapter: Chapter) -> str:
    return (
        f"<section><h2>{escape(chapter.title)} ({chapter.talk.minutes} min)</h2><p><b>{escape(chapter.claim)}</b></p>"
        f"<p>{escape(chapter.talk.say)}</p><p>Question: {escape(chapter.question.text)}</p>"
        f'<p class="answer">{escape(chapter.told(chapter.defaults))}</p></section>'
    )
