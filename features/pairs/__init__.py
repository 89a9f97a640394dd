"""Pairs of views: the record (`pair`), from files to one (`reading`), its images swapped or turned (`arranged`)."""

from features.pairs.pair import POINTS, SIDES, TOLERANCE, Pair, View, found_in, mapped, plain_seed
from features.pairs.reading import (
    NOBODY,
    PointSource,
    Source,
    TruthSource,
    as_image,
    as_points,
    as_truth,
    file_bytes,
    own_pair,
    read_pair,
    truth_by_label,
)

__all__ = [
    "NOBODY",
    "POINTS",
    "SIDES",
    "TOLERANCE",
    "Pair",
    "PointSource",
    "Source",
    "TruthSource",
    "View",
    "as_image",
    "as_points",
    "as_truth",
    "file_bytes",
    "found_in",
    "mapped",
    "own_pair",
    "plain_seed",
    "read_pair",
    "truth_by_label",
]
