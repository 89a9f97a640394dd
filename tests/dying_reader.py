"""A process that ends in the middle of its work: for `test_fuzz`; in a file of its own, which is loaded quickly."""

import os
from typing import Any


def dies_at_the_second(pipe: Any, cases: list[tuple[str, int]]) -> None:
    pipe.recv_bytes()
    pipe.send(cases[0])
    if len(cases) > 1:
        pipe.recv_bytes()
        os._exit(3)
    pipe.send(0)
