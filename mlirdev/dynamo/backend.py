"""Dynamo's graph to a callable: AOTAutograd around Programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition

from mlirdev.dynamo.choices import choices_of
from mlirdev.dynamo.frozen import frozen_values
from mlirdev.dynamo.pieces import tensors_of
from mlirdev.dynamo.program import Program
from mlirdev.lazy import setup
from mlirdev.lazy.storage import DEVICE_TYPE

Compiled = Callable[..., Any]


def compile_graph(
    graph: fx.GraphModule,
    inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Compiled:
    """See `mlirdev.dynamo.compile_graph`. Raises OptionError for an unknown mode or option."""
    choices = choices_of(mode, options)
    if not _is_ours(graph, inputs):
        warnings.warn(
            f'torch.compile(backend="{DEVICE_TYPE}"): a graph has no tensor on device {DEVICE_TYPE}, so it runs '
            f'uncompiled on the CPU; move the model and its inputs with .to("{DEVICE_TYPE}")',
            stacklevel=2,
        )
        forward: Compiled = graph.forward
        return forward
    setup.ensure()
    frozen = frozen_values(graph, inputs) if choices.freeze else {}

    def inference(graph: fx.GraphModule, _: Sequence[Any]) -> Compiled:
        return _boxed(Program(graph, frozen=frozen))

    def forward_of_training(graph: fx.GraphModule, _: Sequence[Any]) -> Compiled:
        if choices.freeze:
            raise RuntimeError(
                'options={"freeze": True} is for inference, and this graph is differentiated: call it under '
                "torch.no_grad() or torch.inference_mode(), or leave the option out"
            )
        return _boxed(Program(graph, differentiated=True))

    def backward(graph: fx.GraphModule, _: Sequence[Any]) -> Compiled:
        return _boxed(Program(graph))

    around = aot_autograd(
        fw_compiler=forward_of_training,
        bw_compiler=backward,
        inference_compiler=inference,
        partition_fn=min_cut_rematerialization_partition,
        # Programs give the inputs that the graph writes their new values.
        keep_inference_input_mutations=True,
    )
    compiled: Compiled = around(graph, inputs)
    return compiled


def _boxed(program: Program) -> Compiled:
    """As AOTAutograd calls it: with a list, which is emptied, so that what nobody else holds is freed."""

    def call(args: list[Any]) -> Any:
        return program(args)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _is_ours(graph: fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """Is anything of the graph on the device?"""
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    for node in graph.graph.nodes:
        tensors += tensors_of(node.meta.get("example_value"))
    tensors += [*graph.parameters(), *graph.buffers()]
    return any(t.device.type == DEVICE_TYPE for t in tensors)
