"""The command `solve`: any matching problem in a file, with a line for every improvement."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from adgm import METHODS, Problem, State, solve
from adgm.bounds.bound import bound, refusal
from adgm.bounds.branch_and_bound import tolerance
from adgm.machine.computing import ProcessorTime
from adgm.rounding import Assignment, best_rounding
from features.cli.base import listed, several
from features.files.problem_files import ProblemFile, ProblemFileError, open_problem, write_solution, write_truth
from features.judge.metrics import BETTER, WORD, bound_number, matched_pairs, number, score
from features.parameters import parse_assignments

EVERY = 10  # iterations between two looks

USAGE = "python -m features solve FILE  [options]"
ABOUT = """\
Solve a matching problem from a file: .dd, .dd.xz (gmbench), QAPLIB's .dat, or NPZ.

With --json every improvement is a line of JSON: the iteration, the seconds of computing, the value (minimised), the
best lower bound so far (null: none yet) and the assignment, the partner of every left node (null: none). A last line
says how it ended: the status, the seconds of computing and those until the best was found.
"""
EXAMPLES = """\
examples:
  python -m features solve problem.dd --method adgm+ --time-limit 10 --json
  python -m features solve tai20a.dat --bound 60 -o tai20a.sln
"""


def add(commands: Any) -> None:
    command = commands.add_parser("solve", description=ABOUT, epilog=EXAMPLES, usage=USAGE)
    command.add_argument("problem", metavar="FILE", help="the problem; .opt, .gt and .sln beside it are read too")
    command.add_argument("--method", metavar="KEY", default="adgm+", help="who minimises the cost (adgm+)")
    several(command, "--option", "NAME=VALUE", "an option of the method; may be repeated")
    command.add_argument("--time-limit", type=float, metavar="SECONDS", help="computing time, then the best so far")
    command.add_argument("--bound", type=float, metavar="SECONDS", help="then look for a proof, for so long")
    command.add_argument("--json", action="store_true", help="a line of JSON for every improvement")
    command.add_argument(
        "-o", "--output", metavar="FILE", help="write the assignment: .sln for QAPLIB, else a .gt list"
    )
    command.set_defaults(run=run)


class Progress:
    """Watches a run and reports what is better than anything before."""

    def __init__(self, problem: Problem, aloud: bool) -> None:
        self.problem, self.aloud = problem, aloud
        self.clock = ProcessorTime()
        self.iteration = 0
        self.best: Assignment | None = None
        self.value, self.bound = np.inf, -np.inf

    def __call__(self, state: State) -> None:
        self.iteration = state.iteration
        if state.best is None:
            self.found(*best_rounding(self.problem, state.x))
        else:
            self.found(state.best, state.best_energy, getattr(state, "lower", -np.inf))

    def found(self, assignment: Assignment, value: float, lower: float = -np.inf) -> None:
        """Whatever somebody claims; only news is told."""
        better, tighter = value < self.value, lower > self.bound
        if better:
            self.best, self.value = assignment, value
        self.bound = max(self.bound, lower)
        if self.aloud and (better or tighter):
            print(json.dumps(self.line()), flush=True)

    def line(self) -> dict[str, Any]:
        assert self.best is not None
        return {
            "iteration": self.iteration,
            "time": round(self.clock(), 6),
            "value": self.value,
            "bound": self.bound if np.isfinite(self.bound) else None,
            "assignment": partners(self.problem, self.best),
        }


def partners(problem: Problem, assignment: Assignment) -> list[Any]:
    """The partner of every left node, None for none; a list of them where a node may have several."""
    found = matched_pairs(problem, assignment)
    if problem.rows == "any":
        return [found[found[:, 0] == i, 1].tolist() for i in range(problem.shape[0])]
    partner: list[Any] = [None] * problem.shape[0]
    for i, s in found.tolist():
        partner[i] = s
    return partner


def run(args: argparse.Namespace) -> None:
    file = open_problem(args.problem)
    problem = file.problem
    entry = METHODS[listed(args.method, METHODS, "method")]
    if sentence := entry.refusal(problem):
        raise ValueError(sentence)
    try:
        method = entry.make(**parse_assignments(args.option, "option"))
    except TypeError as error:
        raise ValueError(f"{entry.label} does not take these options: {error}.") from error
    progress = Progress(problem, args.json)
    with progress.clock.working():
        result = solve(problem, method, watch=progress, every=EVERY, time_limit=args.time_limit)
    proved = getattr(result.state, "proved", False)
    progress.iteration = result.iterations
    lower = result.energy - tolerance(result.energy, problem.spread) if proved else -np.inf
    progress.found(result.assignment, result.energy, lower)
    if args.bound is not None and not proved:
        _prove(problem, progress, args.bound)
    if args.json:
        spent = {"seconds": round(result.seconds, 6), "seconds_to_best": round(result.seconds_to_best, 6)}
        note = {"note": result.note} if result.note else {}
        print(json.dumps({**progress.line(), "status": result.status, **spent, **note}), flush=True)
    else:
        how = f"{result.status} after {result.iterations} iterations, the best after {result.seconds_to_best:.2f} s"
        print(_summary(file, progress, how) + (f"\n{result.note}" if result.note else ""))
    if args.output is not None:
        _write(args.output, file, progress)


def _prove(problem: Problem, progress: Progress, seconds: float) -> None:
    if sentence := refusal(problem):
        raise ValueError(sentence)
    with progress.clock.working():
        found = bound(problem, progress.best, time_limit=seconds, watch=progress)
    progress.found(found.best, found.best_energy, found.lower)


def _summary(file: ProblemFile, progress: Progress, how: str) -> str:
    word = WORD[file.sense]
    matched = int(np.sum(progress.best)) if progress.best is not None else 0
    lines = [file.name, f"matched    {matched} of {file.problem.shape[0]} left and {file.problem.shape[1]} right nodes"]
    lines.append(f"{word:<10} {number(score(progress.value, file.sense))} ({BETTER[file.sense]})")
    little = tolerance(progress.value, file.problem.spread)
    if progress.bound >= progress.value - 1.001 * little:
        lines.append(f"bound      proved optimal: no assignment is better by more than {1.01 * little:.3g}")
    elif np.isfinite(progress.bound):
        lines.append(f"bound      {bound_number(progress.bound, file.sense)}")
    if file.optimum is not None:
        lines.append(f"optimum    {number(score(file.optimum, file.sense))}")
    lines.append(f"run        {how}, {progress.clock():.2f} s")
    return "\n".join(lines)


def _write(path: str, file: ProblemFile, progress: Progress) -> None:
    found = partners(file.problem, progress.best) if progress.best is not None else []
    if file.problem.rows == "any":
        raise ProblemFileError("a left node may have several partners here, and these files hold one each.")
    partner = np.array([-1 if s is None else s for s in found], np.int64)
    data = write_solution(partner, progress.value) if path.lower().endswith(".sln") else write_truth(partner)
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise ValueError(f"{path} could not be written: {(error.strerror or str(error)).lower()}.") from error
    print(f"written    {path}", file=sys.stderr)
