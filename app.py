"""The frame of the app: page settings and navigation. Start it with: streamlit run app.py

Streamlit imports this file once, when its server begins, and serves `app`; for every drawing of a page it runs the file
again, as the main module.
"""

from streamlit.starlette import App

from ui.shell import streamlit_patches

if __name__ == "__main__":
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
else:
    streamlit_patches.begin()  # before the first message arrives
    app = App(__file__)
