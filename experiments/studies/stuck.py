"""Does it get stuck? One run with each penalty, and ADGM+, against the best energy that anything ever found here.

House and Cars pairs with odd numbers (the left frame, the pair) are for tuning; the table is made of the even ones and
of all of Hotel and Motorbikes. The best known energy of a pair is the lowest of all its rows and of the truth, so that
it can only improve.
"""

import argparse
import math
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adgm import METHODS
from adgm.penalty import AUTO
from experiments import runner, store
from experiments.selections import Params
from experiments.spec import Experiment, Panel, Variant
from experiments.store import Record
from experiments.summary import SAME, pair_of
from experiments.trials import begun
from features.tables import Table

TUNED_ON = {"house": 1, "cars": 1}  # the remainder by 2 of the pairs that were used for tuning
GAPS = tuple(range(10, 101, 10))
SEQUENCES, PHOTOS = ("house", "hotel"), ("cars", "motorbikes")
GROUPS = (
    *((name, "B", size) for name in SEQUENCES for size in (10, 20, 30)),
    *((name, "C", size) for name in PHOTOS for size in (0, 20, 40)),
    *(("house", "third", size) for size in (10, 20)),
    *((name, "third", size) for name in PHOTOS for size in (0, 8, 16)),
    *((name, "A", 30) for name in SEQUENCES),
)  # data set, model, and points of a sequence's left frame or outliers of a photograph
THOUSANDTHS = (1, 3, 10, 30, 100)
# "auto" rounds often and polishes what it rounds; "auto, bare" does neither, like the runs with a multiple of n.
SINGLE = tuple(Variant(f"{k} n/1000", "adgm1", thousandths_of_n={"rho0": k}) for k in THOUSANDTHS)
BARE = Variant("auto, bare", "adgm1", {**AUTO, "round_every": 0, "polish": False})
MEASURED = (Variant("auto", "adgm"), BARE, *SINGLE)
FIXED = tuple(variant.name for variant in SINGLE)
NAMES = ("adgm+", *(variant.name for variant in MEASURED))
# What looks for the best known energy besides the methods that are measured.
LONG = "long search"
RIVALS = tuple(
    Variant(f"{key}, polished", key, searches=1, time_limit=2.0)
    for key in METHODS
    if key not in ("adgm", "adgm+", "adgm1")
)


def panel(dataset: str, model: str, size: int, pairs: int = 40, seed: int = 0) -> Panel:
    """That many pairs of frames, spread over the gaps; of photographs all there are, at most so many."""
    name = f"{dataset.capitalize()} {model}"
    chosen: Params = {"count": pairs, "shuffle": seed}
    chosen |= {"parity": 1 - TUNED_ON[dataset]} if dataset in TUNED_ON else {}
    if dataset in PHOTOS:
        return Panel(f"{name} +{size}", dataset, model, "first", **chosen, dataset_params={"outliers": size})
    points = {"points": size}
    return Panel(f"{name} {size} vs 30", dataset, model, "turns", gaps=GAPS, **chosen, dataset_params=points)


def experiment(
    groups: Collection[str] = (), pairs: int = 40, *, restarts: int = 0, rivals: bool = False, seed: int = 0
) -> Experiment:
    """The study of some groups, all if none is named. `restarts`, `rivals`: of the search for the best known energy."""
    known = {one.title: one for one in (panel(*group, pairs, seed) for group in GROUPS)}
    if unknown := [name for name in groups if name not in known]:
        raise ValueError(f"There is no group {unknown[0]!r}; there are {', '.join(known)}.")
    search = (Variant(LONG, "adgm", searches=1 + restarts),) if restarts else ()
    variants = (*MEASURED, *search, *(RIVALS if rivals else ()))
    chosen = tuple(one for title, one in known.items() if not groups or title in groups)
    return Experiment(
        "stuck",
        "Getting stuck: which run reaches the best known energy",
        chosen,
        ("adgm+", *(variant.name for variant in variants)),
        about="One run of ADGM with each penalty, and ADGM+, against the best energy that anything found.",
        measures=("best", "accuracy", "iterations"),
        time_limit=3600.0,
        variants=variants,
    )


def judged(rows: Iterable[Record]) -> list[Record]:
    """The measured rows, with whether each has the best known energy, and whether the truth beats it.

    Pairs that have fewer outliers than spec for are left out: they belong to another group.
    """
    found = [row for row in rows if row.get("energy") is not None and not row.get("note")]
    best: dict[str, float] = {}
    for row in found:
        energies = [best.get(pair_of(row), math.inf), row["energy"], row["truth_energy"]]
        best[pair_of(row)] = min(energy for energy in energies if energy is not None)
    return [
        {
            **row,
            "reached": same_or_better(row["energy"], best[pair_of(row)]),
            "beaten": row["truth_energy"] is not None and not same_or_better(row["energy"], row["truth_energy"]),
        }
        for row in found
        if row["method"] in NAMES
    ]


def same_or_better(energy: float, other: float) -> bool:
    return bool(energy <= other + SAME * max(abs(other), 1e-12))


# ---- as text and picture -----------------------------------------------------------------------------------------


def of(rows: Sequence[Record], method: str, group: str | None = None) -> list[Record]:
    return [row for row in rows if row["method"] == method and group in (None, row["panel"])]


def share(rows: Sequence[Record]) -> float:
    return float(np.mean([row["reached"] for row in rows])) if rows else math.nan


def effort(rows: Sequence[Record]) -> float:
    return float(np.mean([row["iterations"] for row in rows])) if rows else math.nan


def groups_of(rows: Sequence[Record]) -> list[str]:
    present = {row["panel"] for row in rows}
    return [title for title in (panel(*group).title for group in GROUPS) if title in present]


def table(rows: Sequence[Record]) -> Table:
    """How often each method reaches the best known energy, and its mean iterations."""

    def line(title: str, group: str | None) -> tuple[str, ...]:
        mine = [of(rows, name, group) for name in NAMES]
        pairs = len({pair_of(row) for some in mine for row in some})
        return title, str(pairs), *(f"{share(some):.0%} ({effort(some):.0f})" if some else "–" for some in mine)

    lines = [*(line(group, group) for group in groups_of(rows)), line("all", None)]
    return Table(("group", "pairs", *NAMES), tuple(lines))


def verdicts(rows: Sequence[Record]) -> list[str]:
    """The targets, each with what was measured."""
    groups = groups_of(rows)
    plus = {group: share(of(rows, "adgm+", group)) for group in groups}
    below = sum(row["beaten"] for row in of(rows, "adgm+"))
    singles = {name: share(of(rows, name)) for name in FIXED}
    behind = {g: max(share(of(rows, name, g)) for name in FIXED) - share(of(rows, "auto", g)) for g in groups}
    iterations = {name: effort(of(rows, name)) for name in ("auto", *FIXED)}
    best = max(singles, key=lambda name: singles[name])
    short = [f"{group} ({plus[group]:.0%})" for group in groups if plus[group] < 0.99]
    late = [f"{group} (by {gap:.0%})" for group, gap in behind.items() if gap > 0.05 + 1e-9]
    return [
        f"ADGM+ reaches the best known energy on {share(of(rows, 'adgm+')):.1%} of the pairs; below 99 %: "
        f"{', '.join(short) or 'no group'}. The true matching beats it {below} times.",
        f"One run with ρ0 = auto reaches it on {share(of(rows, 'auto')):.1%}, the best multiple of n ({best}) on "
        f"{singles[best]:.1%}; more than 5 points behind the best one of a group: {', '.join(late) or 'nowhere'}.",
        f"Mean iterations: auto {iterations['auto']:.0f}, {best} {iterations[best]:.0f}, "
        f"fewest {min(iterations[name] for name in FIXED):.0f}.",
        *times(of(rows, "adgm+")),
    ]


def times(rows: Sequence[Record]) -> list[str]:
    """How long ADGM+ takes and how soon it has its best, where rows say so."""
    told = [row for row in rows if row.get("seconds_to_best") is not None]
    if not told:
        return []
    spent, to_best = ([row[name] for row in told] for name in ("seconds", "seconds_to_best"))
    proofs = sum(bool(row.get("proved")) for row in told)
    return [
        f"ADGM+ takes {np.median(spent):.2f} s in the median ({np.sum(spent):.0f} s in all) and has its best matching "
        f"after {np.median(to_best):.2f} s ({np.sum(to_best):.0f} s); it proves {proofs} of {len(told)} optimal."
    ]


def text(rows: Sequence[Record]) -> str:
    """Markdown: the table, then the targets."""
    return "\n".join([table(rows).markdown(), *(f"- {verdict}" for verdict in verdicts(rows))])


def picture(rows: Sequence[Record], file: Path) -> None:
    """How often one run reaches the best known energy with each first penalty, and when that sets itself."""
    from matplotlib.figure import Figure  # which workers need not import

    from features.plots.theme import COLOURS

    figure = Figure((6.4, 3.8), dpi=130, layout="constrained")
    axes = figure.subplots()
    fixed, columns = len(FIXED), (*FIXED, "auto, bare", "auto")
    groups = [panel("house", "B", size).title for size in (10, 20, 30)]
    for shift, group, colour, marker in zip((-0.08, 0.0, 0.08), groups, COLOURS[:3], "os^", strict=True):
        shares = [100 * share(of(rows, name, group)) for name in columns]
        places = [place + shift for place in range(len(columns))]
        axes.plot(places[:fixed], shares[:fixed], color=colour, marker=marker, label=group)
        axes.plot(places[fixed:], shares[fixed:], color=colour, marker=marker, linestyle="", markersize=9)
    axes.axvline(fixed - 0.5, color="0.6", linewidth=1)
    axes.set(ylim=(-3, 104), ylabel="Best known reached (% of pairs)")
    axes.set_xlabel("First penalty ρ0: thousandths of n, or set by itself")
    axes.set_xticks(range(len(columns)), [*map(str, THOUSANDTHS), "itself", "itself,\npolished"])
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)


# ---- the command -------------------------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    titles = ", ".join(panel(*group).title for group in GROUPS)
    parser.add_argument("groups", nargs="*", help=f"some of {titles}; all if none is named")
    parser.add_argument("--pairs", type=int, default=40, metavar="N", help="pairs per group (default 40)")
    parser.add_argument("--restarts", type=int, default=200, help="of the long local search (default 200)")
    parser.add_argument("--rivals", action="store_true", help="let every method look for the best known energy, too")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: cores)"
    )
    parser.add_argument(
        "-o", type=Path, metavar="FILE", help="where rows are, and go (default: the shipped ones and runs/stuck.jsonl)"
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the three House groups of model B there")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of pairs (default 0)")


def run(options: Any) -> int:
    spec = experiment(
        options.groups, options.pairs, restarts=options.restarts, rivals=options.rivals, seed=options.seed
    )
    rows = finished(spec, options.o, options.workers)
    print(text(rows))
    if options.picture is not None:
        picture(rows, options.picture)
    return 0


def finished(spec: Experiment, path: Path | None, workers: int = 0) -> list[Record]:
    """The judged rows of an experiment, once those that are nowhere yet have been run."""
    shipped = {} if path else store.read(store.SHIPPED / "stuck.jsonl.gz").rows
    searched = {pair_of(row) for row in shipped.values() if row["method"] == LONG}  # the rivals were part of it
    rows = runner.finished(
        spec,
        path or Path("runs") / "stuck.jsonl",
        known=shipped,
        skip=lambda unit: unit.variant in RIVALS and pair_of(begun(unit, "")) in searched,
        workers=runner.Workers(workers),
    )
    return judged(rows)
