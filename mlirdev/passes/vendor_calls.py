"""What calls a vendor's function: a function of the kernel's module per call, written for the function's signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from mlirdev.dtypes import DType
from mlirdev.vendor import VendorKernel


@dataclass(frozen=True)
class Matrix:
    """A matrix in a buffer: row-major, or the transpose of one that is, with `leading` elements from the start of one
    contiguous line to that of the next."""

    memref: Any
    transposed: bool
    leading: int


Matrices: TypeAlias = "tuple[Matrix, Matrix, Matrix]"


def define(module: Any, reference: str, kernel: VendorKernel, matrices: Matrices, accumulates: bool) -> str:
    """Define `name(A, B, C, their first elements, m, n, k)` in the module, which calls `reference`; the name."""
    name = f"vendor_call_{len(list(module.body.operations))}"
    types = [str(matrix.memref.type) for matrix in matrices]
    elements = (kernel.operands, kernel.operands, kernel.result)
    declaration, call = _SIGNATURES[kernel.signature](f'@"{reference}"', kernel.result, matrices, accumulates)
    text = f"""
    {declaration}
    func.func private @{name}(%a: {types[0]}, %b: {types[1]}, %c: {types[2]},
        %a_first: index, %b_first: index, %c_first: index, %m: index, %n: index, %k: index) {{
      {" ".join(_pointer(*each) for each in zip("abc", types, elements, strict=True))}
      {" ".join(f"%{size}_i32 = arith.index_cast %{size} : index to i32" for size in "mnk")}
      {call}
      return
    }}"""
    known = {_symbol(view.operation) for view in module.body.operations}
    parsed = ir.Module.parse(text)
    # Lines of this text are nobody's.
    PassManager.parse("builtin.module(strip-debuginfo)").run(parsed.operation)
    for view in parsed.body.operations:
        if _symbol(view.operation) not in known:
            module.body.append(view.operation.clone())
    return name


def _symbol(op: Any) -> str:
    return str(op.attributes["sym_name"].value)


def _pointer(name: str, type_: str, element: str) -> str:
    """The address of a matrix's first element."""
    return f"""
      %{name}_base = memref.extract_aligned_pointer_as_index %{name} : {type_} -> index
      %{name}_size = arith.constant {DType(element).itemsize} : index
      %{name}_offset = arith.muli %{name}_first, %{name}_size : index
      %{name}_index = arith.addi %{name}_base, %{name}_offset : index
      %{name}_i64 = arith.index_cast %{name}_index : index to i64
      %{name}_ptr = llvm.inttoptr %{name}_i64 : i64 to !llvm.ptr"""


def _fortran(function: str, scalar: str, matrices: Matrices, accumulates: bool) -> tuple[str, str]:
    """Column-major: Cᵀ = Bᵀ·Aᵀ, all arguments by address."""
    a, b, c = matrices
    given = {
        "b_op": ("i8", ord("T" if b.transposed else "N")),
        "a_op": ("i8", ord("T" if a.transposed else "N")),
        "n_at": ("i32", "%n_i32"),
        "m_at": ("i32", "%m_i32"),
        "k_at": ("i32", "%k_i32"),
        "alpha": (scalar, 1.0),
        "b_ptr": None,
        "b_leading": ("i32", b.leading),
        "a_ptr": None,
        "a_leading": ("i32", a.leading),
        "beta": (scalar, float(accumulates)),
        "c_ptr": None,
        "c_leading": ("i32", c.leading),
    }
    stored = [_by_address(name, *what) for name, what in given.items() if what is not None]
    one = "%one = llvm.mlir.constant(1 : i64) : i64"
    return _called(function, dict.fromkeys(given, "!llvm.ptr"), [one, *stored])


def _by_address(name: str, type_: str, value: str | int | float) -> str:
    """A number in memory of its own, at `%name`."""
    made = "" if isinstance(value, str) else f"%{name}_value = llvm.mlir.constant({value} : {type_}) : {type_}"
    return f"""{made}
      %{name} = llvm.alloca %one x {type_} : (i64) -> !llvm.ptr
      llvm.store {value if isinstance(value, str) else f"%{name}_value"}, %{name} : {type_}, !llvm.ptr"""


_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 111, 112


def _cblas(function: str, scalar: str, matrices: Matrices, accumulates: bool) -> tuple[str, str]:
    a, b, c = matrices
    given: dict[str, tuple[str, int | float | None]] = {
        "order": ("i32", _ROW_MAJOR),
        "a_op": ("i32", _TRANSPOSED if a.transposed else _AS_IT_IS),
        "b_op": ("i32", _TRANSPOSED if b.transposed else _AS_IT_IS),
        "m_i32": ("i32", None),
        "n_i32": ("i32", None),
        "k_i32": ("i32", None),
        "alpha": (scalar, 1.0),
        "a_ptr": ("!llvm.ptr", None),
        "a_leading": ("i32", a.leading),
        "b_ptr": ("!llvm.ptr", None),
        "b_leading": ("i32", b.leading),
        "beta": (scalar, float(accumulates)),
        "c_ptr": ("!llvm.ptr", None),
        "c_leading": ("i32", c.leading),
    }
    made = [
        f"%{name} = llvm.mlir.constant({value} : {type_}) : {type_}"
        for name, (type_, value) in given.items()
        if value is not None
    ]
    return _called(function, {name: type_ for name, (type_, _) in given.items()}, made)


def _called(function: str, arguments: Mapping[str, str], before: Sequence[str]) -> tuple[str, str]:
    """The declaration of a function with these arguments, by name and type, and its call behind what makes them."""
    names, types = ", ".join(f"%{name}" for name in arguments), ", ".join(arguments.values())
    call = f"func.call {function}({names}) : ({types}) -> ()"
    return f"func.func private {function}({types})", "\n".join([*before, call])


# By signature: the function's declaration, and what calls it where %a_ptr, %m_i32 and so on are there.
_SIGNATURES: dict[str, Callable[[str, str, Matrices, bool], tuple[str, str]]] = {
    "gemm-fortran": _fortran,
    "gemm-cblas": _cblas,
}
