"""Checks shared by the rules, with the exception types and messages of eager PyTorch."""

from __future__ import annotations

from typing import NoReturn

import torch

from mlirdev.lazy.specs.types import Meta, Shape


def fail(message: str) -> NoReturn:
    """What TORCH_CHECK raises."""
    raise RuntimeError(message)


def require(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


def wrap_dim(dim: int, rank: int) -> int:
    """A dim counted from the front; a 0-d tensor is treated as having one dim."""
    rank = rank or 1
    if -rank <= dim < rank:
        return dim % rank
    raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")


def wrap_dims(dims: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Several dims, none twice."""
    wrapped: list[int] = []
    for dim in dims:
        dim = wrap_dim(dim, rank)
        require(dim not in wrapped, f"dim {dim} appears multiple times in the list of dims")
        wrapped.append(dim)
    return tuple(wrapped)


def broadcast(a: Shape, b: Shape) -> Shape:
    """The common shape of two."""
    if a == b or not b:
        return a
    if not a:
        return b
    rank = max(len(a), len(b))
    padded_a, padded_b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    return tuple(map(_common, padded_a, padded_b, range(rank)))


def _common(a: int, b: int, dim: int) -> int:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    fail(f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}")


def broadcast_all(metas: list[Meta]) -> Shape:
    shape = metas[0].shape
    for meta in metas[1:]:
        shape = broadcast(shape, meta.shape)
    return shape


def check_expandable(shape: Shape, target: Shape, message: str) -> None:
    """`shape` must broadcast to exactly `target`."""
    lead = len(target) - len(shape)
    fits = lead >= 0 and all(s in (1, t) for s, t in zip(shape, target[lead:], strict=True))
    require(fits, message)


def shown(shape: Shape) -> str:
    """A shape as ATen prints it."""
    return "[" + ", ".join(map(str, shape)) + "]"


def crossed(shape: Shape) -> str:
    """A shape as ATen's matmul messages print it: 2x3."""
    return "x".join(map(str, shape))


# The names that ATen's messages give to element types.
DTYPE_NAMES = {
    torch.bool: "Bool",
    torch.uint8: "Byte",
    torch.int8: "Char",
    torch.int16: "Short",
    torch.int32: "Int",
    torch.int64: "Long",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.float32: "Float",
    torch.float64: "Double",
    torch.complex32: "ComplexHalf",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
    torch.uint16: "UInt16",
    torch.uint32: "UInt32",
    torch.uint64: "UInt64",
    torch.float8_e5m2: "Float8_e5m2",
    torch.float8_e4m3fn: "Float8_e4m3fn",
}


def title(meta: Meta) -> str:
    return DTYPE_NAMES[meta.dtype]


def not_implemented(kernel: str, dtype: torch.dtype) -> NoReturn:
    """What a CPU kernel raises for an element type it doesn't know."""
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{DTYPE_NAMES.get(dtype, dtype)}'")


def refuse_unless(ok: bool, kernel: str, dtype: torch.dtype) -> None:
    if not ok:
        not_implemented(kernel, dtype)


# How C++ names the element types in some messages.
C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long long",
    "int32": "int",
    "int16": "short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def c_name(meta: Meta) -> str:
    return _c_name(meta.dtype)


def _c_name(dtype: torch.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    return C_NAMES.get(name, name)


# How conversions of numbers name the integers, where not so.
_CONVERTED_TO = {torch.int64: "int64_t", torch.int16: "int16_t", torch.int8: "int8_t", torch.uint8: "uint8_t"}


def overflow(dtype: torch.dtype) -> NoReturn:
    """What the conversion of a number raises that an element type doesn't hold."""
    fail(f"value cannot be converted to type {_CONVERTED_TO.get(dtype) or _c_name(dtype)} without overflow")
