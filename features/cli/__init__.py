"""The command line of `python -m features`."""
