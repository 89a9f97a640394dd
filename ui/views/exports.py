"""What can be taken away of several views: tracks, matches of pairs, and files for structure from motion."""

import re
from functools import partial

import streamlit as st

from features.files.colmap import hloc_available
from features.views import Views, exports
from ui.parts.downloads import download


def show(views: Views) -> None:
    """Files of a finished run; the pictures and the link are offered by the frame."""
    name = re.sub(r"[^a-z0-9]+", "-", views.view_set.name.lower()).strip("-")[:60] or "views"
    st.markdown("**Tracks and matches**, in pixels of the original images")
    with st.container(horizontal=True):
        download("Tracks (CSV)", f"{name}-tracks.csv", partial(exports.tracks_csv, views))
        download("Tracks (JSON)", f"{name}-tracks.json", partial(exports.tracks_json, views))
        download("Tracks (NPZ)", f"{name}-tracks.npz", partial(exports.tracks_npz, views))
        download("Matches of pairs (CSV)", f"{name}-pairs.csv", partial(exports.pairs_csv, views))
    st.markdown("**For structure from motion**")
    with st.container(horizontal=True):
        download("COLMAP, text (ZIP)", f"{name}-colmap.zip", lambda: exports.zipped(exports.colmap_files(views)))
        download("COLMAP, database", f"{name}-colmap.db", partial(exports.database, views))
        if hloc_available():
            download("hloc (ZIP)", f"{name}-hloc.zip", lambda: exports.zipped(exports.hloc(views)))
