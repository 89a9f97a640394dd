"""LIMITS: what this program takes on, in one place; generous on a laptop, stricter where strangers come.

`ADGM_PUBLIC=1` chooses the stricter set; any single one is set by its name in capitals: `ADGM_VARIABLES=100000`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

PREFIX = "ADGM_"
FORMER = {"reload_bytes": "desk_bytes", "reload_seconds": "desk_seconds"}  # names of earlier versions, still read
CORES = os.cpu_count() or 1


@dataclass(frozen=True)
class Limits:
    """Whole numbers count things or bytes; the others are seconds."""

    # A file, before it is parsed
    image_bytes: int = 20_000_000
    image_pixels: int = 40_000_000
    image_memory: int = 600_000_000  # bytes while it is decoded
    image_length: int = 50_000  # along a side: no photograph is longer, and rows of millions cost decoders a gigabyte
    point_bytes: int = 20_000_000
    points: int = 100_000
    line_letters: int = 10_000
    line_cells: int = 100
    unpacked_bytes: int = 64_000_000  # of the arrays in a point file
    text_letters: int = 4_000_000  # of one text in a MATLAB file; larger ones are passed over
    views_bytes: int = 400_000_000  # of a ZIP file of images, as it comes and unpacked, and of a video
    archive_files: int = 100  # in a zip or NPZ file
    settings_bytes: int = 100_000  # of a JSON file in a zip, or an experiment's TOML
    visitor_bytes: int = 200_000_000  # of the files that one visitor has uploaded; the oldest go first
    uploaded_bytes: int = 1 << 30  # of all visitors' files
    problem_bytes: int = 100_000_000  # of a problem file as it comes, and of its text unpacked
    problem_arrays: int = 128_000_000  # bytes of an NPZ problem's arrays
    nodes: int = 100_000  # of one side
    node_pairs: int = 10_000_000  # n1 · n2: the solver keeps a few numbers for each
    pair_costs: int = 8_000_000  # costs of two candidates together
    # A problem, before it is built
    detected: int = 10_000  # points of one image
    variables: int = 4_000_000  # n1 · n2 of two point sets
    views: int = 32  # matched together
    joint_bytes: int = 1 << 31  # for the listed costs of all pairs of several views
    build_bytes: int = 1 << 30  # for its edges and vectors
    table_bytes: int = 1 << 30  # for its tables while it is solved
    batch_images: int = 1000  # of many pairs
    batch_pairs: int = 20_000
    # Work
    running: int = CORES  # jobs that compute at the same time
    waiting: int = 60  # jobs beside those, asleep or in the queue
    jobs_each: int = 6  # of one visitor at the same time
    job_seconds: float = 3600.0  # of computing
    preparing_seconds: float = 60.0  # for reading, detecting and building where a page waits for it
    patience: float = 120.0  # without a sign of the page
    absence: float = 5.0  # of a visitor whose connection is closed
    cached_bytes: int = 1 << 31  # of the problems that are kept in case they are asked for again
    reload_bytes: int = 100_000_000  # of the runs kept for a reload: more than a hundred, of a hundred iterations each
    reload_seconds: float = 3600.0  # that such a run is kept
    book_bytes: int = 200_000_000  # of the images in one visitor's run book; older runs keep their points and lines
    visitors: int = 200  # at the same time
    rooms: int = 50  # in which classes answer
    room_students: int = 500  # of a room, who answer
    room_seconds: float = 14400.0  # that a room is kept after its lecturer has left
    exercises: int = 500  # of lecturers, kept under short links
    exercises_each: int = 20  # of one visitor; the oldest give way
    exercise_bytes: int = 200_000_000  # of the images in all of them
    exercise_seconds: float = 7 * 86400.0  # that one is kept after it was opened last
    experiment_workers: int = min(2, CORES)  # processes of the one experiment that runs
    experiment_gigabytes: int = 2  # each
    experiment_units: int = 20_000
    stores: int = 60  # of results that are kept

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not value > 0 or (one.type is int and value != int(value)):
                kind = "a whole number above 0" if one.type is int else "a number of seconds above 0"
                raise ValueError(f"The limit {one.name} is {value}; expected {kind}.")


LAPTOP = Limits()
PUBLIC = Limits(
    image_bytes=12_000_000,
    image_pixels=25_000_000,
    image_memory=300_000_000,
    point_bytes=5_000_000,
    points=20_000,
    unpacked_bytes=20_000_000,
    views_bytes=60_000_000,
    text_letters=500_000,
    visitor_bytes=60_000_000,
    uploaded_bytes=300_000_000,
    problem_bytes=20_000_000,
    problem_arrays=32_000_000,
    nodes=5_000,
    node_pairs=500_000,
    pair_costs=2_000_000,
    detected=1_000,
    variables=250_000,
    batch_images=20,
    batch_pairs=60,
    views=16,
    joint_bytes=200_000_000,
    build_bytes=150_000_000,
    table_bytes=200_000_000,
    jobs_each=4,
    job_seconds=60.0,
    preparing_seconds=20.0,
    patience=60.0,
    cached_bytes=400_000_000,
    reload_bytes=100_000_000,
    reload_seconds=1200.0,
    book_bytes=30_000_000,
    visitors=60,
    rooms=20,
    room_students=300,
    room_seconds=7200.0,
    exercises=200,
    exercises_each=10,
    exercise_bytes=60_000_000,
    exercise_seconds=2 * 86400.0,
    experiment_workers=1,
    experiment_gigabytes=1,
    experiment_units=2_000,
    stores=20,
)


def is_public(environment: Mapping[str, str]) -> bool:
    """Whether strangers come."""
    return environment.get(f"{PREFIX}PUBLIC", "0") not in ("", "0")


def chosen(environment: Mapping[str, str]) -> Limits:
    """The set that an environment asks for, with what it sets by name."""
    base = PUBLIC if is_public(environment) else LAPTOP
    changed: dict[str, Any] = {}
    for one in fields(base):
        names = [PREFIX + each.upper() for each in (one.name, FORMER.get(one.name, one.name))]
        name = next((each for each in names if environment.get(each)), "")
        if text := environment.get(name, ""):
            try:
                changed[one.name] = int(text) if one.type is int else float(text)
            except ValueError:
                raise ValueError(f"{name} is {text!r}; expected a number such as {getattr(base, one.name)}.") from None
    return replace(base, **changed)


LIMITS = chosen(os.environ)
