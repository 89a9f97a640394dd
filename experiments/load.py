"""python -m experiments load: many visitors at once, over real WebSockets, against a server of the app on this machine.

Each visitor opens a page, presses its button, follows the ticks as a browser does, and leaves when the work has ended.
No browser is needed: what a page says to the server are a few fields of Streamlit's messages.
"""

import argparse
import os
import re
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from experiments.browser import NEW_SESSION, RERUN_SCRIPT, SCRIPT_FINISHED, Server, fields, serving, wait_until

VISITORS, SECONDS, ARRIVING, MOST = 20, 300.0, 0.5, 200
COMPARING = 10  # every tenth visitor compares the methods, the others watch a run
NAVIGATION, AUTO_RERUN = 23, 21  # in what a page receives: which one is shown; a part to draw again and again
PAGE_SHOWN = 4  # in a message of the navigation
BACK = 30.0  # seconds after the tabs have closed
RUN = "data=turntable&data.points=20&model=C&method=adgm1&method.max_iter=100&method.tol=1e-300&visitor={number}"
COMPARISON = "data=random&data.inliers=8&data.outliers=2&model=B&visitor={number}"
OVER = re.compile(rb"\*\*(Converged|Stopped|Ended|Failed|All done)[^*]*\*\*")
REFUSED = re.compile(rb"please try again|has room for|the most for one visitor")


# ---- Streamlit's messages ----------------------------------------------------------------------------------------


def whole(number: int) -> bytes:
    """A whole number as protobuf writes it."""
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def entry(number: int, value: str | bytes | bool) -> bytes:
    """A field: text or a message with its length, or a truth value."""
    if isinstance(value, bool):
        return whole(number << 3) + whole(value)
    data = value.encode() if isinstance(value, str) else value
    return whole(number << 3 | 2) + whole(len(data)) + data


def rerun(query: str, page: str = "", *, shown: str = "", pressed: str = "", fragment: str = "") -> bytes:
    """Draw the page (or a part of it) again, after a button was pressed."""
    states = entry(1, entry(1, pressed) + entry(2, True)) if pressed else b""
    ticks = entry(5, fragment) + entry(6, True) if fragment else b""
    where = entry(3, shown) if shown else entry(4, page)  # a page that is shown has a name of the server's
    return entry(RERUN_SCRIPT, entry(1, query) + entry(2, states) + where + ticks)


# ---- visitors ----------------------------------------------------------------------------------------------------


@dataclass
class Visitor:
    """One tab: what it asked, how long the answers took, and how it ended."""

    number: int
    url: str
    ends: float  # monotonic: nobody stays longer
    answers: list[float] = field(default_factory=list)
    outcome: str = "not finished"
    shown: str = ""  # the page, by the server's name for it

    @property
    def page(self) -> tuple[str, str, str]:
        """The page's name, its address, and the key of its button."""
        if self.number % COMPARING == COMPARING - 1:
            return "compare", COMPARISON.format(number=self.number), "compare"
        return "", RUN.format(number=self.number), "go"

    def visit(self) -> None:
        from websockets.sync.client import connect

        address = f"{self.url.replace('http', 'ws', 1)}/_stcore/stream"
        try:
            with connect(address, subprotocols=["streamlit", "PLACEHOLDER_AUTH_TOKEN"], max_size=None) as self.socket:  # type: ignore[list-item]
                self.outcome = self.work()
        except Exception as fault:  # told in the table
            self.outcome = f"broke: {type(fault).__name__}: {fault}"[:200]

    def work(self) -> str:
        """Open, press, follow."""
        name, query, button = self.page
        seen = self.ask(rerun(query, name))
        found = re.search(rb"\$\$ID-[0-9a-f]+-" + button.encode() + rb"(?=[^\w ])", seen.said)
        if REFUSED.search(seen.said) or found is None:
            return "refused" if REFUSED.search(seen.said) else "no button"
        began = time.monotonic()
        seen = self.ask(rerun(query, shown=self.shown, pressed=found[0].decode()))
        self.answers.append(time.monotonic() - began)
        while time.monotonic() < self.ends:
            if REFUSED.search(seen.said):
                return "refused"
            if over := OVER.search(seen.said):
                return "failed" if over[1] in (b"Failed", b"Ended") else "finished"
            if seen.tick is None:
                return "nothing goes on"
            interval, fragment = seen.tick
            time.sleep(interval)
            tick = seen.tick
            seen = self.ask(rerun(query, shown=self.shown, fragment=fragment))
            seen.tick = seen.tick or tick
        return "not finished"

    def ask(self, message: bytes) -> "Answer":
        """Send, and listen until the page has been drawn, also anew."""
        self.socket.send(message)
        answer, begun = Answer(), False
        while time.monotonic() < self.ends:
            with suppress(TimeoutError):
                data = self.socket.recv(timeout=1.0)
                assert isinstance(data, bytes)
                for number, value in fields(data):
                    begun = begun or number == NEW_SESSION
                    if number == AUTO_RERUN and isinstance(value, bytes):
                        answer.tick = ticking(value)
                    if number == NAVIGATION and isinstance(value, bytes):
                        self.shown = text(dict(fields(value)).get(PAGE_SHOWN, b""))
                    if number == SCRIPT_FINISHED and begun and value != 2:  # 2: drawn once more at once
                        return answer
                answer.said += data
        return answer


@dataclass
class Answer:
    """What came of one question: all bytes, and which part of the page shall be drawn again, how often."""

    said: bytes = b""
    tick: tuple[float, str] | None = None


def ticking(message: bytes) -> tuple[float, str]:
    values = dict(fields(message))
    interval = values[1]
    assert isinstance(interval, bytes)
    return float(struct.unpack("<f", interval)[0]), text(values[2])


def text(value: int | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else ""


# ---- the measurement ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What came of it all."""

    visitors: list[Visitor]
    seconds: float
    memory: tuple[float, float, float]  # MB: before, most, after the tabs have closed
    threads: tuple[int, int, int]

    @property
    def lines(self) -> Iterator[str]:
        outcomes = [one.outcome for one in self.visitors]
        for outcome in sorted(set(outcomes), key=lambda one: (one != "finished", one)):
            yield f"{outcomes.count(outcome):4} {outcome}"
        answers = [seconds for one in self.visitors for seconds in one.answers]
        if len(answers) > 1:
            shares = quantiles(answers, n=20, method="inclusive")
            yield f"a click's answer: p50 {shares[9]:.2f} s, p95 {shares[18]:.2f} s, of {len(answers)}"
        for name, values in (("memory in MB", self.memory), ("threads", self.threads)):
            before, most, after = (f"{value:.0f}" for value in values)
            yield f"{name}: {before} before, {most} at most, {after} after the tabs have closed"
        yield f"{self.seconds:.0f} s in all; load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def threads(server: Server) -> int:
    """How many the server's process has."""
    found = re.search(r"Threads:\s*(\d+)", Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8"))
    return int(found[1]) if found else 0


def measure(visitors: int, seconds: float = SECONDS, arriving: float = ARRIVING) -> Report:
    """So many visitors, who arrive one after another as a class does, on a server of their own."""
    if not 1 <= visitors <= MOST:
        raise ValueError(f"--visitors is {visitors}; a number from 1 to {MOST} is right.")
    with serving() as server:
        first = Visitor(0, server.url, time.monotonic() + seconds)
        first.visit()  # compiles and loads; not counted
        wait_until(lambda: server.solvers() == 0, BACK)
        memory, count = [server.memory()], [threads(server)]
        began = time.monotonic()
        tabs = [Visitor(number, server.url, began + seconds) for number in range(visitors)]
        crowd = [threading.Thread(target=tab.visit, name="visitor", daemon=True) for tab in tabs]
        for one in crowd:
            one.start()
            time.sleep(arriving)
        while any(one.is_alive() for one in crowd) and time.monotonic() < began + seconds + BACK:
            memory.append(server.memory())
            count.append(threads(server))
            time.sleep(0.5)
        spent = time.monotonic() - began
        with suppress(TimeoutError):
            wait_until(lambda: threads(server) <= count[0] + 2, BACK)
        held, left = server.memory(), threads(server)
    return Report(tabs, spent, (memory[0], max(memory), held), (count[0], max(count), left))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--visitors", type=int, default=VISITORS, metavar="N", help="at once (default %(default)s)")
    about = "when whoever is not done yet leaves (default %(default)g)"
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help=about)
    about = "seconds between two who arrive (default %(default)g; 0: all in the same moment)"
    parser.add_argument("--arriving", type=float, default=ARRIVING, metavar="S", help=about)


def run(options: argparse.Namespace) -> int:
    report = measure(options.visitors, options.seconds, max(0.0, options.arriving))
    print("\n".join(report.lines))
    return 0 if all(one.outcome == "finished" for one in report.visitors) else 1
