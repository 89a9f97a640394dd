"""The package `adgm_explorer` of a clone: its modules are those of the rooms, not copies of them.

An editable wheel holds this file as the package's `__init__.py`, and notebooks that are run in a clone find it there.
A second copy of `features.recipe` would have a `Recipe` of its own, which the rest of the program refuses.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Rooms(MetaPathFinder, Loader):
    """Finds `adgm_explorer.features.recipe` as `features.recipe`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name.startswith("adgm_explorer.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        room = spec.name.partition(".")[2]
        try:
            module = import_module(room)
        except ModuleNotFoundError as error:
            raise error if error.name != room else ModuleNotFoundError(str(error), name=spec.name) from None
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None  # the import has put the other name's there
        module.__spec__ = module.__spec__.loader_state


if __name__ == "adgm_explorer":
    sys.meta_path.insert(0, Rooms())


def __getattr__(name: str) -> Any:
    return getattr(import_module("features"), name)
