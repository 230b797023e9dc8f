"""PyTorch functions as linalg on tensors, through torch-mlir's own importer: graphs to form groups from, without the
rooms above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch_mlir.dialects.torch  # noqa: F401  (importing it registers torch-mlir's passes)
from torch.fx.experimental.proxy_tensor import make_fx
from torch_mlir import ir
from torch_mlir.extras.fx_decomp_util import get_decomposition_table
from torch_mlir.extras.fx_importer import FxImporter
from torch_mlir.passmanager import PassManager

from mlirdev.passes.lower import kernel_context

TO_TORCH = "func.func(torch-match-quantized-custom-ops),torchdynamo-export-to-torch-backend-pipeline{}"
TO_LINALG = "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"


def capture(function: Callable[..., Any], *args: torch.Tensor) -> ir.Module:
    """The linalg module of `function` on tensors like `args`; the k-th aten op's location is "nk"."""
    traced = make_fx(function, decomposition_table=_decompositions(), tracing_mode="fake")(*args)
    for node in traced.graph.nodes:
        node.meta.pop("stack_trace", None)
    traced.graph.eliminate_dead_code()
    with kernel_context(), ir.Location.unknown():
        importer = FxImporter(context=kernel_context(), config_check=False)
        importer.import_graph_module(traced)
        module = importer.module
        _number(module)
        for pipeline in (TO_TORCH, TO_LINALG):
            PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
    return module


def _number(module: ir.Module) -> None:
    number = 0
    for view in module.body.operations[0].regions[0].blocks[0].operations:
        if view.operation.name.startswith("torch.aten"):
            view.operation.location = ir.Location.name(f"n{number}")
            number += 1


def _decompositions() -> dict[Any, Any]:
    aten = torch.ops.aten
    return {
        **get_decomposition_table(),
        aten.native_batch_norm.default: _batch_norm,
        aten.native_layer_norm.default: _layer_norm,
        aten._softmax.default: _softmax,
        aten.gelu.default: _gelu,
    }


def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> Any:
    """Evaluation only: torch-mlir's own gives results of no elements that it can't lower."""
    if training:
        return NotImplemented
    shape = [1, -1] + [1] * (x.dim() - 2)
    scale = torch.rsqrt(var + eps)
    y = (x - mean.view(shape)) * (scale * weight).view(shape) + bias.view(shape)
    return y, x.new_empty(0), x.new_empty(0)


def _layer_norm(x: Any, shape: list[int], weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(x.dim() - len(shape), x.dim()))
    count = torch.Size(shape).numel()
    mean = x.sum(dims, True) / count
    centred = x - mean
    scale = torch.rsqrt((centred * centred).sum(dims, True) / count + eps)
    y = centred * scale
    y = y if weight is None else y * weight
    return y if bias is None else y + bias, mean, scale


def _softmax(x: Any, dim: int, half: bool) -> Any:
    e = (x - x.amax(dim, True)).exp()
    return e / e.sum(dim, True)


def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate != "tanh":
        return x * 0.5 * (1 + torch.erf(x * 0.7071067811865476))
    return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
