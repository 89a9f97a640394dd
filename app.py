"""The frame of the app: page settings and navigation. Start it with: streamlit run app.py"""

import streamlit as st

from ui.shell.frame import ICON
from ui.shell.pages import PAGES, STYLE

st.set_page_config(
    page_title="ADGM: watch graph matching work",
    page_icon=ICON,
    layout="wide",
    initial_sidebar_state="collapsed",
)
st.html(STYLE)
st.navigation([page.entry for page in PAGES], position="hidden").run()
