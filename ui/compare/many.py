"""Many photographs: every pair of what is uploaded, matched in the background, with a table, verdicts and all files."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from features.batch import Batch, BatchError, Progress, Sources, from_files, from_zip, report, run_batch
from features.limits import CORES, LIMITS
from features.matching import IMAGES
from ui.choice.uploads import IMAGE_TYPES, UPLOAD_MB
from ui.jobs.scheduler import POOL
from ui.jobs.task import Progress as Done
from ui.jobs.task import Report, Task
from ui.parts import press
from ui.parts.downloads import download
from ui.parts.escape import literal
from ui.shell import admission
from ui.shell.session_slots import MANY

TICK = 1.0  # seconds between two updates
EACH = 20.0  # seconds of computing for a pair
WINDOWS = {"every pair": None, "each with the next one": 1, "each with the next three": 3}
ENDS = {
    "stopped": "Stopped: the pairs so far are shown.",
    "time limit": f"Ended after {LIMITS.job_seconds:g} s of computing, the most here: the pairs so far are shown.",
    "abandoned": "Stopped: the page was closed.",
}


def show() -> None:
    """What is asked, how far the work is, and what came of it."""
    with st.container(key="many"):
        st.subheader("Many photographs", anchor="many-photographs")
        most = IMAGES.wanted["left"]
        st.caption(
            f"Every pair of the photographs that you add, {most} points in each, by the model for photographs. The "
            "table says which show the same thing."
        )
        task = MANY.get()
        now = None if task is None else task.progress()
        active = now is not None and now.active
        ask(active)
        st.fragment(status, run_every=POOL.unhurried(TICK) if active else None)(task, active)
        if now is not None and not active:
            outcome(now)


def ask(active: bool) -> None:
    """The files, which pairs of them, and the button."""
    given = st.file_uploader(
        "Photographs, or one ZIP file of them",
        [*IMAGE_TYPES, "zip"],
        accept_multiple_files=True,
        key="many files",
        max_upload_size=LIMITS.visitor_bytes // 1_000_000,
        help=f"At most {LIMITS.batch_images} photographs of {UPLOAD_MB} MB",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        button = st.empty()
        window = st.selectbox("Pairs, in the order of names", list(WINDOWS), key="many window", width=260)
        try:
            sources = sources_of(given, WINDOWS[window]) if given else None
        except ValueError as error:
            sources = None
            st.warning(literal(str(error)))
    if sources is not None:
        st.caption(f"{len(sources.names)} photographs, {len(sources.pairs)} pairs.")
    looks = {"type": "primary", "icon": ":material/photo_library:", "disabled": active or sources is None}
    press.button("Match all pairs", "match all pairs", partial(start, sources), button, **looks)


def sources_of(given: list[Any], window: int | None) -> Sources:
    """The pairs of uploaded files."""
    packed = [one for one in given if one.name.lower().endswith(".zip")]
    if packed and len(given) > 1:
        raise BatchError("A ZIP file was added together with others; add one ZIP file, or photographs.")
    if packed:
        return from_zip(packed[0].getvalue(), window)
    files: dict[str, bytes] = {}
    for one in given:
        name, k = one.name, 2
        while name in files:  # of another folder
            name, k = f"{k} {one.name}", k + 1
        files[name] = one.getvalue()
    return from_files(files, window)


def start(sources: Sources | None) -> None:
    """Begin; a sentence if the server is full."""
    if sources is None:
        return
    try:
        MANY.set(Task(partial(matched, sources), visitor=admission.current()).start())
    except ValueError as error:  # too many runs wait
        st.toast(str(error))


def matched(sources: Sources, report_to: Report) -> Batch:
    """All pairs; the rows so far are there for one who stops."""
    so_far = Batch(sources, IMAGES)

    def told(progress: Progress) -> None:
        report_to(progress.share, str(progress), so_far)

    workers = min(CORES, LIMITS.experiment_workers)
    return run_batch(sources, IMAGES, workers=workers, time_limit=EACH, told=told, into=so_far)


def status(task: Task | None, drawn_active: bool) -> None:
    """The live part: how far it is."""
    press.perform()
    now = None if task is None else task.progress()
    if drawn_active != (now is not None and now.active):
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="matching-many"):
        button, told = st.empty(), st.empty()
    if task is None or now is None:
        return
    task.touch()
    if now.active:
        press.button("Stop matching", "stop many", task.stop, button, icon=":material/stop:")
        told.progress(now.share, "Waiting for its turn" if now.status == "waiting" else now.text or "Beginning")
    elif now.status == "failed":
        told.error(literal(now.error))
    elif now.status in ENDS:
        told.caption(ENDS[now.status])


def outcome(now: Done) -> None:
    """The table with thumbnails, and all files."""
    batch = now.value
    if not isinstance(batch, Batch) or not batch.table:
        return
    st.markdown(literal(report.summary(batch)))
    column = st.column_config
    st.dataframe(
        records(batch),
        hide_index=True,
        row_height=64,
        placeholder="–",
        alt="What came of every pair",
        column_config={
            "Left": column.ImageColumn(width="small"),
            "Right": column.ImageColumn(width="small"),
            "Hold": column.NumberColumn(help="Matches that are verified or found by the map"),
            "Verdict": column.TextColumn(width="large"),
        },
    )
    name = "matches of many pairs.zip"
    download("Download everything (ZIP)", name, partial(report.zipped, batch), icon=":material/download:")


def records(batch: Batch) -> list[Mapping[str, Any]]:
    """The rows as the page shows them."""
    pictures = {name: report.picture(rgb) for name, rgb in batch.thumbnails.items()}
    return [
        {
            "Left": pictures.get(row.left),
            "Right": pictures.get(row.right),
            "Pair": f"{row.left} · {row.right}",
            "Same thing": "–" if row.failure else "yes" if row.same else "no",
            "Matches": len(row.pairs),
            "Hold": len(row.holds),
            "Verdict": row.verdict,
        }
        for row in batch.table
    ]
