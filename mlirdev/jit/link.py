"""Objects → machine code in this process, owned by Kernels, freed with the last one that refers to it.

Each object becomes a library of its own in an LLJIT; dropping its tracker unmaps the code. An LLJIT keeps
some 9 KB for every library that it has ever had and is freed whole, after its last library: so each
serves a limited number and is then replaced.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import llvmlite.binding as llvm

from mlirdev.errors import PassError
from mlirdev.jit.elf import undefined_symbols
from mlirdev.jit.modules import parse_assembly
from mlirdev.jit.support import SUPPORT_SYMBOLS, support_object
from mlirdev.jit.target import initialize, machine, resolve_target
from mlirdev.jit.team import OPENMP_SYMBOLS, TEAM_SYMBOLS, openmp_symbols, team_object
from mlirdev.jit.vendor import vendor_address
from mlirdev.target import load_target

_library_numbers = itertools.count()
_LIBRARIES_PER_JIT = 32


class Kernel:
    """Machine code: the entry's `address` is valid while this object lives, and so is what it calls of ours."""

    __slots__ = ("__weakref__", "_owner", "address", "symbol")

    def __init__(self, symbol: str, address: int, owner: Any) -> None:
        self.symbol = symbol
        self.address = address
        self._owner = owner

    def __repr__(self) -> str:
        return f"Kernel({self.symbol} at {self.address:#x})"


def link(objects: Mapping[str, bytes]) -> dict[str, Kernel]:
    """Load objects, each defining the symbol that is its key.

    Raises PassError for a bad object, or one that needs a symbol that nobody has.
    """
    return {symbol: _link_one(symbol, data) for symbol, data in objects.items()}


def _link_one(symbol: str, data: bytes) -> Kernel:
    return _load(data, [symbol])[symbol]


def _load(data: bytes, symbols: Sequence[str]) -> dict[str, Kernel]:
    """Load an object and find these symbols in it."""
    _load_libraries()
    builder = llvm.JITLibraryBuilder().add_object_img(data).add_current_process()
    missing = {name for name in undefined_symbols(data) if not llvm.address_of_symbol(name)}
    ours = {name: kernel for name in missing if (kernel := _ours(name))}
    theirs = {name: address for name in missing - ours.keys() if (address := _theirs(name))}
    for name, address in {**theirs, **{name: kernel.address for name, kernel in ours.items()}}.items():
        builder.import_symbol(name, address)
    for symbol in symbols:
        builder.export_symbol(symbol)
    number = next(_library_numbers)
    try:
        tracker = builder.link(_jit(number // _LIBRARIES_PER_JIT), f"kernel{number}")
    except RuntimeError as error:
        unknown = sorted(missing - ours.keys() - theirs.keys())
        reason = f"nobody defines {', '.join(unknown)}" if unknown else str(error)
        raise PassError("obj", "link", f"{symbols[0]}: {reason}") from error
    owner = tracker, tuple(ours.values())
    return {symbol: Kernel(symbol, tracker[symbol], owner) for symbol in symbols}


def _ours(name: str) -> Kernel | None:
    """A function that we made machine code of."""
    if name in SUPPORT_SYMBOLS:
        return _support(name)
    return _team()[name] if name in TEAM_SYMBOLS else None


def _theirs(name: str) -> int:
    """Where a function is that the process has, but doesn't show to everybody; 0 for an unknown one."""
    return openmp_symbols().get(name, 0) if name in OPENMP_SYMBOLS else vendor_address(name)


@cache
def _support(symbol: str) -> Kernel:
    return _link_one(symbol, support_object(symbol))


@cache
def _team() -> dict[str, Kernel]:
    return _load(team_object(), sorted(TEAM_SYMBOLS))


@lru_cache(maxsize=1)
def _jit(generation: int) -> Any:
    """The LLJIT of a generation. The last one made is kept here, older ones by their libraries alone."""
    return llvm.create_lljit_compiler(suppress_errors=True)


@cache
def _load_libraries() -> None:
    initialize()
    for library in ("libc.so.6", "libm.so.6", "libgcc_s.so.1"):
        llvm.load_library_permanently(library)


_RUNALL = """
define void @runall(ptr %functions, ptr %arguments, i64 %n) {
entry:
  %empty = icmp sle i64 %n, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %function_slot = getelementptr inbounds ptr, ptr %functions, i64 %i
  %function = load ptr, ptr %function_slot
  %argument_slot = getelementptr inbounds ptr, ptr %arguments, i64 %i
  %argument = load ptr, ptr %argument_slot
  call void %function(ptr %argument)
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@cache
def _runall() -> Kernel:
    module = parse_assembly(_RUNALL)
    host = resolve_target(load_target("host"))
    return _link_one("runall", machine(host).emit_object(module))


def runall_address() -> int:
    """The address of `void runall(ptr functions, ptr arguments, i64 n)`: functions[i](arguments[i]), in order."""
    return _runall().address
