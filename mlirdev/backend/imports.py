"""Doing something to a module once it is imported, without importing it: a finder stands in front until then."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[Any], None]


def when_imported(name: str, act: Action) -> None:
    """Call `act` with the module of this name: now, if it is imported already, else as soon as it is."""
    if name in sys.modules:
        act(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Awaited(name, act))


class _Awaited(MetaPathFinder):
    """Finds one module, as the other finders do, and is gone."""

    def __init__(self, name: str, act: Action) -> None:
        self._name = name
        self._act = act

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Acting(spec.loader, self._act)
        return spec


class _Acting(Loader):
    """Another loader, which acts on the module that it has loaded."""

    def __init__(self, loader: Loader, act: Action) -> None:
        self._loader = loader
        self._act = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._act(module)
