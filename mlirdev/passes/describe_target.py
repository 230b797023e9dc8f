"""Put what the target is on the module, as DLTI's attribute, for passes and transform files to query.

module  ──►  module {dlti.target_system_spec = … "target" = … <"llvm" = #dlti.map<"vector_bits" = 512>, …>}

A transform file asks with `transform.dlti.query ["target", "memory", "dram", "gbps"] at %op`. The keys are those of a
target file. What is zero or empty isn't there, nor is what only a simulated clock reads where the target has none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from torch_mlir import ir

from mlirdev.target import Target

NAME = "describe-target"
ATTRIBUTE = "dlti.target_system_spec"
# What code is made from, and what a simulated clock reads; LLVM's long list of features is left out.
_OF_CODE = ("llvm", "caches")
_OF_CLOCK = ("clock_mhz", "device", "units", "memory", "host_link", "launch", "dtypes")
_LEFT_OUT = "features"


def run(module: ir.Module, target: Target) -> None:
    data = msgspec.to_builtins(target)
    entries = _entries({key: data[key] for key in (*_OF_CODE, *(_OF_CLOCK if target.clock_mhz else ()))})
    spec = f'#dlti.target_system_spec<"target" = #dlti.target_device_spec<{entries}>>'
    module.operation.attributes[ATTRIBUTE] = ir.Attribute.parse(spec)


def _entries(data: Mapping[str, Any]) -> str:
    texts = {key: _value(value) for key, value in data.items() if value and key != _LEFT_OUT}
    return ", ".join(f'"{key}" = {text}' for key, text in texts.items() if text)


def _value(value: Any) -> str:
    """A value as an attribute; "" for a mapping in which nothing is."""
    if isinstance(value, dict):
        entries = _entries(value)
        return f"#dlti.map<{entries}>" if entries else ""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value)
    return f"{value:e} : f64" if isinstance(value, float) else f"{value} : i64"
