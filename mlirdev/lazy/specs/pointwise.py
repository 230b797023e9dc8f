"""Elementwise operators: broadcast shape, promoted dtype, TensorIterator's strides.

Each kind is one function of the operands; a row ignores the rest of its overload's arguments (`alpha`,
`rounding_mode`, …). Activations and losses, with their backwards, have their own files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from mlirdev.lazy.specs.checks import broadcast_all, c_name, not_implemented, require, title
from mlirdev.lazy.specs.layout import elementwise_strides, like_strides
from mlirdev.lazy.specs.promotion import complex_of, is_integral, real_of, result_dtype, to_float
from mlirdev.lazy.specs.types import Meta, OutSpec, Row, Table, rows

DTypeRule: TypeAlias = Callable[[torch.dtype], torch.dtype]

# What ATen makes of a Python number beside tensors; only its shape matters here.
NUMBER = Meta((), torch.float64)

NEG_BOOL = (
    "Negation, the `-` operator, on a bool tensor is not supported. "
    "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
)


def elementwise(operands: tuple[Any, ...], dtype: torch.dtype | None = None) -> OutSpec:
    """The result of operands (tensors, numbers, None), in the given or promoted dtype."""
    first = operands[0]
    if len(operands) == 1 and first.stride is None:
        return OutSpec(first.shape, dtype or first.dtype)
    metas = [o if type(o) is Meta else NUMBER for o in operands if o is not None]
    shape = broadcast_all(metas)
    return OutSpec(shape, dtype or result_dtype(operands), elementwise_strides(shape, metas))


def pointwise(count: int, dtype_rule: DTypeRule | None = None) -> Row:
    """A row whose first `count` arguments are the operands; `dtype_rule` maps the promoted dtype to the result's."""

    def rule(*args: Any) -> OutSpec:
        operands = args[:count]
        promoted = result_dtype(operands)
        return elementwise(operands, dtype_rule(promoted) if dtype_rule else promoted)

    return rule


def unary(count: int) -> Row:
    """A row of one tensor and numbers, which join the promotion but not TensorIterator."""

    def rule(*args: Any) -> OutSpec:
        return elementwise(args[:1], result_dtype(args[:count]))

    return rule


def predicate(count: int) -> Row:
    """A row that answers bool."""

    def rule(*args: Any) -> OutSpec:
        return elementwise(args[:count], torch.bool)

    return rule


def integers_only(kernel: str) -> DTypeRule:
    """Integers and bool stay; others fail as the kernel of that name does."""

    def rule(dtype: torch.dtype) -> torch.dtype:
        return dtype if is_integral(dtype) else not_implemented(kernel, dtype)

    return rule


def absolute(self: Meta) -> OutSpec:
    if self.dtype.is_complex:
        return OutSpec(self.shape, real_of(self.dtype), like_strides(self))
    return elementwise((self,))


def angle(self: Meta) -> OutSpec:
    if self.dtype.is_complex:
        return OutSpec(self.shape, real_of(self.dtype))
    return elementwise((self,), to_float(self.dtype))


def mvlgamma(self: Meta, p: int) -> OutSpec:
    return OutSpec(self.shape, to_float(self.dtype))


def nan_to_num(self: Meta, *_: Any) -> OutSpec:
    return OutSpec(self.shape, self.dtype, like_strides(self))


def ldexp(self: Meta, other: Meta) -> OutSpec:
    """`self * 2 ** other`, where the power is contiguous."""
    if self.dtype.is_floating_point and other.dtype is torch.bool:
        not_implemented("ldexp_cpu_exp", other.dtype)
    return elementwise((self, Meta(other.shape, other.dtype)), to_float(result_dtype((self, other))))


def _check_alpha(dtype: torch.dtype, alpha: Any) -> None:
    require(not isinstance(alpha, bool) or dtype is torch.bool, "Boolean alpha only supported for Boolean results.")
    require(
        not isinstance(alpha, float) or not is_integral(dtype),
        "For integral input tensors, argument alpha must not be a floating point number.",
    )


def add(self: Meta, other: Any, alpha: Any = 1) -> OutSpec:
    promoted = result_dtype((self, other))
    _check_alpha(promoted, alpha)
    return elementwise((self, other), promoted)


def subtract_from(self: Meta, other: Any, alpha: Any = 1) -> OutSpec:
    """rsub: eager calls sub with the operands swapped, and the first one's strides count for more."""
    spec = subtract(self, other, alpha)
    return elementwise((other, self), spec.dtype)


def round_decimals(self: Meta, decimals: int) -> OutSpec:
    if is_integral(self.dtype):
        not_implemented("round_cpu" if decimals else "round_vml_cpu", self.dtype)
    return elementwise((self,))


def subtract(self: Meta, other: Any, alpha: Any = 1) -> OutSpec:
    promoted = result_dtype((self, other))
    other_dtype = other.dtype if type(other) is Meta else torch.bool if isinstance(other, bool) else None
    if self.dtype is torch.bool and other_dtype is torch.bool:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if torch.bool in (self.dtype, other_dtype):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    _check_alpha(promoted, alpha)
    return elementwise((self, other), promoted)


def negative(self: Meta) -> OutSpec:
    require(self.dtype is not torch.bool, NEG_BOOL)
    return elementwise((self,))


def div_mode(self: Meta, other: Any, rounding_mode: str | None) -> OutSpec:
    promoted = result_dtype((self, other))
    if rounding_mode and (promoted is torch.bool or promoted.is_complex):
        not_implemented(f"div_{rounding_mode}_cpu", promoted)
    return elementwise((self, other), promoted if rounding_mode else to_float(promoted))


def power(base: Any, exponent: Any) -> OutSpec:
    """Integers to a negative power have no integer result: only a number's sign is known here."""
    promoted = result_dtype((base, exponent))
    if type(exponent) is int and exponent < 0 and is_integral(base.dtype):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if type(base) is not Meta:  # pow.Scalar
        return OutSpec(exponent.shape, promoted)
    return elementwise((base, exponent) if type(exponent) is Meta else (base,), promoted)


def polygamma(n: int, self: Meta) -> OutSpec:
    require(n >= 0, "polygamma(n, x) does not support negative n.")
    return elementwise((self,), to_float(self.dtype))


def where(condition: Meta, self: Meta, other: Meta) -> OutSpec:
    if condition.dtype not in (torch.bool, torch.uint8):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {title(condition)}"
        )
    dtype = result_dtype((self, other))
    return elementwise((condition, self, other), dtype)


def same_dtypes(count: int, names: tuple[str, ...]) -> Row:
    """No promotion: the tensors among the first `count` arguments must have one dtype."""

    def rule(*args: Any) -> OutSpec:
        first, *others = args[:count]
        for name, other in zip(names, others, strict=True):
            if type(other) is Meta and other.dtype is not first.dtype and (other.shape or name == "end"):
                raise RuntimeError(f"expected dtype {c_name(first)} for `{name}` but got dtype {c_name(other)}")
        return elementwise(args[:count], first.dtype)

    return rule


def clamp(self: Meta, min: Any = None, max: Any = None) -> OutSpec:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    tensors = tuple(bound for bound in (min, max) if type(bound) is Meta)
    dtype = result_dtype((self, min, max))
    if dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    if dtype is torch.bool and len(tensors) != 1:
        which = "_min" if max is None else "_max" if min is None else ""
        not_implemented("clamp_cpu" if tensors else f"clamp{which}_scalar_cpu", dtype)
    return elementwise((self, *tensors), dtype)


def complex_pair(self: Meta, other: Meta) -> OutSpec:
    """complex and polar: two real tensors of one dtype."""
    fits = all(m.dtype in (torch.float16, torch.float32, torch.float64) for m in (self, other))
    require(fits, f"Expected both inputs to be Half, Float or Double tensors but got {title(self)} and {title(other)}")
    require(
        self.dtype is other.dtype,
        f"Expected object of scalar type {title(self)} but got scalar type {title(other)} for second argument",
    )
    return elementwise((self, other), complex_of(self.dtype))


def frexp(self: Meta) -> tuple[OutSpec, OutSpec]:
    if not self.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    strides = like_strides(self)
    return OutSpec(self.shape, self.dtype, strides), OutSpec(self.shape, torch.int32, strides)


UNARY_FLOAT = """
acos acosh asin asinh atan atanh cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 i0 lgamma log log10 log1p
log2 logit rad2deg reciprocal rsqrt sigmoid sin sinc sinh sqrt tan tanh special_airy_ai special_bessel_j0
special_bessel_j1 special_bessel_y0 special_bessel_y1 special_entr special_erfcx special_i0e special_i1 special_i1e
special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
special_spherical_bessel_j0
"""

BINARY_FLOAT = """
atan2 copysign.Scalar copysign.Tensor div.Scalar div.Tensor xlogy.Tensor xlogy.Scalar_Other xlogy.Scalar_Self
special_xlog1py special_xlog1py.other_scalar special_xlog1py.self_scalar special_zeta special_zeta.other_scalar
special_zeta.self_scalar
"""

POLYNOMIALS = """
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
"""

COMPARISONS = "eq ne lt le gt ge"

TABLE: Table = {
    **rows(pointwise(1), "ceil floor round trunc frac sign sgn positive square"),
    **rows(pointwise(1), "_conj_physical conj_physical"),
    **rows(pointwise(1, integers_only("bitwise_not_cpu")), "bitwise_not"),
    **rows(absolute, "abs"),
    **rows(angle, "angle"),
    **rows(round_decimals, "round.decimals"),
    **rows(add, "add.Tensor add.Scalar"),
    **rows(pointwise(1, to_float), UNARY_FLOAT),
    **rows(predicate(1), "isnan isinf isposinf isneginf isfinite signbit logical_not"),
    **rows(negative, "neg"),
    **rows(polygamma, "polygamma"),
    **rows(frexp, "frexp.Tensor"),
    **rows(mvlgamma, "mvlgamma"),
    **rows(nan_to_num, "nan_to_num"),
    **rows(ldexp, "ldexp.Tensor"),
    **rows(pointwise(2), "mul.Tensor mul.Scalar fmod.Tensor fmod.Scalar remainder.Scalar_Tensor"),
    **rows(
        pointwise(2), "remainder.Tensor remainder.Scalar floor_divide floor_divide.Scalar heaviside hypot nextafter"
    ),
    **rows(pointwise(2), "logaddexp logaddexp2 igamma igammac gcd lcm fmax fmin"),
    **rows(pointwise(2), "maximum minimum"),
    **rows(subtract, "sub.Tensor sub.Scalar"),
    **rows(subtract_from, "rsub.Tensor rsub.Scalar"),
    **rows(
        pointwise(2, integers_only("bitwise_and_cpu")),
        "bitwise_and.Tensor bitwise_and.Scalar bitwise_and.Scalar_Tensor",
    ),
    **rows(
        pointwise(2, integers_only("bitwise_or_cpu")), "bitwise_or.Tensor bitwise_or.Scalar bitwise_or.Scalar_Tensor"
    ),
    **rows(
        pointwise(2, integers_only("bitwise_xor_cpu")),
        "bitwise_xor.Tensor bitwise_xor.Scalar bitwise_xor.Scalar_Tensor",
    ),
    **rows(
        pointwise(2, integers_only("lshift_cpu")),
        "bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar bitwise_left_shift.Scalar_Tensor "
        "__lshift__.Tensor __lshift__.Scalar",
    ),
    **rows(
        pointwise(2, integers_only("rshift_cpu")),
        "bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar bitwise_right_shift.Scalar_Tensor "
        "__rshift__.Tensor __rshift__.Scalar",
    ),
    **rows(pointwise(2, to_float), BINARY_FLOAT),
    **rows(
        pointwise(2, to_float),
        " ".join(f"special_{name} special_{name}.n_scalar special_{name}.x_scalar" for name in POLYNOMIALS.split()),
    ),
    **rows(complex_pair, "complex polar"),
    **rows(power, "pow.Tensor_Tensor pow.Tensor_Scalar pow.Scalar"),
    **rows(div_mode, "div.Tensor_mode div.Scalar_mode"),
    **rows(predicate(2), " ".join(f"{name}.Tensor {name}.Scalar" for name in COMPARISONS.split())),
    **rows(predicate(2), "logical_and logical_or logical_xor isclose"),
    **rows(where, "where.self"),
    **rows(same_dtypes(3, ("end", "weight")), "lerp.Scalar lerp.Tensor"),
    **rows(pointwise(3), "addcmul addcdiv"),
    **rows(clamp, "clamp clamp.Tensor"),
    **rows(pointwise(2), "clamp_min.Tensor clamp_max.Tensor"),
    **rows(unary(2), "clamp_min clamp_max"),
}
