"""Experiment process: run one experiment at a time per server, in a process of its own that writes into a store.

Pages read the store and never wait for the process, which ends when the page that started it is gone. Starting the same
experiment again continues where it stopped.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from experiments.runner import ROOT
from experiments.spec import Experiment
from features.datasets.download import cache_dir
from features.limits import LIMITS

EXPERIMENTS = __name__.replace("ui.jobs.experiment_process", "experiments")  # in a clone and installed
LINE = 4000  # bytes at the end of a log that contain its last line
INTERRUPTED = 130  # exit code of a command that was stopped on request


@dataclass(frozen=True, eq=False)
class Running:
    """The experiment that is running now."""

    experiment: Experiment
    sample: int
    owner: str
    path: Path
    process: subprocess.Popen[bytes]
    began: float = field(default_factory=monotonic)

    @property
    def progress_line(self) -> str:
        """The last line it has printed; before that, how long it has been starting."""
        return last_line(self.path) or f"Python is starting … {monotonic() - self.began:.0f} s"


def store_path(experiment: Experiment) -> Path:
    """The file of an experiment's rows: the same for everybody who runs it, whichever methods are chosen."""
    declared = {**experiment.to_dict(), "methods": []}
    name = hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()[:12]
    return cache_dir() / "experiments" / f"{experiment.name}-{name}.jsonl"


class ExperimentProcess:
    """Starts, monitors and ends the one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Running | None = None
        self._seen = 0.0
        self.failure = ""  # the message of the last process, if it failed

    @property
    def running(self) -> Running | None:
        with self._lock:
            return self._running

    def start(self, experiment: Experiment, sample: int, owner: str) -> None:
        """Run an experiment for one visitor; refused in a sentence while another runs."""
        with self._lock:
            if self._running is not None:
                raise ValueError(
                    f"Another experiment is running on this server ({self._running.experiment.title}). One runs at a "
                    "time: try again when it has ended, or on your own machine: python -m experiments run YOURS.toml."
                )
            path = store_path(experiment)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                forget_old(path.parent)
                declared = path.with_suffix(".json")
                declared.write_text(json.dumps(experiment.to_dict()), encoding="utf-8")
                log = path.with_suffix(".log").open("wb")
            except OSError as error:
                raise ValueError(f"Results cannot be kept in {path.parent} ({error.strerror or error}).") from error
            words = [sys.executable, "-m", EXPERIMENTS, "run", str(declared), "--store", str(path), "--attached"]
            words += ["--sample", str(sample), "--workers", str(LIMITS.experiment_workers)]
            words += ["--memory", str(LIMITS.experiment_gigabytes)]
            with log:
                process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT)
            self._running = Running(replace(experiment), sample, owner, path, process)
            self._seen, self.failure = monotonic(), ""
            threading.Thread(target=self._watch, args=(self._running,), name="experiment process", daemon=True).start()

    def touch(self, owner: str) -> None:
        """Record that this visitor's page is open."""
        with self._lock:
            if self._running is not None and self._running.owner == owner:
                self._seen = monotonic()

    def stop(self, owner: str) -> None:
        """End the visitor's own experiment; its rows stay."""
        running = self.running
        if running is not None and running.owner == owner:
            self._end(running)

    def _end(self, running: Running) -> None:
        running.process.terminate()
        try:
            running.process.wait(10)
        except subprocess.TimeoutExpired:
            running.process.kill()
            running.process.wait()
        self._forget(running)

    def _forget(self, running: Running) -> None:
        with self._lock:
            if self._running is running:
                self._running = None
        if running.process.stdin is not None and not running.process.stdin.closed:
            running.process.stdin.close()

    def _watch(self, running: Running) -> None:
        """Wait until the process ends, or end it when its page has been gone for too long."""
        while running.process.poll() is None:
            try:
                running.process.wait(0.5)
            except subprocess.TimeoutExpired:
                with self._lock:
                    gone = monotonic() - self._seen > LIMITS.patience
                if gone:
                    self._end(running)
        self.failure = failure_of(running)
        self._forget(running)


def failure_of(running: Running) -> str:
    """Why a process failed, in a sentence; empty if it finished or was stopped on request."""
    code = running.process.returncode
    if code in (0, INTERRUPTED, -signal.SIGTERM):
        return ""
    if code < 0:
        return f"The experiment was ended by signal {-code}; its rows are safe, and Resume goes on."
    return last_line(running.path) or "The experiment ended without a message."


def last_line(path: Path) -> str:
    """The last line that the process of a store has printed."""
    with suppress(OSError), path.with_suffix(".log").open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - LINE))
        lines = log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""
    return ""


def forget_old(folder: Path) -> None:
    """Delete the oldest stores: uploads of many visitors must not fill the disk."""
    stores = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    for path in stores[: max(0, len(stores) - LIMITS.stores)]:
        for ending in (".jsonl", ".json", ".log", ".lock"):
            path.with_suffix(ending).unlink(missing_ok=True)
