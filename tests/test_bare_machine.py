"""A machine on which little works: nothing can be written, nobody is reached, and the clock is wrong."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from experiments.paper import EXPERIMENTS
from experiments.tools import load
from experiments.tools.browser import PATIENCE, ROOT, serving
from experiments.tools.load import Visitor
from ui.jobs.experiment_process import ExperimentProcess

# A view of this machine's disks in which the checkout is read-only and the temporary folders are full.
ALONE = ["unshare", "--map-root-user", "--mount", "sh", "-ec"]
SHUT = """
root=$1; shift
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
for place in /tmp /var/tmp /dev/shm; do
    mount -t tmpfs -o size=4k none "$place"
    yes > "$place/full" 2> /dev/null || true
done
cd "$root"
exec "$@"
"""
# The app's own command, with a clock that stands in 1970 and a network that ends at this machine.
BARE = """
import socket, sys, time
sys.path.insert(0, {root!r})
time.time = lambda: 86400.0
reach = socket.socket.connect
def connect(self, address):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
        raise OSError(101, "Network is unreachable")
    return reach(self, address)
socket.socket.connect = connect
from ui.shell.launch import main
main()
"""


def shut(*command: str) -> list[str]:
    return [*ALONE, SHUT, "sh", str(ROOT), *command]


def can_be_shut() -> bool:
    return shutil.which("unshare") is not None and not subprocess.run(shut("true"), capture_output=True).returncode


@pytest.mark.long
def test_a_run_begins_where_nothing_can_be_written_nobody_is_reached_and_the_clock_is_wrong(monkeypatch):
    if not can_be_shut():
        pytest.skip("a read-only view of the disks needs namespaces, which this machine does not give")
    monkeypatch.setattr(load, "OVER", re.compile(rb'"status": ?"(Running) [^"]*iteration [1-9]'))  # enough of it
    bare = dict.fromkeys(("XDG_CACHE_HOME", "ADGM_DATA_DIR", "NUMBA_CACHE_DIR", "TMPDIR"))
    command = shut(sys.executable, "-c", BARE.format(root=str(ROOT)))
    with serving(command=command, HOME="/proc/nobody", **bare) as server:
        visitor = Visitor(0, server.url, monotonic() + PATIENCE)
        visitor.visit()
        assert visitor.outcome == "finished", server.written()
        assert "Compiled kernels cannot be kept" in server.written()
        assert not server.complaints()


def test_results_that_cannot_be_kept_are_told_before_anything_runs(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", f"{__file__}/folder")
    process = ExperimentProcess()
    with pytest.raises(ValueError, match=r"^Results cannot be kept in .*folder"):
        process.start(EXPERIMENTS["synthetic"], 1, "ann")
    assert process.running is None


DATES = {"features/explain/run_book.py", "experiments/runner.py"}  # where a date is written down, and nothing measured


def wall_clocks(path: Path) -> Iterator[str]:
    """What a module asks of the clock that people, and other machines, may set."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr="time" | "time_ns" as name):
                yield name
            case ast.Attribute(value=ast.Name(id="datetime" | "date"), attr="now" | "utcnow" | "today" as name):
                yield name
            case ast.ImportFrom(module="time", names=names):
                yield from (one.name for one in names if one.name in ("time", "time_ns"))


def test_nothing_is_measured_with_a_clock_that_can_be_set():
    rooms = [path for room in ("adgm", "features", "ui", "experiments") for path in (ROOT / room).rglob("*.py")]
    asking = {path.relative_to(ROOT).as_posix(): list(wall_clocks(path)) for path in rooms}
    assert {name: asked for name, asked in asking.items() if asked} == {name: ["now"] for name in DATES}
