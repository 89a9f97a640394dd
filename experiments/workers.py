"""Worker processes on this machine, or those of a Dask cluster: groups go in, rows come out, nothing is lost.

Local workers talk over one pipe each. A worker whose parent is gone reads the end of its pipe and ends; a worker that
dies or overruns is replaced, the unit it was at is tried once more, and then becomes a row with its reason. That is why
they are our own: a ProcessPoolExecutor is broken as a whole when one of its processes dies, cannot end a task that
overruns, and gives a group's rows only when all of them are done.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from time import monotonic

from experiments.spec import Unit
from experiments.store import Record
from experiments.trials import Group, failed, limit_memory, machine, peak_memory, run_group
from features import plugins

SPAWN = get_context("spawn")
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES} | {"VECLIB_MAXIMUM_THREADS": "1", "ADGM_THREADS": "1"}
QUEUED = 2  # groups that a worker has at hand, so that it never waits for the disk
TRIES = 2  # of a unit whose worker died
GRACE = (2.0, 60.0)  # a unit may take so many times its limit, and so many seconds more for building, then it is ended
STILLBORN = 3
MEMORY = 4 << 30


@dataclass
class Tally:
    """What is known about the workers, beside their rows."""

    peak: dict[str, int] = field(default_factory=dict)  # most bytes, by worker
    lost: int = 0  # workers that died or were ended
    stillborn: int = 0  # workers that died before they were ready
    doing: str = ""  # what they are at, for whoever waits for rows


# ---- in this process ---------------------------------------------------------------------------------------------


def run_here(groups: Sequence[Group], tally: Tally) -> Iterator[list[Record]]:
    """One after another, without any worker."""
    for group in groups:
        for row in run_group(group):
            yield [row]
        tally.peak["this process"] = peak_memory()


# ---- local workers -----------------------------------------------------------------------------------------------


def serve(pipe: Connection, memory: int) -> None:
    """A worker's life: groups in; rows and a word at each group's end out."""
    limit_memory(memory)
    plugins.load_all()
    try:
        pipe.send(("ready", None))
        while True:
            group: Group = pipe.recv()
            for row in run_group(group):
                pipe.send(("row", row))
            pipe.send(("done", peak_memory()))
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return


@contextmanager
def one_thread() -> Iterator[None]:
    """New processes take over the environment: one thread each, the cores being busy with the other workers."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Worker:
    """A process and what it has at hand."""

    def __init__(self, number: int, memory: int) -> None:
        self.number = number
        self.pipe, theirs = SPAWN.Pipe()
        with one_thread():
            self.process = SPAWN.Process(target=serve, args=(theirs, memory), daemon=True, name=f"worker {number}")
            self.process.start()
        theirs.close()
        self.groups: deque[Group] = deque()
        self.finished = 0  # rows of the first group
        self.since: float | None = None  # when the current unit began; None while the worker starts

    def give(self, group: Group) -> None:
        if not self.groups and self.since is not None:
            self.since = monotonic()
        self.groups.append(group)
        try:
            self.pipe.send(group)
        except OSError:
            return  # it is gone: the next wait tells, and its groups are given to another

    @property
    def unit(self) -> Unit | None:
        """What it is at."""
        left = self.groups[0].units[self.finished :] if self.groups else ()
        return left[0] if left else None

    def overrun(self, grace: tuple[float, float]) -> bool:
        if self.unit is None or self.since is None:
            return False
        return monotonic() - self.since > grace[0] * self.unit.time_limit + grace[1]

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_local(
    groups: Sequence[Group],
    workers: int,
    tally: Tally,
    *,
    memory: int = MEMORY,
    grace: tuple[float, float] = GRACE,
) -> Iterator[list[Record]]:
    """Rows in the order in which they are finished, those that came at once together; none while there are none."""
    waiting = deque(groups)
    tries: dict[str, int] = {}
    team = [Worker(number, memory) for number in range(1, min(workers, len(groups)) + 1)]
    tally.doing = doing(team, len(groups))
    try:
        yield []
        while waiting or any(worker.groups for worker in team):
            for worker in team:
                while waiting and len(worker.groups) < QUEUED:
                    worker.give(waiting.popleft())
            ready = wait([worker.pipe for worker in team], timeout=1.0)
            rows: list[Record] = []
            for at, worker in enumerate(team):
                alive = True
                if worker.pipe in ready:
                    alive = receive(worker, rows, tally)
                late = alive and worker.overrun(grace)
                if late or not alive:
                    worker.end()
                    rows += recovered(worker, waiting, tries, late, tally)
                    team[at] = Worker(worker.number, memory)
            tally.doing = doing(team, len(groups))
            yield rows
    finally:
        for worker in team:
            worker.end()


def doing(team: Sequence[Worker], total: int) -> str:
    """What the workers are at, in a few words."""
    if all(worker.since is None for worker in team):
        return f"{len(team)} worker{'s are' if len(team) > 1 else ' is'} starting"
    at = [(worker.groups[0], worker) for worker in team if worker.groups and worker.since is not None]
    if not at:
        return ""
    group, worker = max(at, key=lambda one: one[0].number)
    work = "building" if not worker.finished else "solving"
    return f"{work} problem {group.number + 1:,} of {total:,}"


def receive(worker: Worker, rows: list[Record], tally: Tally) -> bool:
    """Take everything a worker has sent; False if it is gone."""
    try:
        while worker.pipe.poll():
            kind, content = worker.pipe.recv()
            worker.since = monotonic()
            if kind == "row":
                rows.append(content)
                worker.finished += 1
            elif kind == "done":
                worker.groups.popleft()
                worker.finished = 0
                tally.peak[f"worker {worker.number}"] = max(content, tally.peak.get(f"worker {worker.number}", 0))
    except (EOFError, OSError):
        return False
    return True


def recovered(worker: Worker, waiting: deque[Group], tries: dict[str, int], late: bool, tally: Tally) -> list[Record]:
    """Give a lost worker's groups back to those who wait, and the unit that it was at a row if it is to blame."""
    rows: list[Record] = []
    groups = list(worker.groups)
    tally.lost += 1
    if worker.since is None:
        tally.stillborn += 1
        if tally.stillborn > STILLBORN:
            raise RuntimeError(f"Workers end before they can start (exit code {worker.process.exitcode}).")
    elif groups:
        left = groups[0].units[worker.finished :]
        if left:
            tries[left[0].key] = tries.get(left[0].key, 0) + 1
        if left and late:
            spent = monotonic() - (worker.since or monotonic())
            rows.append(failed(left[0], f"It was ended after {spent:.0f} s, its limit being {left[0].time_limit:g} s."))
        elif left and tries[left[0].key] >= TRIES:
            how = f"signal {-code}" if (code := worker.process.exitcode or 0) < 0 else f"exit code {code}"
            rows.append(failed(left[0], f"Its worker died {TRIES} times ({how}); it may need more memory."))
        left = left[len(rows) :]
        groups[0] = replace(groups[0], units=left)
    waiting.extendleft(group for group in reversed(groups) if group.units)
    return rows


# ---- Dask --------------------------------------------------------------------------------------------------------


def group_rows(group: Group) -> tuple[list[Record], Record, int]:
    """A whole group, as a task on a cluster."""
    return list(run_group(group)), machine(), peak_memory()


def run_dask(groups: Sequence[Group], address: str, tally: Tally) -> Iterator[list[Record]]:
    """Groups as tasks of a Dask scheduler; those of a lost worker are run again by another."""
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise ValueError("A scheduler was given, but Dask is not installed here: pip install distributed.") from error
    try:
        client = distributed.Client(address, timeout="20s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(f"There is no Dask scheduler at {address} ({error}).") from error
    with client:
        names = {group.number: f"adgm-{os.getpid()}-{group.number}" for group in groups}
        tasks = {client.submit(group_rows, group, pure=False, key=names[group.number]): group for group in groups}
        try:
            for task in distributed.as_completed(list(tasks), loop=client.loop):
                group = tasks.pop(task)
                if task.status == "error":
                    reason = f"Its worker on the cluster failed: {task.exception()}"[:300]
                    yield [failed(unit, reason) for unit in group.units]
                    continue
                rows, where, peak = task.result()
                tally.peak[where["id"]] = max(peak, tally.peak.get(where["id"], 0))
                yield [where, *rows]
                task.release()
        finally:
            client.cancel(list(tasks))
