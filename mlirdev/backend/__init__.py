"""The device as PyTorch sees it: its name and its module `torch.mlirdev`.

    autoload() / attach() ─► the name, torch.mlirdev (module.py), torch.accelerator (accelerator.py),
                             two doors, pinned memory, generators, Lightning's accelerator (lightning.py),
                             DataParallel (parallel.py)
    first device tensor ────► lazy.setup: handlers, patches, the compiler

`attach()` runs at the end of `import torch`, so it only names the device and loads nothing heavy. The homes of
what torch.mlirdev offers are loaded when asked for: streams, memory, random, properties, amp.
"""

from __future__ import annotations

import warnings

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from mlirdev import dynamo
from mlirdev.backend import accelerator, lightning, module, parallel
from mlirdev.backend.devices import NAME
from mlirdev.backend.imports import when_imported
from mlirdev.lazy import conversion, doors, generators, pinned

_attached: list[bool] = []


def autoload() -> None:
    """`attach()`, but a device that can't be had is one line, and `import torch` goes on."""
    try:
        attach()
    except Exception as error:
        warnings.warn(f"device mlirdev isn't available: {error}", stacklevel=2)


def attach() -> None:
    """Name the device and give torch its module; once. Raises RuntimeError if another backend has the place."""
    if _attached:
        return
    holder = torch._C._get_privateuse1_backend_name()
    if holder not in ("privateuseone", NAME):
        raise RuntimeError(
            f"PyTorch has room for one out-of-tree device, and '{holder}' is in it; uninstall one of the two"
        )
    _setup_privateuseone_for_python_backend(NAME, backend_module=module)
    accelerator.install()
    doors.hang()
    pinned.register()
    conversion.install()
    generators.install()
    lightning.install()
    parallel.install()
    # torch.compile must not look into what runs its graphs, and finds the backend without an entry point.
    when_imported("torch._dynamo.trace_rules", lambda rules: rules.add("mlirdev"))
    when_imported("torch._dynamo.backends.registry", dynamo.register)
    _attached.append(True)
