"""An experiment as data: which pairs, which model, which methods, what varies, which seeds."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import combinations
from typing import Any

import numpy as np

from adgm import METHODS
from features.datasets import DATASETS, Dataset
from features.models import MODELS
from features.pairs import Value
from features.setup import Setup, method_options

MOST_UNITS = 500_000
MOST_PANELS, MOST_VALUES, MOST_SEEDS, MOST_DRAWN = 40, 200, 100, 10_000
MEASURED = ("ratio", "objective", "best", "accuracy", "error", "optimum", "seconds", "iterations")
PARTS = {"dataset": "dataset_params", "model": "model_params", "method": "method_options"}
Params = dict[str, Any]


class Wrong(ValueError):
    """What is wrong with a declaration; `key` is the entry to blame, so that a file's line can be named."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


# ---- pair selection ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """A way to name the pairs of a data set by its parameters."""

    about: str
    needs: tuple[str, ...]  # parameters that the data set must have
    pairs: Callable[[Dataset, int, int], list[Params]]  # of a data set, a gap and a count, in a fixed order


def all_frames(dataset: Dataset, gap: int, count: int) -> list[Params]:
    return [{"left": left, "right": right} for left, right in combinations(range(dataset.count or 0), 2)]


def frames_apart(dataset: Dataset, gap: int, count: int) -> list[Params]:
    return [{"left": left, "right": left + gap} for left in range((dataset.count or 0) - gap)]


def numbered(dataset: Dataset, gap: int, count: int) -> list[Params]:
    return [{"number": number} for number in range(1, (dataset.count or 0) + 1)]


def drawn(dataset: Dataset, gap: int, count: int) -> list[Params]:
    return [{} for _ in range(count)]  # their seeds tell them apart


SELECTIONS: dict[str, Selection] = {
    "all": Selection("every two frames", ("left", "right"), all_frames),
    "gap": Selection("every two frames that are so far apart", ("left", "right"), frames_apart),
    "numbers": Selection("every pair of the set", ("number",), numbered),
    "drawn": Selection("random pairs, one per seed", (), drawn),
}


# ---- records -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unit:
    """One piece of work: a pair, a model and a method, and its place in the experiment."""

    key: str  # the same in every run of the same experiment
    panel: str
    x: Value | None
    setup: Setup
    time_limit: float

    @property
    def problem(self) -> str:
        """Equal for units that solve the same problem."""
        s = self.setup
        return json.dumps([s.dataset, s.dataset_params, s.model, s.model_params], sort_keys=True)


def unit_key(panel: str, x: Value | None, setup: Setup) -> str:
    text = json.dumps([panel, x, setup.to_dict()], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Panel:
    """One diagram: pairs of a data set under a model, and the one thing that varies from point to point.

    `varies`: "gap", or "dataset.…", "model.…", "method.…" followed by a parameter's name; empty for a single setting.
    """

    title: str
    dataset: str
    model: str
    pairs: str = "drawn"
    varies: str = ""
    values: tuple[Value, ...] = ()
    axis: str = ""  # what the horizontal axis is called; empty: the name of what varies
    gap: int = 10
    count: int = 50  # pairs per seed, where they are drawn
    dataset_params: Params = field(default_factory=dict)
    model_params: Params = field(default_factory=dict)
    method_options: Params = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in ("title", "dataset", "model", "pairs", "varies", "axis"):
            _check_text(one, getattr(self, one), 100)
        if not self.title:
            raise Wrong("title", "The title is empty; a few words are right.")
        for what, key, known in (
            ("dataset", self.dataset, list(DATASETS)),
            ("model", self.model, list(MODELS)),
            ("pairs", self.pairs, list(SELECTIONS)),
        ):
            if key not in known:
                raise Wrong(what, f"{what} is {key!r}; one of {', '.join(known)} is right.")
        self._check_values()
        self._check_varies()
        self._check_pairs()
        for part in ("dataset_params", "model_params"):
            for name, value in getattr(self, part).items():
                self._try(f"{part}.{name}", **{part: {name: value}})
        for x in self.settings:
            self._try("values", **{part: them for part, them in self.varied(x).items() if part != "method_options"})

    def _check_values(self) -> None:
        for part in PARTS.values():
            if not isinstance(getattr(self, part), Mapping):
                raise Wrong(part, f"{part} is {getattr(self, part)!r}; names with their values are right.")
        plain = isinstance(self.values, tuple) and all(isinstance(value, int | float | str) for value in self.values)
        if not plain:
            raise Wrong("values", f"values is {self.values!r}; a list of numbers or words is right.")
        if bool(self.varies) != bool(self.values):
            there, lacking = ("varies", "values") if self.varies else ("values", "varies")
            raise Wrong(there, f"There is {there} without {lacking}; both or none is right.")
        if len(set(self.values)) < len(self.values) or len(self.values) > MOST_VALUES:
            raise Wrong("values", f"values is {list(self.values)}; at most {MOST_VALUES} different ones are right.")

    def _check_varies(self) -> None:
        where, _, name = self.varies.rpartition(".")
        if where == "" and self.varies in ("", "gap"):
            return
        if where not in PARTS or not name:
            forms = "gap, dataset.…, model.… or method.… with the name of a parameter"
            raise Wrong("varies", f"varies is {self.varies!r}; {forms} is right.")
        known = {
            "dataset": [one.name for one in DATASETS[self.dataset].parameters],
            "model": [one.name for one in MODELS[self.model].parameters],
        }
        if where in known and name not in known[where]:
            raise Wrong("varies", f"varies is {self.varies!r}, but there are only {', '.join(known[where])} there.")

    def _check_pairs(self) -> None:
        dataset, selection = DATASETS[self.dataset], SELECTIONS[self.pairs]
        has = {one.name for one in dataset.parameters}
        if lacking := [name for name in selection.needs if name not in has]:
            fitting = " or ".join(key for key, one in SELECTIONS.items() if set(one.needs) <= has)
            reason = f"{dataset.label} has no {' and '.join(lacking)}"
            raise Wrong("pairs", f"pairs is {self.pairs!r}, but {reason}; {fitting} is right.")
        for name in (*selection.needs, "seed"):
            if name in self.dataset_params:
                message = f"{name} is given, but the selection of pairs and the seeds decide it; leave it out."
                raise Wrong(f"dataset_params.{name}", message)
        if not _whole(self.count, 1, MOST_DRAWN):
            raise Wrong("count", f"count is {self.count!r}; a whole number from 1 to {MOST_DRAWN} is right.")
        if self.varies == "gap" and self.pairs != "gap":
            raise Wrong("varies", f'The gap varies, but pairs is {self.pairs!r}; pairs = "gap" is right.')
        most = (dataset.count or 2) - 1
        key, gaps = ("values", self.values) if self.varies == "gap" else ("gap", (self.gap,))
        for gap in gaps if self.pairs == "gap" else ():
            if not _whole(gap, 1, most):
                raise Wrong(key, f"A gap is {gap!r}; a whole number from 1 to {most} is right for {dataset.label}.")

    def _try(self, key: str, **params: Params) -> None:
        try:
            Setup(dataset=self.dataset, model=self.model, **params)  # type: ignore[arg-type]
        except ValueError as error:
            raise Wrong(key, str(error)) from None

    # ---- what it stands for --------------------------------------------------------------------------------------

    @property
    def settings(self) -> tuple[Value | None, ...]:
        """The points of the horizontal axis."""
        return self.values or (None,)

    @property
    def label(self) -> str:
        """What the horizontal axis is called."""
        return self.axis or self.varies.rpartition(".")[2]

    def varied(self, x: Value | None) -> dict[str, Params]:
        """What a setting changes."""
        where, _, name = self.varies.rpartition(".")
        return {PARTS[where]: {name: x}} if where else {}

    def all_pairs(self, x: Value | None) -> list[Params]:
        """Every pair of a setting, as parameters of the data set."""
        gap = x if self.varies == "gap" and isinstance(x, int) else self.gap
        return SELECTIONS[self.pairs].pairs(DATASETS[self.dataset], gap, self.count)

    def setup(self, x: Value | None, pair: Params, number: int, method: str, seed: int) -> Setup:
        """The run of one unit. The seed goes to the data, to a model that samples and to a method that draws."""
        chosen = {part: {**getattr(self, part), **self.varied(x).get(part, {})} for part in PARTS.values()}
        own = seed * self.count + number if self.pairs == "drawn" else seed
        chosen["dataset_params"] |= {**pair, "seed": own}
        if any(one.name == "seed" for one in MODELS[self.model].parameters):
            chosen["model_params"].setdefault("seed", seed)
        if seed and "seed" in method_options(method):
            chosen["method_options"].setdefault("seed", seed)
        return Setup(dataset=self.dataset, model=self.model, method=method, **chosen)


@dataclass(frozen=True)
class Experiment:
    """Panels that are run by the same methods with the same seeds."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    methods: tuple[str, ...]
    about: str = ""
    paper: str = ""  # what the paper says about it
    measures: tuple[str, ...] = ("ratio", "accuracy")
    seeds: tuple[int, ...] = (0,)
    time_limit: float = 60.0  # seconds per unit

    def __post_init__(self) -> None:
        for one in ("name", "title", "about", "paper"):
            _check_text(one, getattr(self, one), 1000)
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,49}", self.name):
            raise Wrong("name", f"name is {self.name!r}; up to 50 of a–z, 0–9 and - are right.")
        if not 1 <= len(self.panels) <= MOST_PANELS:
            raise Wrong("panel", f"There are {len(self.panels)} panels; 1 to {MOST_PANELS} are right.")
        titles = [panel.title for panel in self.panels]
        for at, title in enumerate(titles):
            if title in titles[:at]:
                raise Wrong(f"panel.{at}.title", f"Two panels are called {title!r}; different titles are right.")
        for one, known in (("methods", list(METHODS)), ("measures", list(MEASURED))):
            self._check_names(one, known)
        seeds = self.seeds
        whole = isinstance(seeds, tuple) and all(_whole(seed, 0, 100_000) for seed in seeds)
        if not whole or not 1 <= len(seeds) <= MOST_SEEDS or len(set(seeds)) < len(seeds):
            raise Wrong("seeds", f"seeds is {seeds!r}; 1 to {MOST_SEEDS} different whole numbers from 0 are right.")
        limit = self.time_limit
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit <= 86_400:
            raise Wrong("time_limit", f"time_limit is {limit!r}; up to 86400 seconds are right.")
        for at, panel in enumerate(self.panels):
            self._check_options(at, panel)
        if (size := self.size()) > MOST_UNITS:
            raise Wrong("panel", f"The experiment has {size:,} units; at most {MOST_UNITS:,} are right.")

    def _check_names(self, one: str, known: list[str]) -> None:
        given = getattr(self, one)
        if not isinstance(given, tuple) or not given or len(set(map(str, given))) < len(given):
            raise Wrong(one, f"{one} is {given!r}; a list of different names is right.")
        for name in given:
            if name not in known:
                raise Wrong(one, f"{one} has {name!r}; some of {', '.join(known)} are right.")

    def _check_options(self, at: int, panel: Panel) -> None:
        """Every method must know the options that a panel gives it."""
        tries = [("values", panel.varied(x).get("method_options")) for x in panel.settings]
        for key, options in [*tries, ("method_options", panel.method_options)]:
            for method in self.applicable(panel) if options else ():
                try:
                    Setup(method=method, method_options=dict(options or {}))
                except ValueError as error:
                    raise Wrong(f"panel.{at}.{key}", str(error)) from None

    # ---- its units -----------------------------------------------------------------------------------------------

    def applicable(self, panel: Panel) -> tuple[str, ...]:
        """The methods that take this panel's problems; `Entry.refusal` has the last word when it sees one."""
        orders = MODELS[panel.model].orders
        fitting = [key for key in self.methods if max(orders) in METHODS[key].orders]
        return tuple(key for key in fitting if 1 in orders or not METHODS[key].needs_unary)

    def size(self, sample: int | None = None) -> int:
        """How many units there are."""
        return len(self.seeds) * sum(
            min(len(panel.all_pairs(x)), sample or MOST_UNITS) * len(self.applicable(panel))
            for panel in self.panels
            for x in panel.settings
        )

    def units(self, sample: int | None = None) -> Iterator[Unit]:
        """All units, or those of `sample` pairs per setting.

        The sample is seeded and nested: 20 pairs contain the 5 of a smaller one. The first pair of every setting comes
        first, then the second …, so that every curve grows as the run goes on.
        """
        queues = [(panel, x, sampled(panel.all_pairs(x), sample)) for panel in self.panels for x in panel.settings]
        for turn in range(max(len(pairs) for _, _, pairs in queues)):
            for panel, x, pairs in queues:
                for number, pair in pairs[turn : turn + 1]:
                    for seed in self.seeds:
                        for method in self.applicable(panel):
                            setup = panel.setup(x, pair, number, method, seed)
                            key = unit_key(panel.title, x, setup)
                            yield Unit(key, panel.title, x, setup, float(self.time_limit))

    def panel(self, title: str) -> Panel:
        return next(panel for panel in self.panels if panel.title == title)

    def with_methods(self, methods: tuple[str, ...]) -> "Experiment":
        """The same with other methods."""
        return replace(self, methods=methods)

    def missing(self) -> list[str]:
        """The data sets that are not on this computer."""
        keys = dict.fromkeys(panel.dataset for panel in self.panels)
        return [key for key in keys if not DATASETS[key].available()]

    # ---- as plain values -----------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON, without what is left at its default; `from_dict` takes it back."""
        return {**_values(self), "panels": [_values(panel) for panel in self.panels]}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Experiment":
        """From plain values, every one checked; what is wrong is blamed on its key, `panel.<number>.<key>` in one."""
        panels = given.get("panels", ())
        if not isinstance(panels, list | tuple):
            raise Wrong("panel", f"panels is {panels!r}; a list of panels is right.")
        own = _named(cls, {**given, "panels": ()})
        return cls(**{**own, "panels": tuple(_panel(at, panel) for at, panel in enumerate(panels))})


def _panel(at: int, given: Any) -> Panel:
    try:
        return Panel(**_named(Panel, given))
    except Wrong as error:
        raise Wrong(f"panel.{at}.{error.key}", str(error)) from None


def _named(record: Any, given: Any) -> dict[str, Any]:
    """The entries of a record, lists as tuples; a name that it does not have, or that it lacks, is an error."""
    if not isinstance(given, Mapping):
        raise Wrong("", f"{given!r} stands where names with their values are right.")
    known = {one.name: one for one in fields(record)}
    for name in given:
        if name not in known:
            raise Wrong(str(name), f"There is no entry {name!r} here; {', '.join(known)} are right.")
    for name, one in known.items():
        if name not in given and one.default is MISSING and one.default_factory is MISSING:
            raise Wrong("", f"{name} is missing here; it has no default.")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def _values(record: Any) -> dict[str, Any]:
    """The entries of a record that are not left at their defaults."""
    found = {}
    for one in fields(record):
        value = getattr(record, one.name)
        default = one.default if one.default_factory is MISSING else one.default_factory()
        if value != default:
            found[one.name] = list(value) if isinstance(value, tuple) else value
    return found


def _check_text(key: str, value: Any, most: int) -> None:
    if not isinstance(value, str) or len(value) > most:
        raise Wrong(key, f"{key} is {value!r}; a text of at most {most} letters is right.")


def _whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def sampled(pairs: list[Params], sample: int | None) -> list[tuple[int, Params]]:
    """(number, pair) of the first `sample` in a fixed random order; all of them, in their own order, if None."""
    if sample is None:
        return list(enumerate(pairs))
    if sample < 1:
        raise ValueError(f"The sample is {sample} pairs per setting; at least 1 is right.")
    order = np.random.default_rng(0).permutation(len(pairs))[:sample]
    return [(int(k), pairs[k]) for k in order]
