"""Reductions, scans and softmax. Results are contiguous; sums and products of integers are int64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from mlirdev.lazy.specs.checks import DTYPE_NAMES, fail, not_implemented, require, shown, wrap_dim, wrap_dims
from mlirdev.lazy.specs.layout import elementwise_strides
from mlirdev.lazy.specs.promotion import is_integral, real_of, to_float
from mlirdev.lazy.specs.types import Meta, OutSpec, Row, Shape, Table, rows

Dims = int | tuple[int, ...] | None


def reduced(shape: Shape, dims: Dims, keepdim: bool) -> Shape:
    """The shape without `dims` (none or empty: all)."""
    require(len(shape) <= 64, "only tensors with up to 64 dims are supported")
    if dims is None or dims == ():
        return (1,) * len(shape) if keepdim else ()
    gone = wrap_dims((dims,) if isinstance(dims, int) else dims, len(shape))
    if keepdim:
        return tuple(1 if i in gone else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in gone)


def summed(dtype: torch.dtype) -> torch.dtype:
    return torch.int64 if is_integral(dtype) else dtype


def same(dtype: torch.dtype) -> torch.dtype:
    return dtype


def to_bool(dtype: torch.dtype) -> torch.dtype:
    """uint8 is the exception that all and any keep."""
    return torch.uint8 if dtype is torch.uint8 else torch.bool


def full_sum(self: Meta, dtype: torch.dtype | None = None) -> OutSpec:
    return OutSpec((), dtype or summed(self.dtype))


def dim_sum(self: Meta, dim: Dims, keepdim: bool = False, dtype: torch.dtype | None = None) -> OutSpec:
    return OutSpec(reduced(self.shape, dim, keepdim), dtype or summed(self.dtype))


def full(dtype_rule: Callable[[torch.dtype], torch.dtype]) -> Row:
    """A reduction over everything that takes no dtype."""

    def rule(self: Meta) -> OutSpec:
        return OutSpec((), dtype_rule(self.dtype))

    return rule


def over_dims(dtype_rule: Callable[[torch.dtype], torch.dtype]) -> Row:
    """A reduction over dims that takes no dtype."""

    def rule(self: Meta, dim: Dims, keepdim: bool = False) -> OutSpec:
        return OutSpec(reduced(self.shape, dim, keepdim), dtype_rule(self.dtype))

    return rule


def over_given_dims(dtype_rule: Callable[[torch.dtype], torch.dtype]) -> Row:
    """all.dims and any.dims: None is every dim, () is none at all."""

    def rule(self: Meta, dim: tuple[int, ...] | None, keepdim: bool = False) -> OutSpec:
        if dim == () and self.shape:
            return OutSpec(self.shape, dtype_rule(self.dtype), elementwise_strides(self.shape, [self]))
        return OutSpec(reduced(self.shape, dim, keepdim), dtype_rule(self.dtype))

    return rule


def _mean_dtype(given: torch.dtype | None, of: torch.dtype) -> torch.dtype:
    dtype = given or of
    if is_integral(dtype):
        what = "Optional" if given else "Input"
        fail(
            f"mean(): could not infer output dtype. {what} dtype must be either a floating point or complex dtype. "
            f"Got: {DTYPE_NAMES[dtype]}"
        )
    return dtype


def full_mean(self: Meta, dtype: torch.dtype | None = None) -> OutSpec:
    return OutSpec((), _mean_dtype(dtype, self.dtype))


def dim_mean(self: Meta, dim: Dims, keepdim: bool = False, dtype: torch.dtype | None = None) -> OutSpec:
    return OutSpec(reduced(self.shape, dim, keepdim), _mean_dtype(dtype, self.dtype))


def _require_elements(shape: Shape, dim: int, name: str) -> None:
    if shape and shape[dim] == 0:
        raise IndexError(f"{name}: Expected reduction dim {dim} to have non-zero size.")


def full_extreme(name: str) -> Row:
    """max() and min()."""

    def rule(self: Meta) -> OutSpec:
        require(
            0 not in self.shape,
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument.",
        )
        return OutSpec((), self.dtype)

    return rule


def extreme_with_index(name: str) -> Row:
    """max.dim, min.dim, median.dim …: values and int64 positions."""

    def rule(self: Meta, dim: int, keepdim: bool = False) -> tuple[OutSpec, OutSpec]:
        dim = wrap_dim(dim, len(self.shape))
        _require_elements(self.shape, dim, f"{name}()")
        shape = reduced(self.shape, dim, keepdim) if self.shape else ()
        return OutSpec(shape, self.dtype), OutSpec(shape, torch.int64)

    return rule


def extremes(name: str) -> Row:
    """amax and amin."""

    def rule(self: Meta, dim: tuple[int, ...] = (), keepdim: bool = False) -> OutSpec:
        shape = reduced(self.shape, dim, keepdim)
        if 0 in self.shape:
            require(
                bool(dim),
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument.",
            )
            for d in wrap_dims(dim, len(self.shape)):
                _require_elements(self.shape, d, f"{name}()")
        return OutSpec(shape, self.dtype)

    return rule


def aminmax(self: Meta, dim: int | None, keepdim: bool) -> tuple[OutSpec, OutSpec]:
    if dim is None:
        require(
            0 not in self.shape,
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.",
        )
    else:
        _require_elements(self.shape, wrap_dim(dim, len(self.shape)), "aminmax")
    shape = reduced(self.shape, dim, keepdim) if self.shape else ()
    return OutSpec(shape, self.dtype), OutSpec(shape, self.dtype)


def arg_extreme(name: str) -> Row:
    """argmax and argmin."""

    def rule(self: Meta, dim: int | None = None, keepdim: bool = False) -> OutSpec:
        if dim is not None:
            _require_elements(self.shape, wrap_dim(dim, len(self.shape)), f"{name}()")
        elif 0 in self.shape:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        return OutSpec(reduced(self.shape, dim, keepdim), torch.int64)

    return rule


def variance(name: str) -> Row:
    """var and std; of complex numbers it is real."""

    def rule(self: Meta, dim: Dims, correction: float | None = None, keepdim: bool = False) -> OutSpec:
        _require_floating(self, name)
        return OutSpec(reduced(self.shape, dim, keepdim), real_of(self.dtype))

    return rule


def variance_mean(name: str) -> Row:
    def rule(self: Meta, dim: Dims, correction: float | None = None, keepdim: bool = False) -> tuple[OutSpec, OutSpec]:
        _require_floating(self, name)
        shape = reduced(self.shape, dim, keepdim)
        return OutSpec(shape, real_of(self.dtype)), OutSpec(shape, self.dtype)

    return rule


def _require_floating(self: Meta, name: str) -> None:
    require(not is_integral(self.dtype), f"{name} only support floating point and complex dtypes")


def count_nonzero(self: Meta, dim: Dims) -> OutSpec:
    return OutSpec(reduced(self.shape, dim, False), torch.int64)


def logsumexp(self: Meta, dim: tuple[int, ...], keepdim: bool = False) -> OutSpec:
    return OutSpec(reduced(self.shape, dim, keepdim), to_float(self.dtype))


def vector_norm(
    self: Meta, ord: float = 2, dim: Dims = None, keepdim: bool = False, dtype: torch.dtype | None = None
) -> OutSpec:
    require(
        not is_integral(self.dtype),
        f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {_name(self.dtype)}",
    )
    return OutSpec(reduced(self.shape, dim, keepdim), real_of(dtype or self.dtype))


def norm(self: Meta, p: float | None = None, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> OutSpec:
    return OutSpec(reduced(self.shape, dim, keepdim), real_of(dtype or self.dtype))


def full_norm(self: Meta, p: float | None = 2, dtype: torch.dtype | None = None) -> OutSpec:
    return OutSpec((), real_of(dtype or self.dtype))


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def scan(self: Meta, dim: int, dtype: torch.dtype | None = None) -> OutSpec:
    """cumsum and cumprod."""
    wrap_dim(dim, len(self.shape))
    return OutSpec(self.shape, dtype or summed(self.dtype))


def scan_with_index(self: Meta, dim: int) -> tuple[OutSpec, OutSpec]:
    wrap_dim(dim, len(self.shape))
    return OutSpec(self.shape, self.dtype), OutSpec(self.shape, torch.int64)


def logcumsumexp(self: Meta, dim: int) -> OutSpec:
    wrap_dim(dim, len(self.shape))
    if is_integral(self.dtype):
        not_implemented("logcumsumexp_out_cpu", self.dtype)
    return OutSpec(self.shape, self.dtype)


def softmax(name: str) -> Row:
    def rule(self: Meta, dim: int, half_to_float: bool = False) -> OutSpec:
        require(not half_to_float, "softmax with half to float conversion is not supported on CPU")
        wrap_dim(dim, len(self.shape))
        if is_integral(self.dtype) or self.dtype.is_complex:
            not_implemented(name, self.dtype)
        return OutSpec(self.shape, self.dtype)

    return rule


def softmax_backward(grad_output: Meta, output: Meta, dim: int, input_dtype: torch.dtype) -> OutSpec:
    require(
        grad_output.shape == output.shape,
        f"The size of grad {shown(grad_output.shape)} must match the size of output {shown(output.shape)}",
    )
    wrap_dim(dim, len(output.shape))
    return OutSpec(grad_output.shape, input_dtype)


def safe_softmax(self: Meta, dim: int, dtype: torch.dtype | None = None) -> OutSpec:
    wrap_dim(dim, len(self.shape))
    return OutSpec(self.shape, dtype or self.dtype)


def trace(self: Meta) -> OutSpec:
    require(len(self.shape) == 2, f"trace: expected a matrix, but got tensor with dim {len(self.shape)}")
    return OutSpec((), summed(self.dtype))


def dist(self: Meta, other: Meta, p: float = 2) -> OutSpec:
    return OutSpec((), real_of(self.dtype))


def hash_tensor(self: Meta, dim: Dims = (), keepdim: bool = False, mode: int = 0) -> OutSpec:
    return OutSpec(reduced(self.shape, dim, keepdim), torch.uint64)


TABLE: Table = {
    **rows(full_sum, "sum prod"),
    **rows(dim_sum, "sum.dim_IntList prod.dim_int nansum"),
    **rows(full_mean, "mean"),
    **rows(dim_mean, "mean.dim"),
    **rows(full(to_bool), "all any _is_all_true _is_any_true"),
    **rows(over_dims(to_bool), "all.dim any.dim"),
    **rows(over_given_dims(to_bool), "all.dims any.dims"),
    **rows(full_extreme("max"), "max"),
    **rows(full_extreme("min"), "min"),
    **rows(full(same), "median nanmedian"),
    **rows(extreme_with_index("max"), "max.dim"),
    **rows(extreme_with_index("min"), "min.dim"),
    **rows(extreme_with_index("median"), "median.dim"),
    **rows(extreme_with_index("nanmedian"), "nanmedian.dim"),
    **rows(extremes("amax"), "amax"),
    **rows(extremes("amin"), "amin"),
    **rows(aminmax, "aminmax"),
    **rows(arg_extreme("argmax"), "argmax"),
    **rows(arg_extreme("argmin"), "argmin"),
    **rows(variance("std and var"), "var.correction std.correction"),
    **rows(variance_mean("std_mean and var_mean"), "var_mean.correction std_mean.correction"),
    **rows(count_nonzero, "count_nonzero count_nonzero.dim_IntList"),
    **rows(logsumexp, "logsumexp"),
    **rows(vector_norm, "linalg_vector_norm"),
    **rows(norm, "norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype"),
    **rows(full_norm, "norm.Scalar norm.ScalarOpt_dtype"),
    **rows(scan, "cumsum cumprod"),
    **rows(scan_with_index, "cummax cummin"),
    **rows(logcumsumexp, "logcumsumexp _logcumsumexp"),
    **rows(softmax("softmax_lastdim_kernel_impl"), "_softmax"),
    **rows(softmax("log_softmax_lastdim_kernel_impl"), "_log_softmax"),
    **rows(softmax_backward, "_softmax_backward_data _log_softmax_backward_data"),
    **rows(safe_softmax, "_safe_softmax"),
    **rows(trace, "trace"),
    **rows(dist, "dist"),
    **rows(hash_tensor, "hash_tensor"),
}
