"""The record's first line: what ran, with what, on what."""

from __future__ import annotations

import os
import platform
import sys
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

import msgspec

from mlirdev import schema
from mlirdev.compiler.chosen import chosen_target
from mlirdev.options import option_fields, options

_LIBRARIES = ("mlirdev", "torch", "torch-mlir", "llvmlite", "numpy")


def header() -> schema.Header:
    """The first line, of this process, now."""
    return schema.Header(
        version=schema.VERSION,
        argv=list(sys.argv),
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        versions={"python": platform.python_version(), **{name: metadata.version(name) for name in _LIBRARIES}},
        options={field.name: str(getattr(options, field.name)) for field in option_fields()},
        target=msgspec.to_builtins(chosen_target()),
        processor=processor(),
        threads=threads(),
    )


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def threads() -> int:
    """How many threads kernels may use, as PyTorch has it."""
    torch = sys.modules.get("torch")
    return int(torch.get_num_threads()) if torch is not None else os.cpu_count() or 1
