"""The former name of `features.judge.metrics`, which programs that the app has exported import."""

from features.judge.metrics import measure

__all__ = ["measure"]
