"""Element types that an operator's CPU kernel doesn't know: refused when recorded, in eager's words.

One row: what is refused (b bool, i integers, j integers but uint8, k integers but int64, h half precision, c complex),
by which kernel, for which overloads.
The dtype asked is the promoted one of the leading operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import torch

from mlirdev.lazy.specs.checks import DTYPE_NAMES, not_implemented
from mlirdev.lazy.specs.promotion import result_dtype
from mlirdev.lazy.specs.types import full_name

HALF = (torch.float16, torch.bfloat16)


class Support(NamedTuple):
    """Of an overload: the kinds that it refuses, how it says so, and how many operands promote."""

    refused: str
    refuse: Callable[[torch.dtype], NoReturn]
    operands: int

    def check(self, args: tuple[Any, ...]) -> None:
        dtype = result_dtype(args[: self.operands])
        if any(k in self.refused for k in kinds(dtype)):
            self.refuse(dtype)


def kind(dtype: torch.dtype) -> str:
    if dtype is torch.bool:
        return "b"
    if dtype.is_complex:
        return "c"
    return "i" if not dtype.is_floating_point else "h" if dtype in HALF else "f"


def kinds(dtype: torch.dtype) -> str:
    """All the kinds that a dtype is of."""
    if kind(dtype) != "i":
        return kind(dtype)
    return "i" + "j" * (dtype is not torch.uint8) + "k" * (dtype is not torch.int64)


def kernel(name: str) -> Callable[[torch.dtype], NoReturn]:
    return lambda dtype: not_implemented(name, dtype)


def says(message: str, error: type[Exception] = RuntimeError) -> Callable[[torch.dtype], NoReturn]:
    """A refusal in words of its own; {} is the dtype's name."""

    def refuse(dtype: torch.dtype) -> NoReturn:
        raise error(message.format(DTYPE_NAMES[dtype]))

    return refuse


def rows(refused: str, refuse: Callable[[torch.dtype], NoReturn], names: str, operands: int = 1) -> dict[str, Support]:
    return {full_name(name): Support(refused, refuse, operands) for name in names.split()}


def vml(refused: str, names: str) -> dict[str, Support]:
    """Unary kernels called `<name>_vml_cpu`."""
    return {k: v for name in names.split() for k, v in rows(refused, kernel(f"{name}_vml_cpu"), name).items()}


def cpu(refused: str, names: str, operands: int = 1) -> dict[str, Support]:
    """Kernels called `<name>_cpu`, without the `special_` of the overload."""
    table: dict[str, Support] = {}
    for name in names.split():
        table |= rows(refused, kernel(f"{name.removeprefix('special_').split('.')[0]}_cpu"), name, operands)
    return table


USE_SGN = "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
    "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
    "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for "
    "float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), "
    "for all dtypes."
)
SPECIAL_UNARY = """
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 erfcx log_ndtr modified_bessel_i0 modified_bessel_i1 modified_bessel_k0
modified_bessel_k1 ndtri scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0
"""
SPECIAL_BINARY = """
zeta chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
"""
NEAREST = "upsample_nearest1d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact3d"


def complex_unsupported(name: str, otherwise: str, refused: str) -> dict[str, Support]:
    """Complex is refused in words of its own, other kinds by the kernel."""

    def refuse(dtype: torch.dtype) -> NoReturn:
        if dtype.is_complex:
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        not_implemented(otherwise, dtype)

    return rows(refused, refuse, name)


def says_kind(name: str) -> Callable[[torch.dtype], NoReturn]:
    def refuse(dtype: torch.dtype) -> NoReturn:
        raise RuntimeError(f"{name}(): does not support {'complex' if dtype.is_complex else 'bool'} input")

    return refuse


def clamp_bound(bound: str) -> dict[str, Support]:
    def refuse(dtype: torch.dtype) -> NoReturn:
        if dtype.is_complex:
            raise NotImplementedError("clamp is not supported for complex types")
        not_implemented(f"clamp_{bound}_scalar_cpu", dtype)

    return rows("bc", refuse, f"clamp_{bound}", operands=2)


def shifts(direction: str) -> str:
    return " ".join(f"bitwise_{direction}_shift.{o}" for o in ("Tensor", "Tensor_Scalar", "Scalar_Tensor"))


TABLE: dict[str, Support] = {
    **vml("bc", "round"),
    **complex_unsupported("ceil", "ceil_vml_cpu", "bc"),
    **complex_unsupported("floor", "floor_vml_cpu", "bc"),
    **complex_unsupported("trunc", "trunc_vml_cpu", "bc"),
    **vml("c", "erf erfc erfinv i0 lgamma"),
    **cpu("bic", "frac"),
    **cpu("b", "abs"),
    **cpu("c", "logit special_entr special_i0e special_i1 special_i1e"),
    **rows("c", kernel("digamma"), "digamma"),
    **rows("c", says(USE_SGN, NotImplementedError), "sign"),
    **rows("c", says("signbit is not implemented for complex tensors.", NotImplementedError), "signbit"),
    **rows("c", says("isposinf does not support complex inputs."), "isposinf"),
    **rows("c", says("isneginf does not support complex inputs."), "isneginf"),
    **rows("c", says("deg2rad is not supported for complex tensors."), "deg2rad"),
    **rows("c", says("rad2deg is not supported for complex tensors."), "rad2deg"),
    **rows("b", says("The `+` operator, on a bool tensor is not supported."), "positive"),
    **cpu("bc", "fmod.Tensor fmod.Scalar remainder.Tensor remainder.Scalar remainder.Scalar_Tensor", operands=2),
    **rows("bc", kernel("div_floor_cpu"), "floor_divide floor_divide.Scalar", operands=2),
    **cpu("bic", "hypot nextafter logaddexp2 igamma igammac", operands=2),
    **cpu("bi", "logaddexp", operands=2),
    **cpu("bfhc", "gcd lcm", operands=2),
    **cpu("c", "atan2 copysign.Tensor xlogy.Tensor special_xlog1py", operands=2),
    **cpu("c", "lt.Tensor le.Tensor gt.Tensor ge.Tensor lt.Scalar le.Scalar gt.Scalar ge.Scalar", operands=2),
    **rows("c", says("fmax not implemented for complex tensors."), "fmax", operands=2),
    **rows("c", says("fmin not implemented for complex tensors."), "fmin", operands=2),
    **rows("c", says("maximum not implemented for complex tensors."), "maximum", operands=2),
    **rows("c", says("minimum not implemented for complex tensors."), "minimum", operands=2),
    **rows("c", says("heaviside is not yet implemented for complex tensors."), "heaviside", operands=2),
    **rows("b", kernel("lshift_cpu"), f"{shifts('left')} __lshift__.Tensor __lshift__.Scalar", operands=2),
    **rows("b", kernel("rshift_cpu"), f"{shifts('right')} __rshift__.Tensor __rshift__.Scalar", operands=2),
    **rows("b", kernel("pow"), "pow.Tensor_Tensor pow.Scalar", operands=2),
    **clamp_bound("min"),
    **clamp_bound("max"),
    **rows("bc", kernel("threshold_cpu"), "threshold"),
    **rows(
        "bc",
        says("Unsupported input type encountered for isin(): {}"),
        "isin.Tensor_Tensor isin.Tensor_Scalar",
    ),
    **rows("bi", kernel("lerp_kernel_tensor"), "lerp.Tensor"),
    **rows("bi", kernel("lerp_kernel_scalar"), "lerp.Scalar"),
    **rows("b", kernel("addcmul_cpu_out"), "addcmul", operands=3),
    **cpu("c", "mish softplus hardsigmoid hardswish hardshrink leaky_relu"),
    **rows("c", kernel("elu_cpu"), "elu celu selu"),
    **rows("c", kernel("GeluKernelImpl"), "gelu"),
    **rows("bic", kernel("GeluBackwardKernelImpl"), "gelu_backward", operands=2),
    **rows("bic", kernel("hardsigmoid_backward"), "hardsigmoid_backward", operands=2),
    **cpu("bic", "mish_backward hardswish_backward logit_backward glu", operands=1),
    **cpu("bi", "silu_backward sigmoid_backward tanh_backward"),
    **rows("c", kernel("max_all"), "max"),
    **rows("c", kernel("min_all"), "min"),
    **rows("bc", kernel("median_cpu"), "median nanmedian"),
    **rows("c", kernel("max_values_cpu"), "amax"),
    **rows("c", kernel("min_values_cpu"), "amin"),
    **cpu("c", "aminmax mode"),
    **rows("bc", says_kind("argmax"), "argmax"),
    **rows("bc", says_kind("argmin"), "argmin"),
    **rows("b", kernel("trace"), "trace"),
    **rows("c", says("nansum on CPU does not support complex inputs"), "nansum"),
    **rows("b", kernel("addmm_impl_cpu_"), "mm addmm linear"),
    **rows("bihc", kernel("pdist"), "_pdist_forward"),
    **rows("i", kernel("im2col_out_cpu"), "im2col"),
    **rows("i", kernel("col2im_out_cpu"), "col2im"),
    **rows("bkc", kernel("avg_pool2d"), "avg_pool2d"),
    **rows("bkhc", kernel("avg_pool3d_out_frame"), "avg_pool3d"),
    **rows("bc", kernel("max_pool2d"), "max_pool2d_with_indices"),
    **rows("bic", kernel("max_unpool2d"), "max_unpool2d"),
    **rows("bic", kernel("max_unpool3d"), "max_unpool3d"),
    **rows("bic", kernel("adaptive_avg_pool2d"), "_adaptive_avg_pool2d"),
    **rows("bic", kernel("adaptive_avg_pool3d_cpu"), "_adaptive_avg_pool3d"),
    **rows("bjc", kernel("upsample_nearest2d_channels_last"), "upsample_nearest2d _upsample_nearest_exact2d"),
    **rows("bjc", kernel("compute_indices_weights_nearest"), NEAREST),
    **rows("bic", kernel("compute_indices_weights_linear"), "upsample_linear1d upsample_trilinear3d"),
    **rows("bjc", kernel("upsample_bilinear2d_channels_last"), "upsample_bilinear2d"),
    **rows("bjc", kernel("compute_indices_weights_cubic"), "upsample_bicubic2d"),
    **rows("bjhc", kernel("compute_index_ranges_weights"), "_upsample_bilinear2d_aa _upsample_bicubic2d_aa"),
    **rows("bihc", kernel("multi_margin_loss_cpu_kernel"), "multi_margin_loss"),
    **rows("bihc", kernel("multilabel_margin_loss_forward_out_frame"), "multilabel_margin_loss_forward"),
    **rows("bic", kernel("adaptive_max_pool2d"), "adaptive_max_pool2d"),
    **rows("bic", kernel("adaptive_max_pool3d_cpu"), "adaptive_max_pool3d"),
    **rows("bic", kernel("mse_cpu"), "mse_loss", operands=2),
    **rows("bic", kernel("smooth_l1_cpu"), "smooth_l1_loss", operands=2),
    **rows("bic", kernel("huber_cpu"), "huber_loss", operands=2),
    **rows("bic", kernel("binary_cross_entropy"), "binary_cross_entropy"),
    **rows("bic", kernel("LayerNormKernelImpl"), "native_layer_norm"),
    **rows("c", says(" Sort does not support complex dtypes on CPU"), "sort sort.stable"),
    **cpu("hc", " ".join(f"special_{name}" for name in SPECIAL_UNARY.split())),
    **cpu("hc", " ".join(f"special_{name}" for name in SPECIAL_BINARY.split()), operands=2),
    **rows("bi", says(ADDCDIV), "addcdiv"),
    **rows("bic", kernel("prelu_cpu"), "_prelu_kernel"),
    **rows("bic", kernel("log_sigmoid_cpu"), "log_sigmoid_forward"),
    **rows("bic", kernel("log_sigmoid_backward_cpu"), "log_sigmoid_backward"),
}
