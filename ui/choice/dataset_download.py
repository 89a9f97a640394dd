"""Pairs of the data sets: fetched once on request, and kept from one drawing of the page to the next."""

from functools import partial

import streamlit as st

from features.datasets import DATASETS
from features.datasets.download import download
from features.pairs import Pair
from features.parameters import Value
from ui.jobs.scheduler import POOL
from ui.shell import admission


def offer_download(dataset: str) -> None:
    """What to do about a data set that is not on this machine: a button, with progress."""
    label = DATASETS[dataset].label
    st.info(f"{label} is not on this machine yet. It is fetched from its public mirror once and kept in your cache.")
    if st.button(f"Download {label}", type="primary", icon=":material/download:"):
        bar = st.progress(0.0, f"Downloading {label} …")

        def progress(done: int, total: int, file: str) -> None:
            bar.progress(done / max(total, 1), f"{file}: {done:,} of {total:,} bytes")

        try:
            download(dataset, progress)
        except ValueError as error:
            st.error(str(error))
            return
        st.cache_data.clear()  # thumbnails of what was not there
        st.rerun()


@st.cache_resource(show_spinner="Loading the pair …", max_entries=16)
def load(dataset: str, params: tuple[tuple[str, Value], ...]) -> Pair:
    """A pair of a data set, kept for the next drawing, and the same one for all visitors."""
    return POOL.perform(partial(DATASETS[dataset].load, images=True, **dict(params)), admission.current())
