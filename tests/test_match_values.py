"""The Match page's buttons and values without a browser: what was pressed holds and is shown."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import streamlit as st
from numpy.testing import assert_array_equal

from test_match_page import ADDRESSES, SMALL, Page
from ui.match import page as match
from ui.shell.session_slots import APART, CANVAS, EDIT, GRAPH, LATE, LIMIT, PACE, POLISH, RUN, START


def test_ten_times_ten_while_paused_is_a_hundred_and_shown():
    page = Page(SMALL | {"method.tol": "1e-300"})
    page.set("pace", "10 iterations/s").press("go").press("step")
    job = page.test.session_state[RUN.name].job
    job.rest(60)
    page.run()
    rho = job.snapshot().frame.rho
    page.press("rho × 10").press("rho × 10")
    assert job.asked == pytest.approx(100 * rho)
    shown = [one.proto.popover.label for one in page.test.get("popover")]
    assert f"ρ = {100 * rho:.4g}" in shown
    page.press("step")
    job.rest(60)
    assert job.asked is None and job.snapshot().frame.rho == pytest.approx(100 * rho)
    page.press("stop")
    job.wait(60)


def test_a_press_that_comes_too_late_is_told_on_the_page_until_the_next_one():
    page = Page(SMALL).start()
    page.test.session_state[RUN.name].job.resume()
    page.test.session_state[LATE.name] = "Pause came too late: run 1 was over."
    page.run()
    assert page.says("came too late") and page.press("play").says("· run 1") and not page.says("came too late")


def test_a_run_that_was_asked_for_is_started_by_the_next_drawing_if_this_one_is_stopped(monkeypatch):
    original, stops = match.start, iter([True])
    monkeypatch.setattr(match, "start", lambda chosen: st.stop() if next(stops, False) else original(chosen))
    page = Page(SMALL).press("go")
    assert RUN.name not in page.test.session_state and page.test.session_state[START.name]
    page.run().test.session_state[RUN.name].job.wait(60)
    assert page.run().says("· run 1") and START.name not in page.test.session_state


def test_points_that_stay_keep_what_was_measured_at_them_when_one_goes_and_another_comes():
    page = Page({"data": "warp", "data.points": "12", "model": "B", "method": "lap"})
    slot, before = f"canvas edits {CANVAS}", page.chosen.pair.left.points
    kept, count = page.test.session_state[slot], len(before)
    assert before.size is not None and before.angle is not None and len(set(before.angle.tolist())) > 2
    left = np.concatenate([kept.left[1:], [[7.0, 9.0]]])
    numbers = (*range(1, count), -1)
    page.test.session_state[slot] = replace(kept, revision=1, left=left, origin=(numbers, kept.origin[1]))
    after = page.run().chosen.pair.left.points
    assert_array_equal(after.size[:-1], before.size[1:])
    assert_array_equal(after.angle[:-1], before.angle[1:])
    assert after.angle[-1] == 0.0 and after.size[-1] == np.median(before.size)


# What a browser shows that was never sent a value: what the widget itself carries.
CARRIED: dict[str, Callable[[Any], Any]] = {
    "slider": lambda one: one.proto.default[0],
    "select_slider": lambda one: one.proto.options[int(one.proto.default[0])],
    "selectbox": lambda one: one.proto.options[one.proto.default],
    "button_group": lambda one: [one.proto.options[k].content for k in one.proto.default],
    "number_input": lambda one: one.proto.default,
    "text_input": lambda one: one.proto.default,
    "checkbox": lambda one: one.proto.default,
    "toggle": lambda one: one.proto.default,
}
SHOWN: dict[str, Callable[[Any], Any]] = {
    "selectbox": lambda one: one.proto.options[one.index],
    "button_group": lambda one: [one.value] if isinstance(one.value, str) else list(one.value or []),
}
OURS = ("choice", PACE, LIMIT, GRAPH, POLISH, EDIT, APART)


@pytest.mark.parametrize(
    "words",
    [
        SMALL | {"model.sigma2": "900", "method.max_iter": "77", "method.rho0": "0.25", "method.polish": "True"},
        ADDRESSES["detected points"] | {"points.mask_left": "keep 10 10 90 90"},
    ],
    ids=["options", "detected"],
)
def test_every_control_carries_its_value_with_every_drawing(words):
    """A browser that missed the one message with a value must not fall back to the least one."""
    page = Page(words)
    for _ in range(2):
        kinds = set()
        for kind, carried in CARRIED.items():
            for widget in page.test.get(kind):
                if (widget.key or "").startswith(OURS):
                    kinds.add(kind)
                    assert carried(widget) == SHOWN.get(kind, lambda one: one.value)(widget), widget.key
        assert kinds >= {"slider", "selectbox", "number_input", "toggle", "button_group"}
        page.set(GRAPH, "Delaunay").set(EDIT, True).set(APART, True).set(LIMIT, 33).set(PACE, "10 iterations/s")
