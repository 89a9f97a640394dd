"""The one record of how several views are matched: where they come from, the model, the method, the plan, the joint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from reprlib import repr as brief
from typing import Any

from adgm.views import JOINTS, PLANS
from features.formulas.link import packed, unpacked
from features.parameters import Value, checked, parse_assignments, worded
from features.recipe import OWN, Recipe
from features.views.sets import VIEW_SETS

PAIR_WORDS = ("points", "model", "method", "check")  # of a link, about how a pair is matched
METHOD = "fusion"


@dataclass(frozen=True)
class ViewsRecipe:
    """A reproducible run about several views.

    `how` says how a pair is matched: the points, the model and the method (`features.recipe.Recipe`, whose data set is
    "own"). `plan` says which pairs (`adgm.views.PLANS`; `neighbours` counts those of the plan "neighbours"), `joint`
    what makes tracks of them (`adgm.views.JOINTS`). Without `how` it is what suits the views.
    """

    dataset: str = "turntable"
    dataset_params: dict[str, Value] = field(default_factory=dict)
    how: Recipe | None = None
    plan: str = "all"
    neighbours: int = 2
    joint: str = "tracks"

    def __post_init__(self) -> None:
        known = {"dataset": [*VIEW_SETS, OWN], "plan": list(PLANS), "joint": list(JOINTS)}
        for name, keys in known.items():
            if getattr(self, name) not in keys:
                word = "set of views" if name == "dataset" else name
                raise ValueError(f"There is no {word} {brief(getattr(self, name))}; choose one of {', '.join(keys)}.")
        if not isinstance(self.neighbours, int) or not 1 <= self.neighbours <= 100:
            raise ValueError(f"neighbours is {brief(self.neighbours)}; expected a whole number from 1 to 100.")
        if not isinstance(self.dataset_params, Mapping):
            raise ValueError(f"dataset_params is {brief(self.dataset_params)}; expected names with their values.")
        if self.how is not None and not isinstance(self.how, Recipe):
            raise ValueError(f"how is {brief(self.how)}; expected a Recipe.")
        declared = VIEW_SETS[self.dataset].parameters if self.dataset != OWN else ()
        values = checked(declared, self.dataset_params, self.dataset)
        object.__setattr__(self, "dataset_params", values)
        if self.how is not None and self.how.dataset != OWN:
            object.__setattr__(self, "how", replace(self.how, dataset=OWN, dataset_params={}))

    def __hash__(self) -> int:
        return hash(self.to_json())

    @property
    def title(self) -> str:
        data = "Views of your own" if self.dataset == OWN else VIEW_SETS[self.dataset].label
        how = "" if self.how is None else f", {self.how.title.partition(', ')[2]}"
        return f"{data}{how}, {PLANS[self.plan].label.lower()}, {JOINTS[self.joint].label.lower()}"

    # ---- as JSON ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"dataset": self.dataset, "dataset_params": dict(self.dataset_params)}
        found |= {"plan": self.plan, "neighbours": self.neighbours, "joint": self.joint}
        return found if self.how is None else found | {"how": self.how.to_dict()}

    @classmethod
    def from_dict(cls, given: Any) -> ViewsRecipe:
        """A record from plain values, all of them checked."""
        if not isinstance(given, Mapping):
            raise ValueError(f"A recipe is a set of names and values, not {type(given).__name__}.")
        known = list(cls.__dataclass_fields__)
        for name in given:
            if name not in known:
                raise ValueError(f"A recipe of views has no entry {brief(name)}; it has {', '.join(known)}.")
        how = given.get("how")
        return cls(**{**given, "how": None if how is None else Recipe.from_dict(how)})

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True)

    # ---- as words of a link ----------------------------------------------------------------------------------

    def to_query(self) -> dict[str, str]:
        """views=house&views.count=8&plan=all&joint=tracks&model=A&method=fusion; `from_query` takes them back."""
        found = {"views": packed(self.dataset)}
        found |= {f"views.{name}": str(value) for name, value in self.dataset_params.items()}
        found |= {"plan": self.plan, "joint": self.joint}
        found |= {"neighbours": str(self.neighbours)} if self.plan == "neighbours" else {}
        if self.how is not None:
            found |= {word: text for word, text in self.how.to_query().items() if word.split(".")[0] != "data"}
        return found

    @classmethod
    def from_query(cls, words: Mapping[str, str]) -> ViewsRecipe:
        """What a link stands for; words of others are passed over."""
        dataset = unpacked(words.get("views", cls.dataset))
        declared = VIEW_SETS[dataset].parameters if dataset in VIEW_SETS else ()
        items = [f"{name.removeprefix('views.')}={text}" for name, text in words.items() if name.startswith("views.")]
        params = parse_assignments(items, "parameter of the views", worded(declared))
        own = {
            name: text for name, text in words.items() if name.split(".")[0] in ("points", "model", "method", "check")
        }
        how = Recipe.from_query({"data": OWN, **own}) if "model" in own else None
        count = words.get("neighbours", "2")
        if not count.isdecimal() or len(count) > 3:
            raise ValueError(f"neighbours is {brief(count)}; expected a whole number from 1 to 100.")
        return cls(dataset, params, how, words.get("plan", cls.plan), int(count), words.get("joint", cls.joint))
