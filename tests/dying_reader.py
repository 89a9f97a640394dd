"""Readers for `test_fuzz` that run in processes of their own; in a file of its own, which is loaded quickly."""

import os
from typing import Any


def dies_at_the_second(pipe: Any, cases: list[tuple[str, int]]) -> None:
    pipe.recv_bytes()
    pipe.send(cases[0])
    if len(cases) > 1:
        pipe.recv_bytes()
        os._exit(3)
    pipe.send(0)


def has_reserved_much(pipe: Any, cases: list[tuple[str, int]]) -> None:
    """A reader whose program holds 400 MB that it has not used, and which takes 400 MB more."""
    import numpy as np

    from experiments.tools import fuzz

    reserved = np.empty(50_000_000)
    fuzz.outcome = lambda name, number, data: fuzz.Outcome(name, number, f"{np.ones(reserved.size).sum():g}", 0.0)
    fuzz.serve(pipe, cases)  # type: ignore[arg-type]
