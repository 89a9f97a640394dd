"""Does it get stuck? One run with each penalty, and ADGM+, against the best energy that anything ever found here.

House and Cars pairs with odd numbers (the left frame, the pair) are for tuning; the table is made of the even ones and
of all of Hotel and Motorbikes. The best energies live in a file that can only improve.
"""

import csv
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields, replace
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from adgm import ADGM, METHODS, Problem, solve
from adgm.rounding import hungarian
from adgm.run import Method
from adgm.search import polish
from adgm.solver import AUTO
from features.datasets import DATASETS
from features.models import MODELS
from features.pairs import Pair

RESULTS = Path(__file__).parents[1] / "assets" / "results"
BEST_KNOWN, ROWS = RESULTS / "best_known.csv", RESULTS / "stuck.csv"
SAME = 1e-6  # energies closer than this, relative, are the same
GAPS = range(10, 101, 10)
TUNED_ON = {"house": 1, "cars": 1}  # the remainder by 2 of the pairs that were used for tuning
THOUSANDTHS = (1, 3, 10, 30, 100)


@dataclass(frozen=True)
class Group:
    """Pairs of one data set under one model."""

    dataset: str
    model: str
    size: int  # points of a sequence's left frame, outliers of a photograph

    @property
    def frames(self) -> bool:
        return self.dataset in ("house", "hotel")

    def __str__(self) -> str:
        size = f"{self.size} vs 30" if self.frames else f"+{self.size}"
        return f"{self.dataset.capitalize()} {self.model} {size}"


SEQUENCES, PHOTOS = ("house", "hotel"), ("cars", "motorbikes")
GROUPS: tuple[Group, ...] = (
    *(Group(name, "B", size) for name in SEQUENCES for size in (10, 20, 30)),
    *(Group(name, "C", size) for name in PHOTOS for size in (0, 20, 40)),
    *(Group("house", "third", size) for size in (10, 20)),
    *(Group(name, "third", size) for name in PHOTOS for size in (0, 8, 16)),
    *(Group(name, "A", 30) for name in SEQUENCES),
)
PICTURED = tuple(f"House B {size} vs 30" for size in (10, 20, 30))
COLOURS = ("#0072b2", "#d55e00", "#009e73")
SINGLE = {f"{k} n/1000": k for k in THOUSANDTHS}


@dataclass(frozen=True)
class Row:
    """One method on one pair."""

    group: str
    pair: str
    method: str
    energy: float
    best: float  # the best known
    truth: float  # the energy of the true matching; NaN where it leaves a point unmatched that must be
    iterations: int
    seconds: float  # of processor time, all threads
    accuracy: float
    lanes: int = 1
    agreeing: int = 1

    @property
    def reached(self) -> bool:
        return same_or_better(self.energy, self.best)

    @property
    def beaten_by_truth(self) -> bool:
        return bool(np.isfinite(self.truth)) and not same_or_better(self.energy, self.truth)


def same_or_better(energy: float, other: float) -> bool:
    return energy <= other + SAME * max(abs(other), 1e-12)


def methods(problem: Problem) -> dict[str, Method[Any]]:
    """What is compared: ADGM+, one run that sets its penalty itself, and one with each multiple of n.

    "auto" rounds often and polishes what it rounds; "auto, bare" does neither, like the runs with a multiple of n.
    """
    fixed = {name: ADGM(rho0=k * problem.n / 1000) for name, k in SINGLE.items()}
    bare = ADGM(**{**AUTO, "round_every": 0, "polish": False})
    return {"adgm+": METHODS["adgm+"].make(), "auto": METHODS["adgm"].make(), "auto, bare": bare, **fixed}


def chosen(group: Group, pairs: int, *, tuning: bool = False, seed: int = 0) -> list[dict[str, int]]:
    """What to load: that many pairs of frames, spread over the gaps; of photographs all there are, at most so many."""
    parity = TUNED_ON.get(group.dataset)
    if tuning and parity is None:
        raise ValueError(f"nothing is tuned on {group.dataset}; use one of {', '.join(TUNED_ON)}")

    def fits(number: int) -> bool:
        return parity is None or (number % 2 == parity) == tuning

    count = DATASETS[group.dataset].count or 0
    if not group.frames:
        numbers = [k for k in range(1, count + 1) if fits(k)]
        return [{"number": k, "outliers": group.size, "seed": k} for k in numbers[:pairs]]
    rng = np.random.default_rng(seed)
    lefts = {gap: rng.permutation([left for left in range(count - gap) if fits(left)]) for gap in GAPS}
    places = [(gap, turn) for turn in range(count) for gap in GAPS if turn < len(lefts[gap])]
    frames = [(int(lefts[gap][turn]), gap) for gap, turn in places[:pairs]]
    return [{"left": left, "right": left + gap, "points": group.size, "seed": 0} for left, gap in frames]


def spelled(options: Mapping[str, int]) -> str:
    """The pair's name in the files."""
    return " ".join(f"{name}={value}" for name, value in options.items())


def usable(group: Group, options: Mapping[str, int]) -> Pair | None:
    """The pair; None where the photograph has fewer outliers than asked for."""
    try:
        return DATASETS[group.dataset].load(images=False, **options)
    except ValueError:
        return None


def truth_energy(problem: Problem, pair: Pair) -> float:
    assert pair.truth is not None
    if (pair.truth < 0).any() and pair.shape[0] <= pair.shape[1]:
        return float("nan")
    x = np.zeros(problem.shape)
    rows = np.flatnonzero(pair.truth >= 0)
    x[rows, pair.truth[rows]] = 1.0
    return problem.energy(x)


# What looks for the best known energy besides the methods that are measured.
RIVALS = tuple(key for key in METHODS if key not in ("adgm", "adgm+", "adgm1"))


def search_long(problem: Problem, restarts: int, seed: int = 0, rivals: Iterable[str] = RIVALS) -> float:
    """The best of many searches from random matchings and of every method that takes the problem, polished."""
    rng = np.random.default_rng(seed)
    best = np.inf
    for _ in range(restarts):
        best = min(best, problem.energy(polish(problem, hungarian(problem, rng.random(problem.n)))[0]))
    for key in rivals:
        if not METHODS[key].refusal(problem):
            result = solve(problem, METHODS[key].make(), time_limit=2.0)
            best = min(best, result.energy, problem.energy(polish(problem, result.assignment)[0]))
    return best


def measure(
    group: Group, options: dict[str, int], restarts: int, seed: int, rivals: Sequence[str]
) -> tuple[list[Row], float]:
    """The rows of one pair, and the best energy that anything found for it; nothing if it has too few outliers."""
    pair = usable(group, options)
    if pair is None:
        return [], np.inf
    problem = MODELS[group.model].build(pair)
    truth = truth_energy(problem, pair)
    found = []
    for name, method in methods(problem).items():
        began = process_time()
        result = solve(problem, method)
        row = Row(
            group=str(group),
            pair=spelled(options),
            method=name,
            energy=result.energy,
            best=np.inf,
            truth=truth,
            iterations=result.iterations,
            seconds=process_time() - began,
            accuracy=pair.accuracy(result.matching),
            lanes=len(getattr(result.state, "lanes", "1")),
            agreeing=getattr(result.state, "agreeing", 1),
        )
        found.append(row)
    long = search_long(problem, restarts, seed, rivals) if restarts or rivals else np.inf
    return found, min(long, truth if np.isfinite(truth) else np.inf, *(row.energy for row in found))


def run(
    groups: Sequence[Group] = GROUPS,
    pairs: int = 40,
    *,
    restarts: int = 0,
    tuning: bool = False,
    seed: int = 0,
    store: Path | None = BEST_KNOWN,
    record: Path | None = None,
    rivals: Iterable[str] = (),
    workers: int = 0,
    watch: Callable[[Row], object] | None = None,
) -> list[Row]:
    """Rows for `pairs` pairs of each group; `watch(row)` sees each as it comes.

    `restarts`, `rivals`: of the long search that sets the best known energy, besides everything measured here and
    what `store` holds; what is better goes back there. Rows go to the file `record`, too, and what it holds already is
    not run again. `workers`: processes, 0 for none.
    """
    done = read_rows(record)
    recorded = {(row.group, row.pair) for row in done}
    jobs = [
        (group, options, restarts, seed, tuple(rivals))
        for group in groups
        for options in chosen(group, pairs, tuning=tuning, seed=seed)
        if (str(group), spelled(options)) not in recorded
    ]
    rows = [row for row in done if row.group in {str(group) for group in groups}]

    def keep(found: list[Row], best: float) -> None:
        if found:
            key = found[0].group, found[0].pair
            known[key] = min(best, known.get(key, np.inf))
            if store is not None:
                write_best(store, {key: best})
            rows.extend(found)
            write_rows(record, found)
        for row in found:
            if watch is not None:
                watch(row)

    known = read_best(store)
    if workers:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for future in as_completed([pool.submit(measure, *job) for job in jobs]):
                keep(*future.result())
    else:
        for job in jobs:
            keep(*measure(*job))
    order = [str(group) for group in groups]
    rows.sort(key=lambda row: order.index(row.group))
    return [replace(row, best=min(known.get((row.group, row.pair), np.inf), row.energy)) for row in rows]


def read_rows(record: Path | None) -> list[Row]:
    """The rows of a file; whoever reads them looks up the best known energies anew."""
    if record is None or not record.exists():
        return []
    kinds = {each.name: each.type for each in fields(Row)}
    with record.open(newline="", encoding="utf-8") as file:
        return [Row(**{name: kinds[name](row[name]) for name in kinds}) for row in csv.DictReader(file)]  # type: ignore[operator]


def write_rows(record: Path | None, rows: Sequence[Row]) -> None:
    if record is None or not rows:
        return
    record.parent.mkdir(parents=True, exist_ok=True)
    fresh = not record.exists()
    with record.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Row)], lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


Known = dict[tuple[str, str], float]


def read_best(store: Path | None) -> Known:
    if store is None or not store.exists():
        return {}
    with store.open(newline="", encoding="utf-8") as file:
        return {(row["group"], row["pair"]): float(row["energy"]) for row in csv.DictReader(file)}


def write_best(store: Path, known: Known) -> None:
    """Energies of the file and of `known`, the lower one of each pair; in one go, so that a kill loses nothing."""
    merged = dict(known)
    for key, energy in read_best(store).items():
        merged[key] = min(energy, merged.get(key, np.inf))
    store.parent.mkdir(parents=True, exist_ok=True)
    fresh = store.with_name(f"{store.name}.{os.getpid()}")
    with fresh.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["group", "pair", "energy"])
        writer.writerows([*key, repr(merged[key])] for key in sorted(merged))
    fresh.replace(store)


def table(rows: Sequence[Row]) -> str:
    """Markdown: how often each method reaches the best known energy, and its iterations; then the targets."""
    names = list(dict.fromkeys(row.method for row in rows))
    groups = list(dict.fromkeys(row.group for row in rows))
    lines = [
        "| group | pairs | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for group in [*groups, "all"]:
        mine = [row for row in rows if group in ("all", row.group)]
        cells = [cell([row for row in mine if row.method == name]) for name in names]
        lines.append(f"| {group} | {len({(row.group, row.pair) for row in mine})} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *verdicts(rows)])


def cell(rows: Sequence[Row]) -> str:
    """Share that reaches the best known energy, and mean iterations."""
    if not rows:
        return "–"
    return f"{share(rows):.0%} ({np.mean([row.iterations for row in rows]):.0f})"


def share(rows: Sequence[Row]) -> float:
    return float(np.mean([row.reached for row in rows])) if rows else float("nan")


def verdicts(rows: Sequence[Row]) -> list[str]:
    """The targets, each with what was measured."""

    def of(method: str, group: str | None = None) -> list[Row]:
        return [row for row in rows if row.method == method and group in (None, row.group)]

    groups = list(dict.fromkeys(row.group for row in rows))
    plus = {group: share(of("adgm+", group)) for group in groups}
    below = sum(row.beaten_by_truth for row in of("adgm+"))
    singles = {name: share(of(name)) for name in SINGLE}
    behind = {g: max(share(of(name, g)) for name in SINGLE) - share(of("auto", g)) for g in groups}
    effort = {name: np.mean([row.iterations for row in of(name)]) for name in ("auto", *SINGLE)}
    best = max(singles, key=lambda name: singles[name])
    short = [group for group in groups if plus[group] < 0.99]
    late = [f"{group} (by {gap:.0%})" for group, gap in behind.items() if gap > 0.05 + 1e-9]
    return [
        f"- ADGM+ reaches the best known energy on {share(of('adgm+')):.1%} of the pairs; below 99 %: "
        + (", ".join(f"{group} ({plus[group]:.0%})" for group in short) or "no group")
        + f". The true matching beats it {below} times.",
        f"- One run with ρ0 = auto reaches it on {share(of('auto')):.1%}, the best multiple of n ({best}) on "
        f"{singles[best]:.1%}; more than 5 points behind the best one of a group: {', '.join(late) or 'nowhere'}.",
        f"- Mean iterations: auto {effort['auto']:.0f}, {best} {effort[best]:.0f}, "
        f"fewest {min(effort[name] for name in SINGLE):.0f}.",
    ]


def picture(rows: Sequence[Row], file: Path, groups: Sequence[str] = PICTURED) -> None:
    """How often one run reaches the best known energy with each first penalty, and when that sets itself."""
    from matplotlib.figure import Figure

    figure = Figure((6.4, 3.8), dpi=130, layout="constrained")
    axes = figure.subplots()
    columns = [*SINGLE, "auto, bare", "auto"]
    for shift, group, colour, marker in zip((-0.08, 0.0, 0.08), groups, COLOURS, "os^", strict=True):
        mine = [row for row in rows if row.group == group]
        shares = [100 * share([row for row in mine if row.method == name]) for name in columns]
        places = [place + shift for place in range(len(columns))]
        fixed = len(SINGLE)
        axes.plot(places[:fixed], shares[:fixed], color=colour, marker=marker, label=group)
        axes.plot(places[fixed:], shares[fixed:], color=colour, marker=marker, linestyle="", markersize=9)
    axes.axvline(len(SINGLE) - 0.5, color="0.6", linewidth=1)
    axes.set(ylim=(-3, 104), ylabel="Best known reached (% of pairs)")
    axes.set_xlabel("First penalty ρ0: thousandths of n, or set by itself")
    axes.set_xticks(range(len(columns)), [*map(str, THOUSANDTHS), "itself", "itself,\npolished"])
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)


def add_command(commands: Any) -> None:
    """python -m experiments stuck."""
    parser = commands.add_parser(
        "stuck", help="how often ADGM+, ADGM and its fixed penalties reach the best known energy"
    )
    parser.add_argument("groups", nargs="*", help=f"some of {', '.join(map(str, GROUPS))}; all if none is named")
    parser.add_argument("--pairs", type=int, default=40, metavar="N", help="pairs per group (default 40)")
    parser.add_argument("--restarts", type=int, default=200, help="of the long local search (default 200)")
    parser.add_argument("--rivals", action="store_true", help="let every method look for the best known energy, too")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: cores)"
    )
    parser.add_argument("-o", type=Path, default=ROWS, metavar="FILE", help="where rows are, and go (default: shipped)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the three House groups of model B there")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of pairs (default 0)")
    parser.set_defaults(run=run_command)


def run_command(options: Any) -> int:
    named = {str(group): group for group in GROUPS}
    for name in options.groups:
        if name not in named:
            raise ValueError(f"There is no group {name!r}; there are {', '.join(named)}.")
    groups = [named[name] for name in options.groups] or list(GROUPS)

    def watch(row: Row) -> None:
        if row.method == "adgm+":
            print(f"… {row.group}: {row.pair}", file=sys.stderr, flush=True)

    rows = run(
        groups, options.pairs, restarts=options.restarts, seed=options.seed,
        rivals=RIVALS if options.rivals else (), workers=options.workers, record=options.o, watch=watch,
    )  # fmt: skip
    print(table(rows))
    if options.picture is not None:
        picture(rows, options.picture)
    return 0
