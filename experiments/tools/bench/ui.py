"""The app, measured from outside: a server of its own, a real browser, and a clock.

A machine without Chromium or playwright gets a sentence instead.
"""

import os
import subprocess
import sys
import tempfile
from statistics import median
from time import monotonic
from typing import Any

from experiments.tools.bench.solver import Reading, reading
from experiments.tools.browser import ROOT, Visit, chromium, serving

RUNS = 50
SETTLED = 10  # runs after which caches are full
STARTS = 10  # of a server, with an empty cache and with a full one
WATCHED = 10.0  # seconds of a run whose updates are counted
ENDLESS = "?data=turntable&data.right=40&data.points=30&model=C&method=adgm1&method.tol=1e-300"
CHART = b"energy chart"  # its key: every update of the page redraws it once


def ui(runs: int = RUNS) -> list[Reading]:
    """What goes on in one session of the app."""
    with serving() as server, chromium() as browser:
        page = Visit(browser.new_context(viewport={"width": 1400, "height": 1000}), f"{server.url}/{ENDLESS}")
        page.ready()
        press_start(page)
        rows = updates(page)
        page.close()
        page = Visit(browser.new_context(viewport={"width": 1400, "height": 1000}), server.url)
        page.ready()
        page.choose("Pace", "full speed")
        held = []
        for run in range(runs):
            page.press("Start again" if run else "Start")
            page.finish(run + 1)
            held.append(server.memory())
        settled = min(SETTLED, runs) - 1
        growth = held[-1] - held[settled]
        note = f"{held[0]:.0f} MB after the first run, {held[settled]:.0f} MB after {settled + 1}"
        rows.append(reading(f"app: server's memory after {runs} runs in one session", held[-1], "MB", "flat", note))
        rows.append(reading(f"app: its growth from run {settled + 1} to {runs}", growth, "MB", "below 30 MB"))
        page.close()
        return rows


def first_minute(times: int = STARTS) -> list[Reading]:
    """The page, and the first lines of a run, on a machine that has never compiled anything and on one that has."""
    with tempfile.TemporaryDirectory() as full, chromium() as browser:
        one_start(browser, full, wait=True)  # fills the cache
        rows = []
        for state, most in (("nothing compiled", 3.0), ("compiled", 0.7)):
            pages, frames = [], []
            for _ in range(times):
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as nothing:
                    page, frame = one_start(browser, nothing if state == "nothing compiled" else full)
                pages.append(page)
                frames.append(frame)
            note = f"median of {times}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
            rows += [
                reading(f"app, {state}: start of the server to a usable page", median(pages), "s", "below 4 s", note),
                reading(f"app, {state}: Start to the first frame", median(frames), "s", f"below {most:g} s", note),
            ]
        return rows


def one_start(browser: Any, cache: str, *, wait: bool = False) -> tuple[float, float]:
    """Seconds from the start of a server to a usable page, and from Start to the first lines.

    The browser runs already, and has seen nothing of the app. With `wait` the server lives until everything is
    compiled.
    """
    began = monotonic()
    with serving(NUMBA_CACHE_DIR=cache) as server:
        page = Visit(browser.new_context(viewport={"width": 1280, "height": 720}), server.url)
        page.ready()
        there = monotonic()
        press_start(page)
        seconds = there - began, monotonic() - there
        if wait:
            page.finish()
            subprocess.run(
                [sys.executable, "-m", "adgm.precompile"],
                cwd=ROOT,
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                stdout=subprocess.DEVNULL,
                check=True,
            )
        page.close()
    return seconds


def press_start(page: Visit) -> None:
    """Start, and wait for the first lines of the run."""
    page.press("Start")
    page.wait_until(lambda: page.board("board => board.lines.length > 0"))


def updates(page: Visit) -> list[Reading]:
    """How often and with how much a page is updated while a run goes on."""
    page.choose("Pace", "100 iterations/s")
    page.wait_until(lambda: page.iteration() > 20)
    page.received.clear()
    began = monotonic()
    page.page.wait_for_timeout(1000 * WATCHED)
    seconds, payloads = monotonic() - began, list(page.received)
    count = max(1, sum(CHART in payload for payload in payloads))
    return [
        reading("app: updates of a running page", count / seconds, "per s", "at least 2"),
        reading(
            "app: bytes of an update", sum(map(len, payloads)) / count / 1000, "kB", note="curves, heat map and lines"
        ),
    ]
