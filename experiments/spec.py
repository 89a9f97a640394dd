"""An experiment as data: which pairs, which model, which methods, what varies, which seeds."""

import hashlib
import json
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

from adgm import METHODS
from experiments.selections import SELECTIONS, Params, sampled
from features.datasets import DATASETS
from features.formulas.text import LONGEST_TEXT
from features.judge.classics import CLASSICS
from features.models import MODELS
from features.parameters import Value
from features.recipe import Recipe, method_options

MOST_UNITS = 500_000
MOST_PANELS, MOST_VALUES, MOST_SEEDS, MOST_DRAWN = 40, 200, 100, 10_000
QUALITY = ("ratio", "objective", "best", "accuracy", "error", "right", "precision", "optimum")
MEASURED = (*QUALITY, "seconds", "to_best", "iterations")
# What an experiment can compare: methods, those of plug-ins too, and then the classics
KNOWN: ChainMap[str, Any] = ChainMap(CLASSICS, METHODS)
PARTS = {"dataset": "dataset_params", "model": "model_params", "method": "method_options"}


class Wrong(ValueError):
    """What is wrong with a declaration; `key` is the entry to blame, so that a file's line can be named."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Unit:
    """One piece of work: a pair, a model and a method, and its place in the experiment."""

    key: str  # the same in every run of the same experiment
    panel: str
    x: Value | None
    setup: Recipe
    time_limit: float
    variant: "Variant"
    marks: tuple[float, ...] = ()  # seconds after which it is noted what the method would give

    @property
    def problem(self) -> str:
        """Equal for units that solve the same problem."""
        s = self.setup
        return json.dumps([s.dataset, s.dataset_params, s.model, s.model_params], sort_keys=True)


def unit_key(panel: str, x: Value | None, setup: Recipe, variant: str = "") -> str:
    """Plain methods are told by their setup, variants by their name, too."""
    content = [panel, x, setup.to_dict(), *([variant] if variant not in METHODS else [])]
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Variant:
    """A method of an experiment under a name of its own, or a classic, which looks at the pair and at no problem."""

    name: str
    method: str  # the key in METHODS, or in CLASSICS
    options: Params = field(default_factory=dict)
    thousandths_of_n: Params = field(default_factory=dict)  # options in n / 1000, n being the problem's variables
    searches: int = 0  # local searches that follow: the first from what was found, the others from random matchings
    verified: bool = False  # whether a map checks and completes what was found (see `features.judge.verification`)
    time_limit: float | None = None  # None: the experiment's

    def __post_init__(self) -> None:
        _check_text("variants", self.name, 100)
        for options in (self.options, self.thousandths_of_n):
            if not isinstance(options, Mapping):
                raise Wrong("variants", f"The options of {self.name!r} are {options!r}, not names with their values.")
        if self.method not in KNOWN:
            raise Wrong("variants", f"{self.name!r} is of the method {self.method!r}; there are {', '.join(KNOWN)}.")
        if not isinstance(self.verified, bool):
            raise Wrong("variants", f"verified is {self.verified!r}; expected true or false.")
        if not _whole(self.searches, 0, 100_000):
            raise Wrong("variants", f"searches is {self.searches!r}; expected a whole number from 0.")
        try:
            self.recipe(Recipe(), {**self.options, **self.thousandths_of_n})
        except ValueError as error:
            raise Wrong("variants", str(error)) from None

    @property
    def label(self) -> str:
        """For people: what it is called where it is listed, its own name if it is a variant."""
        return str(KNOWN[self.name].label) if self.name in KNOWN else self.name

    @property
    def classic(self) -> bool:
        return self.method in CLASSICS

    def recipe(self, chosen: Recipe, options: Params) -> Recipe:
        """The choice with this method, which a classic leaves as it is: no problem is solved by it."""
        if self.classic:
            if options:
                raise ValueError(f"{self.label} has no option {next(iter(options))!r}; it has none.")
            return chosen
        return replace(chosen, method=self.method, method_options=options)


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
    count: int = 50  # pairs per seed, where they are drawn; how many, where not every one is meant
    gaps: tuple[int, ...] = ()  # between frames, where they take turns
    parity: int | None = None  # only left frames, or pairs, with this remainder by 2
    shuffle: int = 0  # the seed of every choice of pairs at random
    dataset_params: Params = field(default_factory=dict)
    model_params: Params = field(default_factory=dict)
    method_options: Params = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in ("title", "dataset", "model", "pairs", "varies", "axis"):
            _check_text(one, getattr(self, one), LONGEST_TEXT if one == "model" else 100)
        if not self.title:
            raise Wrong("title", "The title is empty; expected a few words.")
        for what, key, known in (
            ("dataset", self.dataset, list(DATASETS)),
            ("model", self.model, MODELS),
            ("pairs", self.pairs, list(SELECTIONS)),
        ):
            if key not in known:
                raise Wrong(what, f"{what} is {key!r}; expected one of {', '.join(known)}.")
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
                raise Wrong(part, f"{part} is {getattr(self, part)!r}; expected names with their values.")
        plain = isinstance(self.values, tuple) and all(isinstance(value, int | float | str) for value in self.values)
        if not plain:
            raise Wrong("values", f"values is {self.values!r}; expected a list of numbers or words.")
        if bool(self.varies) != bool(self.values):
            there, lacking = ("varies", "values") if self.varies else ("values", "varies")
            raise Wrong(there, f"There is {there} without {lacking}; expected both or none.")
        if len(set(self.values)) < len(self.values) or len(self.values) > MOST_VALUES:
            raise Wrong("values", f"values is {list(self.values)}; expected at most {MOST_VALUES} different ones.")

    def _check_varies(self) -> None:
        where, _, name = self.varies.rpartition(".")
        if where == "" and self.varies in ("", "gap"):
            return
        if where not in PARTS or not name:
            forms = "gap, dataset.…, model.… or method.… with the name of a parameter"
            raise Wrong("varies", f"varies is {self.varies!r}; expected {forms}.")
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
            raise Wrong("pairs", f"pairs is {self.pairs!r}, but {reason}; expected {fitting}.")
        for name in (*selection.needs, "seed"):
            if name in self.dataset_params:
                message = f"{name} is given, but the selection of pairs and the seeds decide it; leave it out."
                raise Wrong(f"dataset_params.{name}", message)
        if not _whole(self.count, 1, MOST_DRAWN):
            raise Wrong("count", f"count is {self.count!r}; expected a whole number from 1 to {MOST_DRAWN}.")
        if self.parity not in (None, 0, 1):
            raise Wrong("parity", f"parity is {self.parity!r}; expected 0 (even), 1 (odd) or nothing.")
        if not _whole(self.shuffle, 0, 100_000):
            raise Wrong("shuffle", f"shuffle is {self.shuffle!r}; expected a whole number from 0 to 100000.")
        if not isinstance(self.gaps, tuple) or bool(self.gaps) != (self.pairs in ("turns", "spread")):
            raise Wrong("gaps", f"gaps is {self.gaps!r}; expected a list with turns or spread, else nothing.")
        if self.varies == "gap" and self.pairs != "gap":
            raise Wrong("varies", f'The gap varies, but pairs is {self.pairs!r}; expected pairs = "gap".')
        most = (dataset.count or 2) - 1
        key, gaps = ("values", self.values) if self.varies == "gap" else ("gap", (self.gap,))
        key, gaps = (key, gaps) if self.pairs == "gap" else ("gaps", self.gaps)
        for gap in gaps:
            if not _whole(gap, 1, most):
                raise Wrong(key, f"A gap is {gap!r}; {dataset.label} takes a whole number from 1 to {most}.")

    def _try(self, key: str, **params: Params) -> None:
        try:
            Recipe(dataset=self.dataset, model=self.model, **params)  # type: ignore[arg-type]
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
        return SELECTIONS[self.pairs].pairs(self, gap)

    @property
    def counts(self) -> list[int]:
        """How many pairs every setting has; only another gap has other ones."""
        if self.varies == "gap":
            return [len(self.all_pairs(x)) for x in self.settings]
        return [len(self.all_pairs(None))] * len(self.settings)

    def kept(self, begin: int, end: int) -> list[int]:
        """The numbers of frames or pairs that may be chosen."""
        return [number for number in range(begin, end) if self.parity in (None, number % 2)]

    def setup(self, x: Value | None, pair: Params, number: int, variant: Variant, seed: int) -> Recipe:
        """The run of one unit. The seed goes to the data, to a model that samples and to a method that draws."""
        chosen: dict[str, Any] = {
            part: {**getattr(self, part), **self.varied(x).get(part, {})} for part in PARTS.values()
        }
        own = seed * self.count + number if self.pairs == "drawn" else seed
        chosen["dataset_params"] |= {"seed": own, **pair}
        options = {**chosen.pop("method_options"), **variant.options}
        if any(one.name == "seed" for one in MODELS[self.model].parameters):
            chosen["model_params"].setdefault("seed", seed)
        if seed and not variant.classic and "seed" in method_options(variant.method):
            options.setdefault("seed", seed)
        return variant.recipe(Recipe(dataset=self.dataset, model=self.model, **chosen), options)


@dataclass(frozen=True)
class Experiment:
    """Panels that are run by the same methods with the same seeds."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    methods: tuple[str, ...]  # keys of METHODS or CLASSICS, or names of variants
    about: str = ""
    paper: str = ""  # what the paper says about it
    measures: tuple[str, ...] = ("ratio", "accuracy")
    seeds: tuple[int, ...] = (0,)
    time_limit: float = 60.0  # seconds per unit
    marks: tuple[float, ...] = ()  # seconds after which a row notes the energy that the method would give
    variants: tuple[Variant, ...] = ()

    def __post_init__(self) -> None:
        for one in ("name", "title", "about", "paper"):
            _check_text(one, getattr(self, one), 1000)
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,49}", self.name):
            raise Wrong("name", f"name is {self.name!r}; expected up to 50 of a–z, 0–9 and -.")
        if not 1 <= len(self.panels) <= MOST_PANELS:
            raise Wrong("panel", f"There are {len(self.panels)} panels; expected 1 to {MOST_PANELS}.")
        titles = [panel.title for panel in self.panels]
        for at, title in enumerate(titles):
            if title in titles[:at]:
                raise Wrong(f"panel.{at}.title", f"Two panels are called {title!r}; expected different titles.")
        for one, known in (("methods", [*KNOWN, *self._variants]), ("measures", list(MEASURED))):
            self._check_names(one, known)
        seeds = self.seeds
        whole = isinstance(seeds, tuple) and all(_whole(seed, 0, 100_000) for seed in seeds)
        if not whole or not 1 <= len(seeds) <= MOST_SEEDS or len(set(seeds)) < len(seeds):
            raise Wrong("seeds", f"seeds is {seeds!r}; expected 1 to {MOST_SEEDS} different whole numbers from 0.")
        limit = self.time_limit
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit <= 86_400:
            raise Wrong("time_limit", f"time_limit is {limit!r}; expected up to 86400 seconds.")
        fine = isinstance(self.marks, tuple) and all(isinstance(mark, int | float) for mark in self.marks)
        if not fine or not all(0 < mark <= limit for mark in self.marks):
            raise Wrong("marks", f"marks is {self.marks!r}; expected seconds within the time limit of {limit:g}.")
        for at, panel in enumerate(self.panels):
            self._check_options(at, panel)
        if (size := self.size()) > MOST_UNITS:
            raise Wrong("panel", f"The experiment has {size:,} units; expected at most {MOST_UNITS:,}.")

    def _check_names(self, one: str, known: list[str]) -> None:
        given = getattr(self, one)
        if not isinstance(given, tuple) or not given or len(set(map(str, given))) < len(given):
            raise Wrong(one, f"{one} is {given!r}; expected a list of different names.")
        for name in given:
            if name not in known:
                raise Wrong(one, f"{one} has {name!r}; expected some of {', '.join(known)}.")

    def _check_options(self, at: int, panel: Panel) -> None:
        """Every method must know the options that a panel gives it."""
        tries = [("values", panel.varied(x).get("method_options")) for x in panel.settings]
        for key, options in [*tries, ("method_options", panel.method_options)]:
            for method in self.applicable(panel) if options else ():
                try:
                    self.variant(method).recipe(Recipe(), dict(options or {}))
                except ValueError as error:
                    raise Wrong(f"panel.{at}.{key}", str(error)) from None

    # ---- its units -----------------------------------------------------------------------------------------------

    @property
    def _variants(self) -> dict[str, Variant]:
        return {variant.name: variant for variant in self.variants}

    def variant(self, name: str) -> Variant:
        """What one of the methods stands for."""
        return self._variants.get(name) or Variant(name, name)

    def applicable(self, panel: Panel) -> tuple[str, ...]:
        """The methods that take this panel's problems; `Entry.refusal` has the last word when it sees one."""
        orders = MODELS[panel.model].orders

        def fits(variant: Variant) -> bool:
            if variant.classic:
                return True
            entry = METHODS[variant.method]
            return max(orders) in entry.orders and (1 in orders or not entry.needs_unary)

        return tuple(name for name in self.methods if fits(self.variant(name)))

    def size(self, sample: int | None = None) -> int:
        """How many units there are."""
        return len(self.seeds) * sum(
            min(count, sample or MOST_UNITS) * len(self.applicable(panel))
            for panel in self.panels
            for count in panel.counts
        )

    def units(self, sample: int | None = None) -> Iterator[Unit]:
        """All units, or those of `sample` pairs per setting.

        The sample is seeded and nested: 20 pairs contain the 5 of a smaller one. The first pair of every setting comes
        first, then the second …, so that every curve grows as the run goes on.
        """
        queues = [
            (panel, x, sampled(panel.all_pairs(x), sample, panel.shuffle))
            for panel in self.panels
            for x in panel.settings
        ]
        entrants = {panel.title: list(map(self.variant, self.applicable(panel))) for panel in self.panels}
        for turn in range(max(len(pairs) for _, _, pairs in queues)):
            for panel, x, pairs in queues:
                for number, pair in pairs[turn : turn + 1]:
                    for seed in self.seeds:
                        for variant in entrants[panel.title]:
                            setup = panel.setup(x, pair, number, variant, seed)
                            key = unit_key(panel.title, x, setup, variant.name)
                            limit = float(variant.time_limit or self.time_limit)
                            yield Unit(key, panel.title, x, setup, limit, variant, self.marks)

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
        parts = {"panels": self.panels, "variants": self.variants}
        return _values(self) | {name: [_values(one) for one in them] for name, them in parts.items() if them}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Experiment":
        """From plain values, every one checked; what is wrong is blamed on its key, `panel.<number>.<key>` in one."""
        panels, variants = given.get("panels", ()), given.get("variants", ())
        for key, them in (("panel", panels), ("variants", variants)):
            if not isinstance(them, list | tuple):
                raise Wrong(key, f"{key} is {them!r}; expected a list of tables.")
        own = _named(cls, {**given, "panels": (), "variants": ()})
        own["variants"] = tuple(Variant(**_named(Variant, one)) for one in variants)
        return cls(**{**own, "panels": tuple(_panel(at, panel) for at, panel in enumerate(panels))})


def _panel(at: int, given: Any) -> Panel:
    try:
        return Panel(**_named(Panel, given))
    except Wrong as error:
        raise Wrong(f"panel.{at}.{error.key}", str(error)) from None


def _named(record: Any, given: Any) -> dict[str, Any]:
    """The entries of a record, lists as tuples; a name that it does not have, or that it lacks, is an error."""
    if not isinstance(given, Mapping):
        raise Wrong("", f"{given!r} stands where names with their values are expected.")
    known = {one.name: one for one in fields(record)}
    for name in given:
        if name not in known:
            raise Wrong(str(name), f"There is no entry {name!r} here; expected {', '.join(known)}.")
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
        raise Wrong(key, f"{key} is {value!r}; expected a text of at most {most} letters.")


def _whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
