"""Rows to numbers: what is measured, means with their errors per setting and method, and who comes first."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adgm import METHODS
from experiments.spec import KNOWN, Experiment
from experiments.store import Content, Record
from features.judge.metrics import ratio
from features.parameters import Value

PUBLISHED = ("adgm1", "adgm2")  # the paper's own methods
OURS = tuple(key for key in METHODS if key.startswith("adgm") and key not in PUBLISHED)
SAME = 1e-6  # energies that differ by less than this share are called equal, as DD's proofs do


@dataclass(frozen=True)
class Measure:
    """A number of a row, what its axis is called, and which end is the good one (0: neither)."""

    label: str
    of: Callable[[Record], float | None]
    better: int
    digits: int


def share(row: Record, wrong: bool = False) -> float | None:
    if not row.get("possible"):
        return None
    right: float = 100.0 * row["correct"] / row["possible"]
    return 100.0 - right if wrong else right


def objective_ratio(row: Record) -> float | None:
    """To the truth's objective; where there is none, the energies' ratio. Above 1 is better than the truth."""
    if row.get("objective") is not None and row.get("truth_objective"):
        return float(row["objective"] / row["truth_objective"])
    if row.get("energy") is None or row.get("truth_energy") is None:
        return None
    value = ratio(row["energy"], row["truth_energy"])
    return None if math.isnan(value) else value


def percent(value: Any) -> float | None:
    return None if value is None else 100.0 * float(value)


MEASURES: dict[str, Measure] = {
    "ratio": Measure("Objective ratio", objective_ratio, 1, 4),
    "objective": Measure("Objective", lambda row: row.get("objective"), 1, 2),
    "best": Measure("Objective / best found", lambda row: row.get("best"), 1, 4),
    "accuracy": Measure("Accuracy (%)", share, 1, 1),
    "error": Measure("Error (%)", lambda row: share(row, wrong=True), -1, 2),
    "right": Measure("Right matches", lambda row: row.get("correct"), 1, 0),
    "precision": Measure(
        "Precision (%)", lambda row: percent(row["correct"] / row["matched"] if row.get("matched") else None), 1, 1
    ),
    "optimum": Measure("Global optimum (%)", lambda row: percent(row.get("optimum")), 1, 1),
    "seconds": Measure("Time (s)", lambda row: row.get("comparable_seconds"), -1, 4),
    "to_best": Measure("Time to best (s)", lambda row: row.get("comparable_to_best"), -1, 4),
    "iterations": Measure("Iterations", lambda row: row.get("iterations"), 0, 0),
}


# ---- rows with what others found ---------------------------------------------------------------------------------


def declared(content: Content) -> Experiment:
    """The experiment that a store holds, with every method that its runs asked for and that there still is."""
    given = dict(content.run["experiment"])
    asked = dict.fromkeys(name for run in content.runs for name in run["experiment"]["methods"])
    variants = [variant["name"] for variant in given.get("variants", ())]
    given["methods"] = [name for name in (*KNOWN, *variants) if name in asked]
    return Experiment.from_dict(given)


def pair_of(row: Record) -> str:
    """Equal for rows of a panel about the same pair."""
    return json.dumps([row["panel"], row["at"]], sort_keys=True)


def problem_of(row: Record, experiment: Experiment) -> str:
    """Equal for rows about the same problem of a panel."""
    x = None if experiment.panel(row["panel"]).varies.startswith("method.") else row["x"]
    return json.dumps([row["panel"], x, row["at"]], sort_keys=True)


def enriched(content: Content, experiment: Experiment) -> list[Record]:
    """The rows that have a result, with `problem`, `best` (objective beside the best one found), `optimum` and times.

    Times are only comparable within one machine: those of all but the one with the most rows are left out.
    """
    titles = {panel.title for panel in experiment.panels}
    rows = [
        {**row, "problem": problem_of(row, experiment)}
        for row in content.rows.values()
        if "matched" in row and row["panel"] in titles and row["method"] in experiment.methods
    ]
    rivals: dict[str, list[Record]] = {}
    machine = main_machine(rows)
    for row in rows:
        row["comparable_seconds"] = row["seconds"] if row["machine"] == machine else None
        row["comparable_to_best"] = row.get("seconds_to_best") if row["machine"] == machine else None
        rivals.setdefault(row["problem"], []).append(row)
    for everybody in rivals.values():
        mine = [row for row in everybody if row.get("energy") is not None]
        if not mine:
            continue
        lowest = min(row["energy"] for row in mine)
        proved = [row["energy"] for row in mine if row.get("proved")]
        lower = max((row["lower"] for row in mine if row.get("lower") is not None), default=-math.inf)
        for row in mine:
            row["best"] = beside_best(row, mine, lowest)
            row["optimum"] = is_optimum(row["energy"], min(proved, default=None), lowest, lower)
    return rows


def main_machine(rows: Sequence[Record]) -> str:
    """The machine with the most rows; empty if there are none."""
    names = [row["machine"] for row in rows]
    return max(sorted(set(names)), key=names.count, default="")


def beside_best(row: Record, mine: Sequence[Record], lowest: float) -> float | None:
    objectives = [found for other in mine if (found := other.get("objective")) is not None]
    if len(objectives) == len(mine):
        most = max(objectives)
        return float(row["objective"] / most) if most > 0 else None
    value = ratio(row["energy"], lowest)
    return None if math.isnan(value) else value


def is_optimum(energy: float, proved: float | None, lowest: float, lower: float) -> bool | None:
    """Whether an energy is the global optimum's; None if nothing at hand decides it."""

    def reaches(level: float) -> bool:
        return energy <= level + SAME * abs(level)

    if proved is not None:
        return reaches(proved)
    if math.isfinite(lower) and reaches(lower):
        return True
    return None if reaches(lowest) else False


# ---- means -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """A mean over pairs and seeds, with the standard error of the mean."""

    mean: float
    error: float
    count: int


Place = tuple[str, Value | None, str]  # panel, x, method


def point(values: Sequence[float]) -> Point:
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    return Point(float(np.mean(values)), error, len(values))


def points(rows: Iterable[Record], measure: str) -> dict[Place, Point]:
    """The mean of a measure at every place that has rows."""
    of = MEASURES[measure].of
    values: dict[Place, list[float]] = {}
    for row in rows:
        value = of(row)
        if value is not None:
            values.setdefault((row["panel"], row["x"], row["method"]), []).append(value)
    return {place: point(found) for place, found in values.items()}


def worst_first(rows: Iterable[Record], place: Place, measure: str) -> list[Record]:
    """The rows behind a point, the worst first."""
    found = [row for row in rows if (row["panel"], row["x"], row["method"]) == place]
    good = MEASURES[measure].better or -1

    def value(row: Record) -> tuple[bool, float, str]:
        number = MEASURES[measure].of(row)
        return number is not None, good * (number or 0.0), row["key"]

    return sorted(found, key=value)


# ---- who is first ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """One setting: the means of all methods over the pairs that all of them have, and who is first."""

    panel: str
    x: Value | None
    pairs: int
    means: dict[str, float]
    first: tuple[str, ...]  # more than one if they tie


def standings(
    rows: Sequence[Record], experiment: Experiment, measure: str, without: Iterable[str] = ()
) -> list[Standing]:
    """Per setting, over the problems that all methods have solved; those with less than half of them do not count."""
    found = []
    of, good = MEASURES[measure].of, MEASURES[measure].better
    left_out = set(without)
    for panel in experiment.panels:
        for x in panel.settings:
            by_method: dict[str, dict[str, float]] = {}
            for row in rows:
                value = of(row)
                if (row["panel"], row["x"]) == (panel.title, x) and row["method"] not in left_out and value is not None:
                    by_method.setdefault(row["method"], {})[row["problem"]] = value
            if not by_method:
                continue
            most = max(len(values) for values in by_method.values())
            by_method = {m: values for m, values in by_method.items() if 2 * len(values) >= most}
            common = set.intersection(*(set(values) for values in by_method.values()))
            if not common:
                continue
            means = {m: float(np.mean([values[p] for p in sorted(common)])) for m, values in by_method.items()}
            top = max(good * mean for mean in means.values())
            first = tuple(m for m, mean in means.items() if good * mean >= top - SAME * max(abs(top), 1e-9))
            found.append(Standing(panel.title, x, len(common), means, first))
    return found


def verdicts(rows: Sequence[Record], experiment: Experiment) -> list[str]:
    """In sentences: how often the published ADGM, and ours, come first, in objective and in accuracy."""
    compared = {"objective": "objective" if "objective" in experiment.measures else "ratio", "accuracy": "accuracy"}
    if "error" in experiment.measures:
        compared = {"errors": "error", "global optima": "optimum"}
    elif "right" in experiment.measures:
        compared = {"right matches": "right", "precision": "precision"}
    lines = []
    for team, rivals in ((PUBLISHED, OURS), (OURS, PUBLISHED)):
        mine = [key for key in team if key in experiment.methods]
        if not mine or len(experiment.methods) < 2:
            continue
        names = " or ".join(METHODS[key].label for key in mine)
        for word, measure in compared.items():
            table = standings(rows, experiment, measure, without=rivals)
            won = [standing for standing in table if set(standing.first) & set(mine)]
            alone = [standing for standing in won if set(standing.first) <= set(mine)]
            if table:
                lines.append(_verdict(names, word, len(won), len(alone), len(table)))
    return lines


BEST = {
    "errors": "makes the fewest errors",
    "global optima": "reaches the most global optima",
    "objective": "has the best objective",
    "accuracy": "has the best accuracy",
    "right matches": "has the most right matches",
    "precision": "has the best precision",
}


def _verdict(names: str, word: str, won: int, alone: int, settings: int) -> str:
    """How often a team comes first, as a person would say it."""
    if not won:
        return f"{names} {BEST[word]} in none of {settings} settings."
    every = "both settings" if settings == 2 else f"all {settings} settings"
    where = f"in {every}" if won == settings > 1 else f"in {won} of {settings} settings"
    others = {0: "nobody else does as well there", won: "others do as well there"}
    shared = others.get(won - alone, f"in {won - alone} of them others do as well")
    return f"{names} {BEST[word]} {where}; {shared}."


def lacking(content: Content) -> list[tuple[str, int]]:
    """Why units have no result, and how many: (reason, count), the most frequent first."""
    reasons: dict[str, int] = {}
    for row in content.rows.values():
        if row.get("reason"):
            reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    return sorted(reasons.items(), key=lambda item: -item[1])


def notes(content: Content) -> list[tuple[str, int]]:
    """What rows say about themselves, such as fewer outliers than asked for, and on how many pairs."""
    found: dict[str, set[str]] = {}
    for row in content.rows.values():
        if row.get("note"):
            found.setdefault(row["note"], set()).add(json.dumps(row["at"], sort_keys=True))
    return sorted(((note, len(pairs)) for note, pairs in found.items()), key=lambda item: -item[1])
