"""The ledger: every term that speaks for a wrong match or for the truth, and what they add up to."""

import streamlit as st

from adgm.ledger import Ledger, Line, ledger
from adgm.terms import Match, Term
from features.explain import Case
from features.metrics import number
from ui.debug import picture

MOST_LINES = 400


def show(case: Case, focus: Match | None) -> None:
    if case.truth is None:
        st.info("The truth of this pair is unknown, so its matches have nothing to be compared with: see Confidence.")
        return
    other = case.other(focus)
    here, there = picture.differing(case, other)
    book = ledger(case.problem, case.answer, other, case.names)
    if not here and not there:
        what = "This match is" if focus is not None else "All matches are"
        st.success(f"{what} as in the truth: no term differs.", icon=":material/check_circle:")
        return
    board, table = st.columns([11, 10], gap="small")
    with table:
        st.markdown(sentence(case, book, focus, here, there))
        line = choose_line(book)
    with board:
        if line is None:
            picture.show(case, here, there)
        else:
            mine, theirs = (() if term is None else term.matches for term in (line.here, line.there))
            left, right = (a + b for a, b in zip(picture.sides(mine), picture.sides(theirs), strict=True))
            picture.show(case, mine, theirs, edges=(left, right))


def sentence(case: Case, book: Ledger, focus: Match | None, here: list[Match], there: list[Match]) -> str:
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
    parts = ", ".join(f"{part.name} {part.share:+.0%}" for part in book.parts if part.share is not None)
    sums = (
        f"The model prefers **{winner}** by {number(abs(book.total))}: {parts}."
        if book.total
        else "Both cost the same."
    )
    exact = (
        f"The {len(book.lines)} terms below sum to the difference of the two energies, to the last digit: "
        f"`{book.total!r}`."
        if book.exact
        else "The terms below are not the whole difference."
    )
    return f"{what}  \n{sums}  \n:small[{exact}]"


def choose_line(book: Ledger) -> Line | None:
    """The table of terms; the selected one lights up on the picture."""
    lines = book.lines[:MOST_LINES]
    rows = [
        {
            "term": f"{singular(book.names[line.potential])} {'–'.join(map(str, line.left))}",
            "answer": told(line.here),
            "truth": told(line.there),
            "speaks for the answer": line.favour,
        }
        for line in lines
    ]
    chosen = st.dataframe(
        rows,
        hide_index=True,
        height=330,
        key="ledger table",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "term": st.column_config.TextColumn(help="The left points that a term ties together"),
            "answer": st.column_config.TextColumn(help="Their partners in the answer, and what that costs"),
            "truth": st.column_config.TextColumn(help="Their partners in the truth, and what that costs"),
            "speaks for the answer": st.column_config.NumberColumn(
                format="%+.5g", help="What it costs more in the truth; negative ones speak for the truth"
            ),
        },
    )
    if len(book.lines) > len(lines):
        st.caption(f"The first {len(lines)} of {len(book.lines)} terms.")
    at = chosen["selection"]["rows"]
    return lines[at[0]] if at and at[0] < len(lines) else None


def singular(name: str) -> str:
    """ "edges 2" as "edge 2"."""
    word, _, rest = name.partition(" ")
    return f"{word.removesuffix('s')} {rest}".strip()


def told(term: Term | None) -> str:
    if term is None:
        return "–"
    return f"{'–'.join(str(j) for _, j in term.matches)}: {term.cost:.4g}"
