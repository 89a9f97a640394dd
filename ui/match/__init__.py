"""The Match page: one pair, one model, one method, watched live."""
