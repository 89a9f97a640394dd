"""The numbers of the answers below the picture: short, and apart where they differ."""

import numpy as np
import pytest

from features.judge.metrics import number
from ui.match.answers import column
from ui.match.timeline import told
from ui.parts.charts.run import power


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((0.0, 395.8155, None, 23.1894), ["0", "396", "–", "23"]),
        ((23.1298, 23.1894, 23.1894), ["23.1", "23.2", "23.2"]),
        ((54.4521, 54.5446), ["54.45", "54.54"]),
        ((-541.26, -541.21, np.inf), ["−541.3", "−541.2", "–"]),
        ((0.00012,), ["0.00012"]),
        ((), []),
    ],
)
def test_a_column_has_as_few_decimals_as_tell_its_numbers_apart(values, shown):
    assert column(values) == shown


def test_what_differs_in_four_decimals_is_never_shown_alike():
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = (rng.normal(size=4) * 10.0 ** rng.integers(-1, 4)).round(4).tolist()
        values.append(values[0] + rng.choice([0, 1e-4, 0.01]))
        assert len(set(column(values))) == len({number(value) for value in values})


def test_small_numbers_are_powers_of_ten_as_people_write_them():
    assert [power(x) for x in (0.0, 0.911, 12.0, 1.514e-8, 2e5)] == ["0", "0.91", "12", "1.5·10⁻⁸", "2.0·10⁵"]


def test_the_stop_beside_the_slider_in_words():
    assert [told(labels, -1) for labels in ((), ("1", "1200"), ("1", "polished"))] == [
        "not started",
        "step 1,200",
        "polished",
    ]
