"""The app, measured from outside: a server of its own, a real browser, and a clock.

A machine without Chromium or playwright gets a sentence instead.
"""

import tempfile
from statistics import median
from time import monotonic

from experiments.bench.solver import Reading, reading
from experiments.browser import Visit, chromium, serving

RUNS = 50
SETTLED = 10  # runs after which caches are full
COLD = 3  # starts with an empty cache
WATCHED = 10.0  # seconds of a run whose updates are counted
ENDLESS = "?data=turntable&data.right=40&data.points=30&model=C&method=adgm1&method.tol=1e-300"
CHART = b"energy chart"  # its key: every update of the page redraws it once


def ui(runs: int = RUNS) -> list[Reading]:
    """All measurements, in one session of the app."""
    cold = first_minute()
    began = monotonic()
    with serving() as server, chromium() as browser:
        page = Visit(browser.new_context(viewport={"width": 1400, "height": 1000}), f"{server.url}/{ENDLESS}")
        page.ready()
        rows = [*cold, reading("app: start of the server to a usable page", monotonic() - began, "s")]
        rows += [first_frame(page), *updates(page)]
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


def first_minute(times: int = COLD) -> list[Reading]:
    """A machine that has never compiled anything: the page, and the first lines of a run; medians."""
    pages, frames = [], []
    with chromium() as browser:
        for _ in range(times):
            with tempfile.TemporaryDirectory() as nothing:
                began = monotonic()
                with serving(NUMBA_CACHE_DIR=nothing) as server:
                    page = Visit(browser.new_context(viewport={"width": 1280, "height": 720}), server.url)
                    page.ready()
                    pages.append(monotonic() - began)
                    frames.append(first_frame(page)["value"])
                    page.close()
    return [
        reading("app, nothing compiled: start of the server to a usable page", median(pages), "s", "below 4 s"),
        reading("app, nothing compiled: Start to the first frame", median(frames), "s", "below 3 s"),
    ]


def first_frame(page: Visit) -> Reading:
    """From the click on Start to the first lines of the run."""
    began = monotonic()
    page.press("Start")
    page.wait_until(lambda: page.board("board => board.lines.length > 0"))
    return reading("app: Start to the first frame", monotonic() - began, "s")


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
