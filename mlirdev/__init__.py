"""mlirdev: a lazy PyTorch device, compiled kernel by kernel through MLIR. See README.md for the map.

Importing it attaches the device to PyTorch where PyTorch is there already or doesn't do so by itself; it
loads neither MLIR nor LLVM, and PyTorch only then. What needs PyTorch is looked up when it is asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlirdev import explain as _explain_module
    from mlirdev import metrics
    from mlirdev.guards import no_fallback, no_sync
    from mlirdev.lazy.api import eager, register_lowering, sync
    from mlirdev.lazy.dynamic import mark_dynamic
    from mlirdev.options import options

    explain = _explain_module.explain

__all__ = [
    "eager", "explain", "mark_dynamic", "metrics", "no_fallback", "no_sync", "options", "register_lowering", "sync",
]  # fmt: skip
__version__ = "0.1.0"

# Public name → the module that has it, and its name there ("" for the module itself).
_HOMES = {
    "eager": ("mlirdev.lazy.api", "eager"),
    "explain": ("mlirdev.explain", "explain"),
    "mark_dynamic": ("mlirdev.lazy.dynamic", "mark_dynamic"),
    "metrics": ("mlirdev.metrics", ""),
    "no_fallback": ("mlirdev.guards", "no_fallback"),
    "no_sync": ("mlirdev.guards", "no_sync"),
    "options": ("mlirdev.options", "options"),
    "register_lowering": ("mlirdev.lazy.api", "register_lowering"),
    "sync": ("mlirdev.lazy.api", "sync"),
}


def _autoload() -> None:
    """PyTorch calls this at the end of `import torch` (entry point group `torch.backends`). Never raises."""
    from mlirdev import backend

    backend.autoload()
    if options.explore:
        _explore_or_warn()
    _verify()


def _explore() -> None:
    """Begin or end a record, as the option `explore` says. By name: what imports go down to is all below it."""
    importlib.import_module("mlirdev.explore.recording").follow_option()


def _explore_or_warn() -> None:
    try:
        _explore()
    except Exception as error:
        warnings.warn(f"no record is made: {error}", stacklevel=2)


def _verify() -> None:
    """Have every kernel checked, if the option `verify` says so. By name, like the record."""
    if options.verify != "off":
        importlib.import_module("mlirdev.explore.verify").install()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mlirdev' has no attribute '{name}'")
    module, attribute = _HOMES[name]
    found = importlib.import_module(module)
    value = getattr(found, attribute) if attribute else found
    # Also undoes what importing a submodule of the same name did to this attribute.
    globals()[name] = value
    return value


def _must_attach() -> bool:
    """Whether PyTorch will not call `_autoload`, or has no more reason to."""
    if "MLIRDEV_WORKER" in os.environ:
        return False
    return "torch" in sys.modules or os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0"


# The names that submodules share must be the public objects from the start.
for _name in ("options", "explain"):
    __getattr__(_name)
importlib.import_module("mlirdev.options").watch("explore", _explore)
importlib.import_module("mlirdev.options").watch("verify", _verify)
if _must_attach():
    _autoload()
