"""Element types and sizes as MLIR spells them."""

from __future__ import annotations

from mlirdev.dtypes import DType
from mlirdev.plan import PlanDim

# The numbers of torch's ScalarType, which operators take as their dtype argument.
TORCH_CODE: dict[DType, int] = {
    DType.u8: 0,
    DType.i8: 1,
    DType.i16: 2,
    DType.i32: 3,
    DType.i64: 4,
    DType.f16: 5,
    DType.f32: 6,
    DType.f64: 7,
    DType.c64: 9,
    DType.c128: 10,
    DType.i1: 11,
    DType.bf16: 15,
    DType.f8e5m2: 23,
    DType.f8e4m3fn: 24,
    DType.u16: 27,
    DType.u32: 28,
    DType.u64: 29,
}

_TORCH_INTEGER = {DType.i64: "si64", DType.i32: "si32", DType.i16: "si16", DType.i8: "si8"}


def torch_element(dtype: DType) -> str:
    """The torch dialect's name: integers carry their sign."""
    return _TORCH_INTEGER.get(dtype, dtype.value)


def torch_tensor(shape: tuple[PlanDim, ...], dtype: DType) -> str:
    dims = ",".join(str(d) if isinstance(d, int) else "?" for d in shape)
    return f"!torch.vtensor<[{dims}],{torch_element(dtype)}>"


def builtin_tensor(shape: tuple[PlanDim, ...], dtype: DType) -> str:
    dims = "".join(f"{d}x" if isinstance(d, int) else "?x" for d in shape)
    return f"tensor<{dims}{dtype.builtin}>"
