"""The frame of the app: page settings and navigation. Start it with: streamlit run app.py"""

import streamlit as st

from ui import present, url_state, visitors, warmup
from ui.pages import PAGES, STYLE

st.set_page_config(
    page_title="ADGM: watch graph matching work", page_icon="🕸️", layout="wide", initial_sidebar_state=340
)
st.html(STYLE)
visitors.begin()
warmup.begin()
present.begin()
page = st.navigation([page.entry for page in PAGES], position="top")
url_state.turn_to(page.url_path)
page.run()
