"""The app's pages and what they stand on: the only package that imports Streamlit."""
