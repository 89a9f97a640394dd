"""The run book: every run since the page was opened, to filter, to compare and to take away."""

from typing import Any

import streamlit as st

from adgm.explain.terms import Match
from features.explain import Case
from features.explain.run_book import Entry, RunBook
from ui.debug import background, leave
from ui.debug import picture as case_picture
from ui.jobs.task import Report
from ui.parts import run_book
from ui.parts.charts.legible import draw
from ui.parts.charts.tools import parallel_chart
from ui.parts.downloads import download
from ui.parts.pictures import inline

SHOWN = (
    "run",
    "made on",
    "pair",
    "model",
    "method",
    "parameters",
    "score",
    "right",
    "verdict",
    "iterations",
    "seconds",
)
NUMBERS = ("score", "accuracy", "iterations", "seconds")
MOST_AXES = 9
REPORT = "Run book"


def show(case: Case | None, focus: Match | None) -> None:
    book = run_book.current()
    if not len(book):
        st.caption("No run yet: runs of Match and Compare, and sweeps made here, are noted in this book as they end.")
        if case is not None:
            case_picture.waiting(case, focus)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="book-filter"):
        words = st.text_input("Filter", key="book words", width=260, placeholder="words of a pair, model, method …")
        verdicts = list(dict.fromkeys(entry.row["verdict"] or "truth unknown" for entry in book))
        wanted = st.pills("Verdict", verdicts, selection_mode="multi", key="book verdicts") or verdicts
    entries = [entry for entry in book if matches(entry, words, wanted)]
    if not entries:
        st.caption("No run has these words and this verdict.")
        return
    chosen = st.dataframe(
        [line(entry) for entry in entries],
        hide_index=True,
        placeholder="–",  # where there is nothing to tell
        alt="Runs",
        key=f"book table {len(entries)}",
        on_select="rerun",
        selection_mode="single-row",
        column_order=SHOWN,
        column_config={
            "score": st.column_config.NumberColumn(format="%.6g"),
            "right": st.column_config.NumberColumn(format="percent"),
            "seconds": st.column_config.NumberColumn(format="%.3f"),
        },
    )
    with st.container(horizontal=True, key="book-take"):
        download("Runs (CSV)", "runs.csv", lambda: book.csv(entries))
        offer_report(case, book, entries)
    at = chosen["selection"]["rows"]
    if at and at[0] < len(entries):
        open_entry(entries[at[0]])
    names = axes(entries)
    if len(entries) > 1 and len(names) > 1:
        draw(
            parallel_chart([{name: entry.value(name) for name in (*names, "verdict")} for entry in entries], names),
            height=320,
            renderer="svg",
            key=f"book parallel {len(entries)}",
            alt="Every run through its parameters and numbers",
        )


def offer_report(case: Case | None, book: RunBook, entries: list[Entry]) -> None:
    """Made in the background, since every run is drawn; then it can be taken. One is kept, not one for every filter."""
    numbers = [entry.number for entry in entries]

    def work(report: Report) -> tuple[list[int], str]:
        page = book.html(REPORT, entries, lambda done, of: report(done / of, f"{done} of {of} runs are drawn"))
        return numbers, page

    made = background.answer(case, REPORT)
    if made is not None and made.value is not None and made.value[0] == numbers:
        download("Save the report", "run-book.html", made.value[1], icon=":material/download:")
    else:
        many = "1 run" if len(entries) == 1 else f"{len(entries)} runs"
        about = "One file with every picture and every curve of these runs"
        background.button(case, REPORT, f"Report on {many} (HTML)", work, help=about)


def matches(entry: Entry, words: str, verdicts: list[str]) -> bool:
    """Whether a run has all the words, in any of its cells, and one of the verdicts."""
    row = entry.row
    text = " ".join(f"{name}={value}" if "." in name else str(value) for name, value in row.items()).lower()
    return (row["verdict"] or "truth unknown") in verdicts and all(word in text for word in words.lower().split())


def line(entry: Entry) -> dict[str, Any]:
    settings = ", ".join(f"{name}={value}" for name, value in entry.settings.items())
    return entry.row | {"parameters": settings, "right": entry.row["accuracy"]}


def axes(entries: list[Entry]) -> list[str]:
    """What the runs differ in: the model, the method, their settings; then what came of them."""
    names = ["model", "method", *dict.fromkeys(name for entry in entries for name in entry.settings)]
    differing = [name for name in names if len({entry.value(name) for entry in entries}) > 1]
    numbers = [name for name in NUMBERS if any(entry.value(name) is not None for entry in entries)]
    return [*differing[: MOST_AXES - len(numbers)], *numbers]


def open_entry(entry: Entry) -> None:
    """A run's picture and curves, and the way to it."""
    with st.container(border=True, key="book-entry"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**Run {entry.number}**, {entry.trial.metrics.explanation}", width="stretch")
            leave.match_button(entry.trial.recipe, "book open")
        picture, curves = st.columns([3, 2])
        picture.image(inline(entry.picture), width="stretch", alt=f"Matching of run {entry.number}")
        if entry.curves is not None:
            curves.image(inline(entry.curves), width="stretch", alt=f"Curves of run {entry.number}")
        else:
            curves.caption("Of a sweep's runs only the outcome is kept; open it on Match to watch its curves.")
