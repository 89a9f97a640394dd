"""The Compare page: one pair, one model, several methods."""
