"""The Experiments page: the paper's experiments and your own."""
