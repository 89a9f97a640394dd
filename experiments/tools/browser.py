"""The app in a real browser: start its server, open its page, press its buttons. For measuring, pictures and tests."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Seconds until a browser or a server that does not answer counts as broken; where thirty processes compute beside it, a
# page takes minutes.
PATIENCE = float(os.environ.get("ADGM_BROWSER_PATIENCE", 420))
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = ["--no-sandbox", "--headless=new", "--disable-gpu", "--disable-background-networking"]
SWITCHES += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]  # a camera, and leave to use it
# The server in a process that writes down how many of its threads run a solver when it gets a signal.
SOLVER = "Job"  # what such a thread is called
SERVER = f"""
import pathlib, signal, sys, threading
answer = pathlib.Path(sys.argv.pop(1))
count = lambda *_: answer.write_text(str(sum(thread.name == "{SOLVER}" for thread in threading.enumerate())) + ".")
signal.signal(signal.SIGUSR1, count)
from streamlit.web.cli import main
main()
"""
# What the server's library logs when a page has gone while it was being answered.
GONE = re.compile(
    r"^(?:[^\n]*\b(?:Error|Exception|WARNING)\b[^\n]*\n)?Traceback \(most recent call last\):\n"
    r"(?:[ |+][^\n]*\n|\n)*[^\n]*(?:WebSocketDisconnect|ClientDisconnect|ConnectionClosed)[^\n]*$",
    re.MULTILINE,
)
# What may fail: where Streamlit's page first looks for its server below a sub-page (it then asks the root), and
# pictures of a page that was left while they were on their way; that those of a page are there is what `ready` asks.
HARMLESS = re.compile(r"/\w+/_stcore/(health|host-config)$|/media/\w+\.(png|jpg)$")
ENDED = "Converged|Stopped|Ended|Failed"


@dataclass(frozen=True)
class Server:
    """A running server of the app, with its log and the file for its answers."""

    url: str
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    answer: Path
    read: int = 0  # characters of the log that somebody else has looked at

    def written(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[self.read :]

    def complaints(self) -> str:
        """Its log, if anything went wrong; a page that was closed in the middle of an answer is nobody's fault."""
        said = GONE.sub("", self.written())
        return said if re.search("Traceback|Error|Exception|WARNING", said) else ""

    def crash(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.wait()

    def solvers(self) -> int:
        """How many threads run a solver now."""
        self.answer.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.answer.exists() and self.answer.read_text(encoding="utf-8").endswith("."), PATIENCE)
        return int(self.answer.read_text(encoding="utf-8")[:-1])

    def memory(self) -> float:
        """Megabytes it holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="utf-8").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextlib.contextmanager
def serving(
    script: Path = ROOT / "app.py",
    command: Sequence[str] = (),
    prefix: str = "",
    port: int = 0,
    **environment: str | None,
) -> Iterator[Server]:
    """A script of Streamlit's, or a command that starts one, on a port (0: a free one) until the block ends.

    `prefix` is a folder of the site that it lives in, as on a shared host. The environment is this process's, with
    these variables changed (None: not set).
    """
    with tempfile.TemporaryDirectory() as folder:
        port = port or free_port()
        log, answer = Path(folder, "log"), Path(folder, "answer")
        settings = {**os.environ, **environment}
        words = list(command) or [sys.executable, "-c", SERVER, str(answer), "run", str(script)]
        options = {
            "port": port,
            "address": "127.0.0.1",
            "fileWatcherType": "none",
            "baseUrlPath": prefix,
            "headless": "true",
        }
        words += [f"--server.{name}={value}" for name, value in options.items()]
        with log.open("wb") as out:
            process = subprocess.Popen(
                words,
                cwd=folder if command else ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={name: value for name, value in settings.items() if value is not None},
            )
        server = Server(f"http://127.0.0.1:{port}{'/' * bool(prefix)}{prefix}", port, process, log, answer)
        try:
            wait_until(lambda: answers(server), PATIENCE)
            yield server
        finally:
            if process.poll() is not None:
                print(f"the server had ended with {process.poll()}:\n{server.written()}", file=sys.stderr)
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(server: Server) -> bool:
    if server.process.poll() is not None:
        raise RuntimeError(f"the server ended at once:\n{server.written()}")
    with contextlib.suppress(OSError):
        return bool(urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=2).status == 200)
    return False


def chromium_path() -> str | None:
    """The system's browser, if there is one."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=SWITCHES)
        yield browser
        browser.close()


def wait_until(condition: Callable[[], object], seconds: float, pause: Callable[[float], object] = time.sleep) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds:g} s")
        pause(0.05)


# Streamlit's messages say what they are by the number of the one field that is set.
RERUN_SCRIPT = 11  # in what the browser sends
NEW_SESSION, SCRIPT_FINISHED = 4, 6  # in what it receives
BEGINS_AGAIN = 2  # how a drawing of the page has finished that is drawn once more at once


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """A protobuf message's own fields: their numbers, and their values or (of texts, messages, fractions) bytes."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
            continue
        size = {1: 8, 5: 4}[tag & 7] if tag & 7 != 2 else number()  # a text or a message follows its length
        yield tag >> 3, message[at : at + size]
        at += size


class Visit:
    """One visitor of the app: the page, what the browser received, and what went wrong in it."""

    def __init__(self, context: Any, url: str) -> None:
        """A new page of a browser's context (the browser itself: a context of its own)."""
        self.page = context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.received: list[bytes] = []
        self.sent: list[bytes] = []
        self.talk: list[str] = []  # drawings of the page: asked, begun, finished, in the order they came
        self.fetched: list[str] = []  # addresses of media files
        self.errors: list[str] = []
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._notice)
        self.page.on("websocket", self._overhear)
        self.main = self.page.get_by_test_id("stMain")
        self.side = self.page.get_by_test_id("stSidebar")
        self.page.goto(url)

    def _listen(self, message: Any) -> None:
        address = (message.location or {}).get("url", "")
        if message.type == "error" and not HARMLESS.search(address):
            self.errors.append(f"{message.text} {address}".strip())

    def _notice(self, request: Any) -> None:
        if "/media/" in request.url.replace("/static/media/", ""):  # the fonts are not ours
            self.fetched.append(request.url)

    def _overhear(self, socket: Any) -> None:
        socket.on("framesent", self._say)
        socket.on("framereceived", self._hear)

    def _say(self, message: bytes) -> None:
        self.sent.append(message)
        self.talk += ["asked" for field, _ in fields(message) if field == RERUN_SCRIPT]

    def _hear(self, message: bytes) -> None:
        self.received.append(message)
        for field, value in fields(message):
            if field == NEW_SESSION:
                self.talk.append("begun")
            elif field == SCRIPT_FINISHED and value != BEGINS_AGAIN:
                self.talk.append("finished")

    def close(self) -> None:
        self.page.close()

    def wait_until(self, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        wait_until(condition, seconds, lambda pause: self.page.wait_for_timeout(1000 * pause))

    # ------------------------------------------------------------------ buttons and words

    def ready(self) -> None:
        """The page stands, with both images."""
        self.main.get_by_role("button", name="Start", exact=True).wait_for()
        self.page.locator("canvas[aria-roledescription]").last.wait_for()
        self.wait_until(lambda: self.board("board => board.images.every(image => !image || image.pixels)"))

    def press(self, name: str) -> None:
        self.main.get_by_role("button", name=name, exact=True).click()

    def download(self, name: str) -> bytes:
        """The file behind a button, which may be in Export and share."""
        button = self.page.get_by_role("button", name=name, exact=True)
        if not button.count():
            self.share()
        with self.page.expect_download() as coming:
            button.click()
        return bytes(coming.value.path().read_bytes())

    def share(self) -> None:
        """Open Export and share, and wait for what is in it."""
        opener = self.page.get_by_role("button", name="Export and share")
        if opener.get_attribute("aria-expanded") != "true":
            opener.click()
        self.page.get_by_role("button", name="Presenter mode").last.wait_for()

    def settings(self, *, shown: bool = True) -> None:
        """Open the drawer with the settings, or close it."""
        name = "stExpandSidebarButton" if shown else "stSidebarCollapseButton"
        button = self.page.get_by_test_id(name)
        if button.count() and button.is_visible():
            button.click()
        self.side.get_by_test_id("stSidebarContent").wait_for(state="visible" if shown else "hidden")

    def unfold(self, name: str) -> None:
        """Open a panel, with a key: what stands above may still grow, and a click between two places hits nothing."""
        self.settled()
        self.page.locator("summary", has_text=name).press("Enter")
        self.page.locator("details[open] > summary", has_text=name).wait_for()

    def choose(self, label: str, option: str) -> None:
        """Another option of a select box, whose name may go on with its present value."""
        box = self.page.get_by_role("combobox", name=re.compile(f"{re.escape(label)}$"))
        box.click()
        self.page.get_by_role("option", name=option, exact=True).click()
        self.settled()

    def shut(self) -> None:
        """Close what popped up. One key may not do: it goes to a list inside that is closing already."""
        open_ones = self.page.locator('[data-testid="stPopoverButton"][aria-expanded="true"]')

        def closed() -> bool:
            if open_ones.count():
                self.page.keyboard.press("Escape")
            return not open_ones.count()

        self.wait_until(closed)

    def says(self, text: str | re.Pattern[str]) -> Any:
        found = self.page.get_by_text(text).first
        found.wait_for()
        return found

    def settled(self) -> None:
        """The server has answered the last click, however long it took to begin."""
        self.page.wait_for_timeout(100)  # a widget waits a moment before it tells
        self.wait_until(lambda: "asked" in self.talk)
        asked = len(self.talk) - self.talk[::-1].index("asked")
        self.wait_until(lambda: re.search("begun.*finished", " ".join(self.talk[asked:])))
        self.page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()

    def status(self) -> str:
        return str(self.main.get_by_text(re.compile(r"· iteration [\d,]+ ·")).first.inner_text())

    def iteration(self) -> int:
        found = re.search(r"iteration ([\d,]+)", self.status())
        return int(found[1].replace(",", "")) if found else -1

    def finish(self, number: int = 1) -> None:
        """Run `number` of this session has ended, and the page shows what came of it."""
        ended = self.main.get_by_text(re.compile(rf"^({ENDED}).*· run {number}$|^The run failed:")).first
        ended.wait_for()
        if (told := str(ended.inner_text())).startswith("The run failed"):
            raise RuntimeError(told)
        self.main.get_by_text(re.compile("run A")).first.wait_for(state="attached")  # what stands below a result
        self.wait_until(lambda: self.board("board => board.data.final"))
        self.settled()

    # ------------------------------------------------------------------ the canvas

    def board(self, script: str, argument: Any = None) -> Any:
        """What a JavaScript function of the canvas' board returns."""
        call = f"(root, argument) => root.board && ({script})(root.board, argument)"
        return self.page.locator(".pair-canvas").last.evaluate(call, argument)

    def matrix(self, script: str, argument: Any = None) -> Any:
        """What a JavaScript function of the assignment matrix returns."""
        call = f"(root, argument) => root.matrix && ({script})(root.matrix, argument)"
        return self.page.locator(".matrix-canvas").last.evaluate(call, argument)

    def lines(self) -> list[list[int]]:
        found: list[list[int]] = self.board("board => board.lines.map((line) => [line.i, line.j])")
        return found

    def at(self, side: int, x: float, y: float) -> tuple[float, float]:
        """Where a pixel of an image is on the page."""
        canvas = self.page.locator("canvas[aria-roledescription]").last
        canvas.scroll_into_view_if_needed()
        frame = canvas.bounding_box()
        dx, dy = self.board("(board, [side, point]) => board.toScreen(side, point)", [side, [x, y]])
        return frame["x"] + dx, frame["y"] + dy
