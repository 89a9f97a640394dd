"""The frame of the app: page settings and navigation. Start it with: streamlit run app.py"""

from pathlib import Path

import streamlit as st

from ui import address, warmup
from ui.pages import PAGES

st.set_page_config(
    page_title="ADGM: watch graph matching work", page_icon="🕸️", layout="wide", initial_sidebar_state=340
)
st.html(Path(__file__).with_name("ui") / "page.css")
warmup.begin()
page = st.navigation([st.Page(page.show, **page.settings) for page in PAGES], position="top")
address.turn_to(page.url_path)
page.run()
