"""From a Target to LLVM's idea of it: `native` resolved, TargetMachines made once.

Target(native…) ── resolve_target ──► Target(triple, cpu, features, vector_bits) ── machine ──► TargetMachine
"""

from __future__ import annotations

import ctypes
import platform
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from mlirdev.errors import OptionError
from mlirdev.jit.modules import parse_assembly
from mlirdev.target import Target

# What a processor's widest useful vectors are, where LLVM's own code doesn't tell.
_VECTOR_BITS = 128


@lru_cache
def initialize() -> None:
    """Make LLVM's targets known; once per process."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


@lru_cache
def resolve_target(target: Target) -> Target:
    """The target with its triple, cpu, features and vector_bits filled in.

    "native" is this machine's own where the triple is; for a foreign triple it is LLVM's generic processor.
    Raises OptionError for a triple that LLVM doesn't know.
    """
    if target.is_resolved:
        return target
    initialize()
    triple = llvm.get_process_triple() if target.llvm.triple == "native" else target.llvm.triple
    is_host = _architecture(triple) == _architecture(llvm.get_process_triple())
    is_host_cpu = is_host and target.llvm.cpu == "native"
    cpu, features = target.llvm.cpu, target.llvm.features
    if cpu == "native":
        cpu = llvm.get_host_cpu_name() if is_host else _generic_cpu(triple)
    if features == "native":
        features = _host_features() if is_host_cpu else _usual_features(triple, cpu)
    resolved = target.with_llvm(triple=triple, cpu=cpu, features=features)
    return resolved.with_llvm(vector_bits=target.llvm.vector_bits or _widest_vector(resolved))


@lru_cache
def machine(target: Target) -> Any:
    """The TargetMachine of a resolved target: objects that load at any address (calls and constants
    by 64-bit addresses where the architecture is x86, position-independent code elsewhere)."""
    initialize()
    is_x86 = _architecture(target.llvm.triple) == "x86_64"
    try:
        return llvm.Target.from_triple(target.llvm.triple).create_target_machine(
            cpu=target.llvm.cpu,
            features=target.llvm.features,
            opt=3,
            reloc="static" if is_x86 else "pic",
            codemodel="large" if is_x86 else "small",
            abiname="lp64d" if _architecture(target.llvm.triple) == "riscv64" else "",
        )
    except RuntimeError as error:
        raise OptionError(f"target '{target.name}': LLVM has no triple '{target.llvm.triple}': {error}") from error


def _architecture(triple: str) -> str:
    head = triple.split("-")[0]
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(head, head)


def _generic_cpu(triple: str) -> str:
    return {"x86_64": "x86-64", "riscv64": "generic-rv64"}.get(_architecture(triple), "generic")


def _usual_features(triple: str, cpu: str) -> str:
    """What LLVM's generic processor lacks though every system for it has it."""
    return "+m,+a,+f,+d,+c" if _architecture(triple) == "riscv64" and cpu == _generic_cpu(triple) else ""


def _host_features() -> str:
    """The processor's features that this process may use; none writes scattered elements faster than one by one."""
    features: dict[str, bool] = dict(llvm.get_host_cpu_features())
    if not ask_for_tiles():
        features = {name: on and not name.startswith("amx-") for name, on in features.items()}
    if _architecture(llvm.get_process_triple()) == "x86_64":
        features["prefer-no-scatter"] = True
    return ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))


def ask_for_tiles() -> bool:
    """Ask for AMX tiles, which Linux grants a process on request only; whether it may use them."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    arch_prctl, get_permitted, request, tile_data = 158, 0x1022, 0x1023, 18
    syscall = ctypes.CDLL(None).syscall
    syscall(arch_prctl, request, tile_data)
    mask = ctypes.c_uint64(0)
    failed = syscall(arch_prctl, get_permitted, ctypes.byref(mask))
    return not failed and bool(mask.value & 1 << tile_data)


def _widest_vector(target: Target) -> int:
    """The widest vector registers that LLVM uses for this target, seen from a small function's assembly."""
    target_machine = machine(target)
    if _architecture(target.llvm.triple) != "x86_64":
        return _VECTOR_BITS
    module = parse_assembly(
        'define <16 x float> @f(<16 x float> %a, <16 x float> %b) "prefer-vector-width"="512" {\n'
        "  %c = fadd <16 x float> %a, %b\n  ret <16 x float> %c\n}\n",
    )
    assembly = target_machine.emit_assembly(module)
    return 512 if "zmm" in assembly else 256 if "ymm" in assembly else 128
