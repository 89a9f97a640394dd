"""The former name of `features.files.exports`, which programs that the app has exported import."""

from features.files.exports import open_pair

__all__ = ["open_pair"]
