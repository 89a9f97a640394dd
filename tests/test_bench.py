"""Benchmarks: what is measured, not how long it takes."""

import pytest

from adgm import METHODS
from experiments.bench import BENCHES, cold


@pytest.mark.parametrize("key", METHODS)
def test_there_is_a_problem_for_every_method(key):
    assert METHODS[key].refusal(cold.problem_for(key)) == ""


def test_a_method_is_read_cold_and_warm():
    first, then = cold.first_and_next("lap")
    assert first["benchmark"] == "Linear assignment: cold" and then["benchmark"] == "Linear assignment: warm"
    assert first["unit"] == then["unit"] == "ms" and "load" in first["note"]
    assert "cold" in BENCHES
