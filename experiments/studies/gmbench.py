"""The public benchmark of graph matching: our methods on its instances, beside the published values of its 20 methods.

Instances are rebuilt by our own code (`features.datasets.gmbench`), or are any folder of problem files. A method's
value on an instance is told as its gap, (value − best) / |best|, to the best known value; a performance profile counts
the instances within a gap. Ours are measured here. The published ones are figures of S. Haller et al., A Comparative
Study of Graph Matching Algorithms in Computer Vision, ECCV 2022, on their machine.
"""

import argparse
import csv
import io
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from adgm import METHODS, solve
from experiments import runner, store
from experiments.paper import EXPERIMENTS
from experiments.spec import Experiment
from experiments.store import SHIPPED, Content, Record
from experiments.summary import declared
from experiments.trials import load
from features.datasets import DATASETS
from features.datasets.folder import folder_dataset
from features.datasets.gmbench import CITE, INSTANCES, NUMBERS
from features.files.problem_files import open_problem, problems_in
from features.plots.figures import save
from features.plots.theme import FAINT, method_look
from features.tables import Table

GAPS = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0)
WITHIN = 1e-3  # the gap that the benchmark counts as solved
DECLARED = EXPERIMENTS["gmbench"]
LIMITS, CHOSEN = DECLARED.marks, DECLARED.methods
Marks = tuple[float, ...]
BEST_FILE, PUBLISHED_FILE, ROWS_FILE = "gmbench-best.csv", "gmbench-published.csv", "gmbench.jsonl.gz"
PICTURE = "gmbench.png"


def experiment(dataset: str = "gmbench", methods: tuple[str, ...] = CHOSEN, limits: Marks = LIMITS) -> Experiment:
    """The declared one with other methods or time limits, or on other problems."""
    panel = replace(DECLARED.panels[0], dataset=dataset)
    return replace(DECLARED, panels=(panel,), methods=methods, marks=limits, time_limit=max(limits))


@dataclass(frozen=True)
class Case:
    """An instance: the set it belongs to, and the best value known of it, if any."""

    dataset: str
    best: float | None


@dataclass(frozen=True)
class Profile:
    """How many instances of a set a method brings within each of GAPS in so many seconds."""

    dataset: str
    method: str
    seconds: float
    instances: int
    counts: tuple[int, ...]
    published: bool

    def within(self, gap: float = WITHIN) -> int:
        return self.counts[GAPS.index(gap)]


# ---- instances ---------------------------------------------------------------------------------------------------


def rebuilt(folder: Path = SHIPPED) -> list[Case]:
    """The instances that our own code builds, with their best known values."""
    best = best_values(folder)
    return [Case(one.dataset, best[one.dataset, one.number]) for one in INSTANCES]


def in_folder(folder: Path) -> list[Case]:
    """The problem files of a folder; the optimum beside one is its best value."""
    return [Case(folder.name, open_problem(path).optimum) for path in problems_in(folder)]


def best_values(folder: Path = SHIPPED) -> dict[tuple[str, int], float]:
    with (folder / BEST_FILE).open(encoding="utf-8") as file:
        return {(row["dataset"], int(row["instance"])): float(row["best"]) for row in csv.DictReader(file)}


# ---- our rows ----------------------------------------------------------------------------------------------------


def warm(spec: Experiment) -> None:
    """What is compiled on first use is compiled before any clock starts."""
    recipe = next(spec.units()).setup
    problem = recipe.problem(load(recipe)[0])
    for key in spec.methods:
        if not METHODS[key].refusal(problem):
            solve(problem, METHODS[key].make(), time_limit=5.0)


def gap(value: float, best: float) -> float:
    """How far a value is above the best known, as a share; figures are rounded, so some are a trifle below."""
    return (value - best) / max(abs(best), 1e-12)


def counted(gaps: Sequence[float]) -> tuple[int, ...]:
    """How many are within each of GAPS."""
    return tuple(int(np.sum(np.asarray(gaps) <= most)) for most in GAPS)


def profiles(rows: Iterable[Record], spec: Experiment, cases: Sequence[Case]) -> list[Profile]:
    """Of our own rows. Where no best value is known, it is the best of these."""
    taken = [row for row in rows if row["status"] != "refused" and row["method"] in spec.methods]
    lowest: dict[int, float] = {}
    for row in taken:
        number, energy = row["at"]["number"], row.get("energy")
        lowest[number] = min(lowest.get(number, np.inf), np.inf if energy is None else energy)
    groups: dict[tuple[str, str, float], list[float]] = {}
    for row in taken:
        number = row["at"]["number"]
        case = cases[number - 1]
        best = lowest[number] if case.best is None else case.best
        for limit in spec.marks:
            found = row.get("by", {}).get(f"{limit:g}")  # none: failed, or nothing found by then
            mine = groups.setdefault((case.dataset, row["method"], limit), [])
            mine.append(np.inf if found is None else gap(found, best))
    return [Profile(*key, len(gaps), counted(gaps), False) for key, gaps in groups.items()]


# ---- published figures -------------------------------------------------------------------------------------------


def derived(values: Path, optima: Path) -> tuple[str, str]:
    """(best values, profiles) as CSV from the benchmark's own figures, for the instances that we rebuild."""
    with optima.open(encoding="utf-8") as file:
        best = {
            (row["dataset"], int(row["instance"])): float(row["best_value_300s"])
            for row in csv.DictReader(file)
            if int(row["instance"]) in NUMBERS.get(row["dataset"], ())
        }
    groups: dict[tuple[str, str, float], list[float]] = {}
    with values.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            at = row["dataset"], int(row["instance"])
            if at in best:
                key = row["dataset"], row["method"], float(row["seconds"])
                groups.setdefault(key, []).append(gap(float(row["value"]), best[at]))
    first, second = io.StringIO(), io.StringIO()
    csv.writer(first, lineterminator="\n").writerows(
        [("dataset", "instance", "best"), *((*at, value) for at, value in sorted(best.items()))]
    )
    header = ("dataset", "method", "seconds", "instances", *(f"within_{most:g}" for most in GAPS))
    lines = [(d, m, f"{s:g}", len(gaps), *counted(gaps)) for (d, m, s), gaps in sorted(groups.items())]
    csv.writer(second, lineterminator="\n").writerows([header, *lines])
    return first.getvalue(), second.getvalue()


def published(folder: Path = SHIPPED) -> list[Profile]:
    """The profiles of the benchmark's 20 methods on the instances that we rebuild."""
    with (folder / PUBLISHED_FILE).open(encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    return [Profile(d, m, float(s), int(n), tuple(map(int, counts)), True) for d, m, s, n, *counts in lines]


# ---- what is shown -----------------------------------------------------------------------------------------------


def total(found: Sequence[Profile], method: str, seconds: float, is_published: bool) -> Profile | None:
    """All sets together."""
    mine = [p for p in found if (p.method, p.seconds, p.published) == (method, seconds, is_published)]
    if not mine:
        return None
    counts = tuple(int(n) for n in np.sum([p.counts for p in mine], axis=0))
    return Profile("all", method, seconds, sum(p.instances for p in mine), counts, is_published)


def table(found: Sequence[Profile], limits: Sequence[float] = LIMITS) -> Table:
    """Instances within 0.1 % of the best known value: a line per method, the best first; whose values they are."""
    sets = list(dict.fromkeys(p.dataset for p in found))
    lines: list[tuple[tuple[int, ...], tuple[str, ...], bool]] = []
    for method, is_published in dict.fromkeys((p.method, p.published) for p in found):
        cells, order = [], []
        for limit in limits:
            whole = total(found, method, limit, is_published)
            order.append(-1 if whole is None else whole.within())
            for dataset in sets:
                one = [
                    p
                    for p in found
                    if (p.dataset, p.method, p.seconds, p.published) == (dataset, method, limit, is_published)
                ]
                cells.append(f"{one[0].within()}/{one[0].instances}" if one else "–")
            cells.append("–" if whole is None else f"{whole.within()}/{whole.instances}")
        label = method if is_published else METHODS[method].label
        lines.append((tuple(order), (label, "published" if is_published else "ours", *cells), is_published))
    lines.sort(key=lambda line: (line[0], not line[2]), reverse=True)
    header = ("method", "value", *(f"{name}, {limit:g} s" for limit in limits for name in (*sets, "all")))
    return Table(header, tuple(line[1] for line in lines), align="ll" + "r" * (len(header) - 2))


def figure(found: Sequence[Profile], seconds: float = 1.0) -> Figure:
    """The performance profile: the share of all instances within a gap, ours in colour, the published ones in grey."""
    drawing = Figure(figsize=(8, 4.6), dpi=150, facecolor="white", layout="constrained")
    axes = drawing.add_subplot()
    names = dict.fromkeys((p.method, p.published) for p in found)
    whole = [p for name, told in names if (p := total(found, name, seconds, told)) is not None]
    best = sorted((p for p in whole if p.published), key=lambda p: -p.within())[:4]
    ours = [p for p in whole if not p.published]
    for p in sorted(whole, key=lambda p: not p.published):
        share = np.array(p.counts) / p.instances
        if not p.published:
            look, label = method_look(p.method), f"{METHODS[p.method].label} (ours)"
            over = sum(p.counts == other.counts for other in ours[1 + ours.index(p) :])  # drawn on it: both are seen
            axes.plot(
                GAPS, share, lw=2 + 3 * over, color=look.colour, ls=look.stroke, marker=look.marker, ms=4, label=label
            )
        elif p in best:
            axes.plot(GAPS, share, lw=1.4, color=FAINT, ls=("-", "--", "-.", ":")[best.index(p)], label=p.method)
        else:
            axes.plot(GAPS, share, lw=0.6, color=FAINT, alpha=0.5)
    axes.axvline(WITHIN, color=FAINT, lw=0.8, ls=":")
    axes.set(xscale="log", xlim=(GAPS[0], GAPS[-1]), ylim=(0, 1.02))
    axes.set_xlabel(f"gap to the best known value, after {seconds:g} s")
    axes.set_ylabel("instances")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return drawing


def text(content: Content, spec: Experiment, cases: Sequence[Case], with_published: bool = True) -> str:
    """Markdown: what the numbers are, and the table."""
    machines = ", ".join(sorted({f"{one['cpu']}, {one['cores']} cores" for one in content.machines.values()})) or "none"
    head = f"Instances within 0.1 % of the best known value. Ours: measured on {machines}."
    if with_published:
        head += f" Published: {CITE}, on their machine; the same instances."
    found = profiles(content.rows.values(), spec, cases)
    told = [head, table(found + (published() if with_published else []), spec.marks).markdown()]
    return "\n\n".join([*told, *times(content.rows.values(), spec)])


def times(rows: Collection[Record], spec: Experiment) -> list[str]:
    """A sentence per method: how long it computed, how soon it had its best, and how often it proved that optimal."""
    sentences = []
    for method in spec.methods:
        mine = [row for row in rows if row["method"] == method and row.get("seconds_to_best") is not None]
        if mine:
            spent, to_best = (float(np.median([row[name] for row in mine])) for name in ("seconds", "seconds_to_best"))
            proofs = sum(bool(row.get("proved")) for row in mine)
            sentences.append(
                f"{METHODS[method].label}: {spent:.3f} s in the median, {to_best:.3f} s to the best; "
                f"{proofs} of {len(mine)} proved optimal."
            )
    return sentences


def summary(content: Content) -> tuple[str, Figure | None]:
    """What there is to tell of the rebuilt instances, and their performance profile."""
    spec, cases = declared(content), rebuilt()
    found = profiles(content.rows.values(), spec, cases) + published()
    return text(content, spec, cases), figure(found, spec.marks[0])


# ---- the command -------------------------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, metavar="DIR", help="problem files instead of the rebuilt instances")
    parser.add_argument("--methods", default=",".join(CHOSEN), metavar="KEY,KEY,…", help=f"({','.join(CHOSEN)})")
    parser.add_argument("--limits", default="1,10", metavar="SECONDS,…", help="what each is given (1,10)")
    parser.add_argument(
        "--figures", type=Path, metavar="DIR", help="only derive the published profiles from this folder"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="write rows, table and profile to this folder")


def run(options: Any) -> int:
    out: Path = options.output or Path("out")
    if options.output is not None or options.figures is not None:
        out.mkdir(parents=True, exist_ok=True)
    if options.figures is not None:
        best, told = derived(options.figures / "gmbench_published.csv", options.figures / "gmbench_optima.csv")
        (out / BEST_FILE).write_text(best, encoding="utf-8")
        (out / PUBLISHED_FILE).write_text(told, encoding="utf-8")
        return 0
    cases, dataset = rebuilt(), DATASETS["gmbench"]
    if options.folder is not None:
        cases, dataset = in_folder(options.folder), folder_dataset(options.folder)
        DATASETS[dataset.key] = dataset
    limits = tuple(sorted(float(word) for word in options.limits.split(",")))
    spec = experiment(dataset.key, tuple(key.strip() for key in options.methods.split(",")), limits)
    path = Path("runs") / f"{dataset.key}-{'-'.join(f'{limit:g}' for limit in limits)}s.jsonl"
    runner.check_data(spec)
    if runner.left(list(spec.units()), store.read(path)):
        warm(spec)
    runner.finished(spec, path)
    content, is_rebuilt = store.read(path), options.folder is None
    print(text(content, spec, cases, is_rebuilt))
    if options.output is not None:
        store.pack(content, out / ROWS_FILE)
        found = profiles(content.rows.values(), spec, cases) + (published() if is_rebuilt else [])
        (out / PICTURE).write_bytes(save(figure(found, limits[0]), "png"))
    return 0
