"""python -m experiments load: many visitors at once, over real WebSockets, against a server of the app on this machine.

Each visitor opens a page, uploads two images or none, presses the button, follows the ticks as a browser does, and
leaves when the work has ended. No browser is needed: what a page says to the server are a few fields of Streamlit's
messages, and files are put where it tells. One visitor of every kind comes first and is not counted: they load and
compile what stays loaded, so that memory before and after tells what the others have left behind.
"""

import argparse
import os
import re
import struct
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from experiments.tools.browser import NEW_SESSION, RERUN_SCRIPT, SCRIPT_FINISHED, Server, fields, serving, wait_until

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

VISITORS, SECONDS, ARRIVING, MOST = 20, 300.0, 0.5, 200
RUN = "data=turntable&data.points=20&model=C&method=adgm1&method.max_iter=100&method.tol=1e-300&visitor={number}"
COMPARISON = "data=random&data.inliers=8&data.outliers=2&model=B&visitor={number}"
IMAGES = "data=own&visitor={number}"
# Two of twenty compare the methods, two bring images; the others watch a run.
MIX = {9: ("compare", COMPARISON, "compare"), 4: ("", IMAGES, "go")}
OF = 10
UPLOADER = "both images"
COOKIE = "_streamlit_xsrf"
FILE_URLS, FILES = 16, 13  # in what a page sends: where to put files; in a widget's state: those it has
# In what a page receives: which one is shown, its address, a part to draw again and again, and where to put files.
NAVIGATION, ADDRESS, AUTO_RERUN, PLACES = 23, 12, 21, 19
PAGE_SHOWN = 4  # in a message of the navigation
SWEPT = 11.0  # seconds until a server has let go what it needs no more (`ui/jobs/memory.py`)
BACK, SAME = 30.0, 0.05  # seconds after the tabs have closed until memory is the same again, up to such a share
WARM = 0.2  # of a long measurement: until then what is kept is still being filled
SAMPLE, TOLD = 0.5, 60.0  # seconds between two looks at the server, and between two lines of a long measurement
OVER = re.compile(rb'(?:\*\*|"status": ?")(Converged|Stopped|Ended|Failed|All done)')  # in words, or below the results
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


def rerun(query: str, page: str = "", *, shown: str = "", states: bytes = b"", fragment: str = "") -> bytes:
    """Draw the page (or a part of it) again, with the states of widgets."""
    ticks = entry(5, fragment) + entry(6, True) if fragment else b""
    where = entry(3, shown) if shown else entry(4, page)  # a page that is shown has a name of the server's
    return entry(RERUN_SCRIPT, entry(1, query) + entry(2, states) + where + ticks)


def pressed(button: str) -> bytes:
    return entry(1, entry(1, button) + entry(2, True))


def holding(uploader: str, files: Sequence[tuple[str, int, bytes]]) -> bytes:
    """An uploader with files: their names, sizes, and what the server said about their places."""
    parts = []
    for name, size, place in files:
        known = text(dict(fields(place))[1])
        parts.append(entry(2, entry(2, name) + whole(3 << 3) + whole(size) + entry(4, known) + entry(5, place)))
    return entry(1, entry(1, uploader) + entry(FILES, b"".join(parts)))


# ---- visitors ----------------------------------------------------------------------------------------------------


@cache
def images() -> dict[str, bytes]:
    """The Turntable's two, as files."""
    import cv2

    from features.datasets import DATASETS

    pair = DATASETS["turntable"].load(images=True)
    both = {"left.png": pair.left.image, "right.png": pair.right.image}
    return {name: cv2.imencode(".png", image.rgb)[1].tobytes() for name, image in both.items() if image is not None}


@dataclass
class Visitor:
    """One tab: what it asked, how long the answers took, and how it ended."""

    number: int
    url: str
    ends: float  # monotonic: nobody stays longer
    answers: list[float] = field(default_factory=list)
    outcome: str = "not finished"
    query: str = ""  # the address, which the server changes
    shown: str = ""  # the page, by the server's name for it

    def visit(self) -> None:
        try:
            with self.connection() as self.socket:
                self.outcome = self.work()
        except Exception as fault:  # told in the table
            self.outcome = f"broke: {type(fault).__name__}: {fault}"[:200]

    def connection(self) -> "ClientConnection":
        from websockets.sync.client import connect

        address = f"{self.url.replace('http', 'ws', 1)}/_stcore/stream"
        return connect(address, subprotocols=["streamlit", "PLACEHOLDER_AUTH_TOKEN"], max_size=None)  # type: ignore[list-item]

    def work(self) -> str:
        """Open, bring files, press, follow."""
        page, query, button = MIX.get(self.number % OF, ("", RUN, "go"))
        self.query = query.format(number=self.number)
        seen = self.ask(rerun(self.query, page))
        if query is IMAGES and (uploader := widget(seen, UPLOADER)):
            seen = self.click(holding(uploader, list(self.put(images()))))
        if (found := widget(seen, button)) is None:
            return "refused" if REFUSED.search(seen.said) else "no button"
        seen = self.click(pressed(found))
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
            seen = self.ask(rerun(self.query, shown=self.shown, fragment=fragment))
            seen.tick = seen.tick or tick
        return "not finished"

    def click(self, states: bytes) -> "Answer":
        """Tell what a widget has become, and how long the answer takes."""
        began = time.monotonic()
        seen = self.ask(rerun(self.query, shown=self.shown, states=states))
        self.answers.append(time.monotonic() - began)
        return seen

    def ask(self, message: bytes) -> "Answer":
        """Send, and listen until the page has been drawn, also anew."""
        self.socket.send(message)
        answer, begun = Answer(), False
        while time.monotonic() < self.ends:
            for number, value in self.hear(answer):
                begun = begun or number == NEW_SESSION
                if number == SCRIPT_FINISHED and begun and value != 2:  # 2: drawn once more at once
                    return answer
        return answer

    def hear(self, answer: "Answer") -> Iterator[tuple[int, int | bytes]]:
        """The next message's fields, if one comes; what a page remembers of it is remembered."""
        with suppress(TimeoutError):
            data = self.socket.recv(timeout=1.0)
            assert isinstance(data, bytes)
            answer.said += data
            for number, value in fields(data):
                if number == AUTO_RERUN and isinstance(value, bytes):
                    answer.tick = ticking(value)
                if number == NAVIGATION and isinstance(value, bytes):
                    self.shown = text(dict(fields(value)).get(PAGE_SHOWN, b""))
                if number == ADDRESS and isinstance(value, bytes):
                    self.query = text(dict(fields(value)).get(1, b""))
                yield number, value

    def put(self, files: dict[str, bytes]) -> Iterator[tuple[str, int, bytes]]:
        """Files, where the server wants them: with their sizes and what it said about the places."""
        self.socket.send(entry(FILE_URLS, entry(1, "files") + b"".join(entry(2, name) for name in files)))
        places: list[bytes] = []
        while not places and time.monotonic() < self.ends:
            for number, value in self.hear(Answer()):
                if number == PLACES and isinstance(value, bytes):
                    places = [place for kind, place in fields(value) if kind == 2 and isinstance(place, bytes)]
        with urllib.request.urlopen(f"{self.url}/_stcore/health") as answer:
            token = re.search(rf"{COOKIE}=([^;]+)", answer.headers.get("Set-Cookie", ""))
        secret = token[1] if token else ""
        for (name, data), place in zip(files.items(), places, strict=True):
            mark = "image-of-a-visitor"
            head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
            sent = urllib.request.Request(
                self.url + text(dict(fields(place))[2]),
                data=head.encode() + data + f"\r\n--{mark}--\r\n".encode(),
                headers={
                    "Content-Type": f"multipart/form-data; boundary={mark}",
                    "Cookie": f"{COOKIE}={secret}",
                    "X-Xsrftoken": secret,
                },
                method="PUT",
            )
            urllib.request.urlopen(sent).close()
            yield name, len(data), place


@dataclass
class Answer:
    """What came of one question: all bytes, and which part of the page shall be drawn again, how often."""

    said: bytes = b""
    tick: tuple[float, str] | None = None


def widget(answer: Answer, key: str) -> str | None:
    """The server's name for a widget that was drawn."""
    found = re.search(rb"\$\$ID-[0-9a-f]+-" + key.encode() + rb"(?=[^\w ])", answer.said)
    return found[0].decode() if found else None


def ticking(message: bytes) -> tuple[float, str]:
    values = dict(fields(message))
    interval = values[1]
    assert isinstance(interval, bytes)
    return float(struct.unpack("<f", interval)[0]), text(values[2])


def text(value: int | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else ""


# ---- the measurement ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """The server at one moment."""

    minute: float
    memory: float  # MB
    threads: int


def look(server: Server, began: float) -> Sample:
    found = re.search(r"Threads:\s*(\d+)", Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8"))
    return Sample((time.monotonic() - began) / 60, server.memory(), int(found[1]) if found else 0)


def back(before: Sample, now: Sample) -> bool:
    """Whether a server holds what it held before, and a thread or two at most for whoever asks next."""
    return now.threads <= before.threads + 2 and now.memory <= before.memory * (1 + SAME)


@dataclass(frozen=True)
class Report:
    """What came of it all; the samples are those before, while, and after the tabs have closed."""

    visitors: list[Visitor]
    seconds: float
    samples: list[Sample]

    @property
    def lines(self) -> Iterator[str]:
        outcomes = [one.outcome for one in self.visitors]
        for outcome in sorted(set(outcomes), key=lambda one: (one != "finished", one)):
            yield f"{outcomes.count(outcome):4} {outcome}"
        answers = [seconds for one in self.visitors for seconds in one.answers]
        if len(answers) > 1:
            shares = quantiles(answers, n=20, method="inclusive")
            yield f"a click's answer: p50 {shares[9]:.2f} s, p95 {shares[18]:.2f} s, of {len(answers)}"
        for name, unit in (("memory", " in MB"), ("threads", "")):
            values = [getattr(one, name) for one in self.samples]
            before, most, after = (f"{value:.0f}" for value in (values[0], max(values), values[-1]))
            yield f"{name}{unit}: {before} before, {most} at most, {after} after the tabs have closed"
        yield f"{self.seconds:.0f} s in all; load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"

    @property
    def drift(self) -> str:
        """What has become of memory and threads since the server was warm: medians of the first and last fifth."""
        warm = [one for one in self.samples[:-1] if one.minute >= WARM * self.samples[-1].minute]
        part = max(1, len(warm) // 5)
        words = []
        for name in ("memory", "threads"):
            values = [getattr(one, name) for one in warm]
            first, last = median(values[:part]), median(values[-part:])
            words.append(
                f"{name} {first:.0f} → {last:.0f} ({100 * (last / first - 1):+.1f} %), {max(values):.0f} at most"
            )
        return "from the first to the last fifth once warm: " + "; ".join(words)


def measure(visitors: int, seconds: float = SECONDS, arriving: float = ARRIVING, minutes: float = 0.0) -> Report:
    """So many visitors, who arrive one after another as a class does, on a server of their own.

    For so many minutes whoever is done makes room for the next one.
    """
    if not 1 <= visitors <= MOST:
        raise ValueError(f"--visitors is {visitors}; expected a number from 1 to {MOST}.")
    tabs: list[Visitor] = []
    numbers = count()
    with serving() as server:
        for number in (*MIX, 0):  # comparing waits until everything is compiled
            Visitor(number, server.url, time.monotonic() + seconds).visit()
        wait_until(lambda: server.solvers() == 0, BACK)
        time.sleep(SWEPT)
        began = told = time.monotonic()
        samples = [look(server, began)]
        over = began + 60 * minutes

        def chair() -> None:
            while True:
                tab = Visitor(next(numbers), server.url, time.monotonic() + seconds)
                tabs.append(tab)
                tab.visit()
                if time.monotonic() >= over:
                    return

        crowd = [threading.Thread(target=chair, name="visitor", daemon=True) for _ in range(visitors)]
        for one in crowd:
            one.start()
            time.sleep(arriving)
        while any(one.is_alive() for one in crowd) and time.monotonic() < over + seconds + BACK:
            samples.append(look(server, began))
            if minutes and time.monotonic() - told >= TOLD:
                told = time.monotonic()
                tell(samples[-1], len(tabs))
            time.sleep(SAMPLE)
        spent = time.monotonic() - began
        with suppress(TimeoutError):
            wait_until(lambda: back(samples[0], look(server, began)), BACK)
        samples.append(look(server, began))
    return Report(tabs, spent, samples)


def tell(now: Sample, visitors: int) -> None:
    """A line of a long measurement."""
    held = f"{now.memory:.0f} MB, {now.threads} threads"
    print(f"{now.minute:5.1f} min: {held}, {visitors} visitors so far, load {os.getloadavg()[0]:.1f}", flush=True)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--visitors", type=int, default=VISITORS, metavar="N", help="at once (default %(default)s)")
    about = "when whoever is not done yet leaves (default %(default)g)"
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help=about)
    about = "seconds between two who arrive (default %(default)g; 0: all in the same moment)"
    parser.add_argument("--arriving", type=float, default=ARRIVING, metavar="S", help=about)
    about = "for so long: whoever is done makes room for the next; memory and threads are told every minute"
    parser.add_argument("--minutes", type=float, default=0.0, metavar="M", help=about)


def run(options: argparse.Namespace) -> int:
    report = measure(options.visitors, options.seconds, max(0.0, options.arriving), max(0.0, options.minutes))
    print("\n".join(report.lines))
    if options.minutes > 0:
        print(report.drift)
    return 0 if all(one.outcome == "finished" for one in report.visitors) else 1
