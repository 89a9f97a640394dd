"""The last answer of a function is kept for the very same objects, and only as long as these exist."""

import gc

import numpy as np

from features.latest import latest


def test_the_same_objects_get_the_same_answer_until_others_are_asked_about():
    asked = []

    @latest
    def total(a: np.ndarray, b: np.ndarray, times: float) -> float:
        asked.append(times)
        return times * float((a + b).sum())

    a, b, twin = np.ones(3), np.ones(3), np.ones(3)
    assert total(a, b, 2.0) == total(a, b, 2.0) == 12.0 and asked == [2.0]
    assert total(a, b, 3.0) == 18.0 and total(a, twin, 3.0) == 18.0 and asked == [2.0, 3.0, 3.0]
    del twin
    gc.collect()
    assert total(a, np.ones(3), 3.0) == 18.0 and len(asked) == 4
