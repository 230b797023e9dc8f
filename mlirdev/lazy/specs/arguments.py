"""Argument classes: what of a call is structure, what is a size, and what is only a value.

    tensor      a Tensor slot (or a list of them)
    scalar      a number that only the values depend on: a run-time input of the graph
    size        an integer that may become a run-time input when recordings differ in it
    structural  everything else: its value is part of the graph (dims, modes, kernel sizes, strides, paddings)

A structural argument is always correct: it costs a compile when it changes. So the tables below name what
may vary between steps of one program. Numbers of which a few values make a better or a different kernel
(`x ** 2`, `alpha=1`) are scalars otherwise and structural at those values.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch

ArgumentClass: TypeAlias = Literal["tensor", "scalar", "size", "structural"]

# Sizes in every operator that has an argument of this name, except where STRUCTURAL_SIZES says otherwise.
SIZE_NAMES = frozenset(
    {"size", "sizes", "input_sizes", "split_sizes", "split_size", "repeats", "steps", "storage_offset"}
)

# Sizes in these operators alone.
SIZES: dict[str, frozenset[str]] = {
    "arange": frozenset({"start", "end"}),
    "as_strided": frozenset({"stride"}),
    "as_strided_copy": frozenset({"stride"}),
    "as_strided_scatter": frozenset({"stride"}),
    "bincount": frozenset({"minlength"}),
    "embedding_dense_backward": frozenset({"num_weights"}),
    "empty_strided": frozenset({"stride"}),
    "eye": frozenset({"n", "m"}),
    "multinomial": frozenset({"num_samples"}),
    "narrow": frozenset({"start", "length"}),
    "narrow_copy": frozenset({"start", "length"}),
    "native_group_norm": frozenset({"N", "C", "HxW"}),
    "native_group_norm_backward": frozenset({"N", "C", "HxW"}),
    "new_empty_strided": frozenset({"stride"}),
    "range": frozenset({"start", "end"}),
    "repeat_interleave": frozenset({"output_size"}),
    "select": frozenset({"index"}),
    "select_backward": frozenset({"index"}),
    "select_copy": frozenset({"index"}),
    "select_scatter": frozenset({"index"}),
    "slice": frozenset({"start", "end"}),
    "slice_backward": frozenset({"start", "end"}),
    "slice_copy": frozenset({"start", "end"}),
    "slice_scatter": frozenset({"start", "end"}),
}

# Named as sizes are, but windows: a kernel is built for them.
STRUCTURAL_SIZES: dict[str, frozenset[str]] = {
    "unfold": frozenset({"size"}),
    "unfold_backward": frozenset({"size"}),
    "unfold_copy": frozenset({"size"}),
}

# Bounds of random integers: values, though the schema calls them SymInt.
INTEGER_SCALARS: dict[str, frozenset[str]] = {
    "randint": frozenset({"low", "high"}),
    "randint_like": frozenset({"low", "high"}),
    "random": frozenset({"from", "to"}),
}

# Numbers that are structural in every operator: a lowering reads them as constants, or chooses by them.
STRUCTURAL_NUMBERS = frozenset({
    "atol", "base", "beta1", "beta2", "correction", "delta", "dropout", "dropout_p", "dx", "eps", "epsilon",
    "exponential_average_factor", "initial", "label_smoothing", "maxnorm", "max_norm", "momentum", "nan", "neginf",
    "norm_type", "ord", "p", "posinf", "q", "rcond", "rtol", "scale_factor", "scales", "scales_d", "scales_h",
    "scales_w", "tol",
})  # fmt: skip

# Numbers that are structural in these operators alone.
STRUCTURAL_IN: dict[str, frozenset[str]] = {
    "_scaled_dot_product_attention_math": frozenset({"scale"}),
    "_scaled_dot_product_flash_attention_for_cpu": frozenset({"scale"}),
    "_scaled_dot_product_flash_attention_for_cpu_backward": frozenset({"scale"}),
    "_scaled_dot_product_fused_attention_overrideable": frozenset({"scale"}),
    "_scaled_dot_product_fused_attention_overrideable_backward": frozenset({"scale"}),
    "constant_pad_nd": frozenset({"value"}),
    "histc": frozenset({"min", "max"}),
    "arange": frozenset({"step"}),
    "range": frozenset({"step"}),
    "scaled_dot_product_attention": frozenset({"scale"}),
    "smooth_l1_loss": frozenset({"beta"}),
    "smooth_l1_loss_backward": frozenset({"beta"}),
}

# Scalars that are structural at these values only.
STRUCTURAL_VALUES: dict[str, frozenset[float]] = {
    "alpha": frozenset({0, 1}),
    "beta": frozenset({0, 1}),
    "exponent": frozenset({-2, -1, -0.5, 0, 0.5, 1, 2, 3}),
    "input_scale": frozenset({1}),
    "scale": frozenset({1}),
    "threshold": frozenset({0}),
}
STRUCTURAL_VALUES_IN: dict[str, dict[str, frozenset[float]]] = {
    "addcdiv": {"value": frozenset({1, -1})},
    "addcmul": {"value": frozenset({1, -1})},
    "masked_fill": {"value": frozenset({float("-inf")})},
    "threshold": {"threshold": frozenset({0}), "value": frozenset({0})},
}


def argument_class(argument: torch._C.Argument, op_name: str) -> ArgumentClass:
    """The class of an argument of an overload ("aten.add.Tensor")."""
    base, name = base_name(op_name), argument.name
    kind = str(argument.real_type)
    if "Tensor" in kind:
        return "tensor"
    if _is_size(base, name) and "float" not in kind:
        return "size"
    if name in INTEGER_SCALARS.get(base, ()):
        return "scalar"
    if kind not in ("number", "float", "Optional[number]", "Optional[float]") or _always_structural(base, name):
        return "structural"
    return "scalar"


def structural_scalar(op_name: str, arg_name: str, value: object) -> bool:
    """Whether this value of a scalar (or of a number in a Tensor slot) belongs to the graph's structure.

    None, complex numbers (no packed form) and floats that decide a shape (arange's ends) always do.
    """
    base = base_name(op_name)
    if value is None or isinstance(value, complex) or _always_structural(base, arg_name):
        return True
    if _is_size(base, arg_name):
        return isinstance(value, float)
    if base == "pow" and arg_name == "exponent" and type(value) is int and value < 0:
        return True  # an error where integers are raised to it, so the rule has to see each
    values = STRUCTURAL_VALUES_IN.get(base, STRUCTURAL_VALUES).get(arg_name, frozenset())
    return value in values


def base_name(op_name: str) -> str:
    """`aten.add_.Tensor` → `add`: an in-place overload's arguments are those of the functional one."""
    name = op_name.split(".")[1]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _is_size(base: str, name: str) -> bool:
    if name in STRUCTURAL_SIZES.get(base, ()):
        return False
    return name in SIZE_NAMES or name in SIZES.get(base, ())


def _always_structural(base: str, name: str) -> bool:
    return name in STRUCTURAL_NUMBERS or name in STRUCTURAL_IN.get(base, ())
