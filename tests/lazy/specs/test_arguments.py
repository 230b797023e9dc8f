"""Argument classes: every argument of every functional aten overload has one, and the ones that matter are right."""

from __future__ import annotations

import pytest
import torch

from mlirdev.lazy.specs.arguments import argument_class, structural_scalar


def schema(name: str) -> torch._C.FunctionSchema:
    namespace, base, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload)._schema


def classes(name: str) -> dict[str, str]:
    return {a.name: argument_class(a, name) for a in schema(name).arguments}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten.add.Tensor", {"self": "tensor", "other": "tensor", "alpha": "scalar"}),
        ("aten.add.Scalar", {"self": "tensor", "other": "scalar", "alpha": "scalar"}),
        ("aten.clamp.default", {"self": "tensor", "min": "scalar", "max": "scalar"}),
        ("aten.view.default", {"self": "tensor", "size": "size"}),
        ("aten.expand.default", {"self": "tensor", "size": "size", "implicit": "structural"}),
        (
            "aten.slice_backward.default",
            {
                "grad_output": "tensor",
                "input_sizes": "size",
                "dim": "structural",
                "start": "size",
                "end": "size",
                "step": "structural",
            },
        ),
        (
            "aten.select_backward.default",
            {"input_sizes": "size", "dim": "structural", "index": "size"},
        ),
        (
            "aten.sum.dim_IntList",
            dict.fromkeys(("dim", "keepdim", "dtype"), "structural"),
        ),
        ("aten.cat.default", {"tensors": "tensor", "dim": "structural"}),
        ("aten.index.Tensor", {"self": "tensor", "indices": "tensor"}),
        (
            "aten.max_pool2d_with_indices.default",
            {"self": "tensor"}
            | dict.fromkeys(("kernel_size", "stride", "padding", "dilation", "ceil_mode"), "structural"),
        ),
        (
            "aten.native_layer_norm.default",
            {
                "input": "tensor",
                "normalized_shape": "structural",
                "weight": "tensor",
                "bias": "tensor",
                "eps": "structural",
            },
        ),
        ("aten.leaky_relu.default", {"self": "tensor", "negative_slope": "scalar"}),
        ("aten.constant_pad_nd.default", {"self": "tensor", "pad": "structural", "value": "structural"}),
        (
            "aten.unfold_copy.default",
            dict.fromkeys(("dimension", "size", "step"), "structural"),
        ),
        ("aten.linalg_vector_norm.default", {"ord": "structural", "self": "tensor"}),
        ("aten.lerp.Scalar", {"self": "tensor", "end": "tensor", "weight": "scalar"}),
    ],
)
def test_classes(name: str, expected: dict[str, str]) -> None:
    found = classes(name)
    assert {key: found[key] for key in expected} == expected


def test_factories_take_sizes_and_a_runtime_value() -> None:
    assert classes("aten.full.default")["size"] == "size"
    assert classes("aten.full.default")["fill_value"] == "scalar"
    arange = classes("aten.arange.start_step")
    assert (arange["start"], arange["end"], arange["step"]) == ("size", "size", "structural")
    assert structural_scalar("aten.arange.start_step", "end", 3.5)
    assert not structural_scalar("aten.arange.start_step", "end", 3)


@pytest.mark.parametrize("value", [-2, -1, -0.5, 0.5, 2, 3, 2.0])
def test_common_exponents_are_structural(value: float) -> None:
    assert structural_scalar("aten.pow.Tensor_Scalar", "exponent", value)
    assert structural_scalar("aten.pow.Tensor_Tensor", "exponent", value)


@pytest.mark.parametrize(
    ("name", "argument", "value", "expected"),
    [
        ("aten.pow.Tensor_Scalar", "exponent", 2.5, False),
        ("aten.add.Tensor", "alpha", 1, True),
        ("aten.add.Tensor", "alpha", -0.1, False),
        ("aten.add.Tensor", "other", 1.0, False),
        ("aten.addcdiv.default", "value", -0.001, False),
        ("aten.addcdiv_.default", "value", 1, True),
        ("aten.threshold_backward.default", "threshold", 0, True),
        ("aten.threshold_backward.default", "threshold", 0.5, False),
        ("aten.clamp.default", "min", None, True),
        ("aten.clamp.default", "min", 0.0, False),
        ("aten.mul.Tensor", "other", 1j, True),
        ("aten.mul.Tensor", "other", float("nan"), False),
        ("aten.elu.default", "alpha", 1.0, True),
        ("aten.leaky_relu.default", "negative_slope", 0.01, False),
    ],
)
def test_values_that_are_structure(name: str, argument: str, value: object, expected: bool) -> None:
    assert structural_scalar(name, argument, value) is expected


def test_every_argument_has_a_class() -> None:
    """Numbers are scalars or structural, tensors are tensors, whatever the overload."""
    for full in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = full.partition("::")
        if namespace != "aten":
            continue
        base, _, overload = rest.partition(".")
        name = f"aten.{base}.{overload or 'default'}"
        try:
            arguments = schema(name).arguments
        except (AttributeError, RuntimeError):  # not reachable from Python
            continue
        for argument in arguments:
            found = argument_class(argument, name)
            assert (found == "tensor") == ("Tensor" in str(argument.real_type)), (name, argument)
            assert found in ("tensor", "scalar", "size", "structural")


def test_a_default_is_recorded_as_if_it_had_been_given() -> None:
    """softplus's threshold is 20, a run-time scalar, though other values of it would be structural."""
    x = torch.randn(5)
    y = torch.nn.functional.softplus(x.to("mlirdev"))
    torch.testing.assert_close(y.cpu(), torch.nn.functional.softplus(x))
