"""The ledger: every term that speaks for a wrong match or for the truth, what they add up to, and who is to blame."""

from dataclasses import replace
from functools import partial

import streamlit as st

from adgm.explain.ledger import Ledger, Line, ledger
from adgm.explain.terms import Match, Term
from features.explain import Case
from features.explain.records import ledger_records
from features.explain.retry import ATTEMPTS, Retry
from features.judge.metrics import number
from features.tables import csv_text
from ui.debug import background, picture
from ui.debug.links import open_case
from ui.jobs.task import Report
from ui.parts import press, table
from ui.parts.downloads import download

MOST_LINES = 400
SECONDS = 60.0  # for another run
HEADER = ("term", "answer", "truth", "speaks for the answer")


def show(case: Case, focus: Match | None) -> None:
    if case.truth is None:
        st.info(
            "The truth of this pair is unknown, so there is nothing to compare its matches with. How sure they are "
            "can be told without: see Confidence.",
            icon=":material/help:",
        )
        return
    other = case.other(focus)
    here, there = picture.differing(case, other)
    if not here and not there:
        what = "This match is" if focus is not None else "All matches are"
        st.success(f"{what} as in the truth: no term differs.", icon=":material/check_circle:")
        return
    problem, names = case.parted
    book = ledger(problem, case.answer, other, names)
    st.markdown(sentence(case, book, focus, here))
    with st.container(key="debug-board"):
        st.fragment(board)(case, book, here, there)
    retries(case)
    download("Ledger (CSV)", "ledger.csv", lambda: csv_text(ledger_records(book)), icon=":material/download:")


def sentence(case: Case, book: Ledger, focus: Match | None, here: list[Match]) -> str:
    """Who is preferred, by how much, and which potentials are to blame."""
    if focus is None:
        what = f"{len(here)} matches differ from the truth."
    else:
        partner = case.partner(focus[0])
        instead = f"instead of {partner}" if partner is not None else "and should stay alone"
        what = f"**Left {focus[0]} → right {focus[1]}**, {instead}."
        if len(here) > 1:
            what += f" It can only change together with {len(here) - 1} more: they have each other's partners."
    winner = "the answer" if book.total > 0 else "the truth"
    parts = ", ".join(f"{part.name} {100 * part.share:+.0f} %" for part in book.parts if part.share is not None)
    sums = "Both cost the same."
    if book.total:
        sums = f"The model prefers **{winner}** by {number(abs(book.total))}: {parts}."
    exact = "are not the whole difference"
    if book.exact:
        exact = f"sum to the difference of the two energies, to the last digit: `{book.total!r}`"
    return f"{what} {sums}  \n:small[The {len(book.lines)} terms below {exact}.]"


def board(case: Case, book: Ledger, here: list[Match], there: list[Match]) -> None:
    """The picture and the table; the line that is pointed at lights up."""
    left, right = st.columns([13, 10], gap="small")
    with right:
        line = choose_line(book)
    with left:
        if line is None:
            picture.show(case, here, there)
            return
        mine, theirs = (() if term is None else term.matches for term in (line.here, line.there))
        edges = [a + b for a, b in zip(picture.sides(mine), picture.sides(theirs), strict=True)]
        picture.show(case, mine, theirs, edges=(edges[0], edges[1]))


def choose_line(book: Ledger) -> Line | None:
    lines = book.lines[:MOST_LINES]
    largest = max((abs(line.favour) for line in lines), default=1.0) or 1.0
    rows = [
        table.Row(
            (
                f"{singular(book.names[line.potential])} {'–'.join(map(str, line.left))}",
                told(line.here),
                told(line.there),
                f"{line.favour:+.5g}",
            ),
            line.favour / largest,
        )
        for line in lines
    ]
    at = table.lines("ledger lines", HEADER, rows, height=picture.HEIGHT - 90, tall=True)
    more = f" The first {len(lines)} of {len(book.lines)} are shown." if len(book.lines) > len(lines) else ""
    st.caption(f"Point at a term to see its points and edges; a click holds it.{more}")
    return None if at is None else lines[at]


def singular(name: str) -> str:
    """ "edges 2" as "edge 2"."""
    word, _, rest = name.partition(" ")
    return f"{word.removesuffix('s')} {rest}".strip()


def told(term: Term | None) -> str:
    if term is None:
        return "–"
    return f"{'–'.join(str(j) for _, j in term.matches)}: {term.cost:.4g}"


# ---- the optimiser or the model? ---------------------------------------------------------------------------------


def retries(case: Case) -> None:
    """Other runs of the same problem, and what they prove."""
    with st.container(horizontal=True, vertical_alignment="center", key="debug-retries"):
        st.markdown("The optimiser or the model?", width="content")
        for name, attempt in ATTEMPTS.items():
            work = partial(try_again, case, name)
            background.button(case, ("retry", name), attempt.label, work, icon=":material/replay:", help=attempt.help)
    for name, attempt in ATTEMPTS.items():
        known = background.answer(case, ("retry", name))
        if known is not None and known.value is not None:
            with st.container(horizontal=True, vertical_alignment="center", key=f"debug-retry-{name}"):
                st.markdown(f":material/gavel: *{attempt.label}.* {known.value.proves}", width="stretch")
                press.button("Look at it", f"look {name}", partial(look_at, case, known.value))


def try_again(case: Case, name: str, report: Report) -> Retry:
    report(0.0, "building")
    return ATTEMPTS[name].run(
        case, lambda state: report(min(state.iteration / 400, 0.95), f"iteration {state.iteration:,}"), SECONDS
    )


def look_at(case: Case, found: Retry) -> None:
    """Debug what another run found."""
    open_case(replace(case, answer=found.assignment))
