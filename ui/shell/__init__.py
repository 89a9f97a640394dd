"""What every page stands on: frame, navigation, session, admission, uploads, and the patches of Streamlit."""
