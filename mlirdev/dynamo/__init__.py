"""`torch.compile(model, backend="mlirdev")`: programs that Dynamo has captured, through the same compiler.

    Dynamo's graph ─► AOTAutograd ─► forward, backward: aten ops, functional but for inputs that are written
                                         │                                                      backend.py
        pieces.py    what runs as PyTorch calls it, in its place │ the rest, each a Program
        program.py   Program: a Variant per kind of arguments (layouts, sizes)
        replay.py    the ops replayed once, through the handlers that record eager code ─► Graph ─► compiler
        variant.py   a call: buffers, sizes and numbers gathered, one launch, tensors over the results

So shape rules, composites and decompositions are those of recorded code, and a call records nothing. Guards are
Dynamo's; sizes that become inputs are the compiler's, as for recorded graphs. `choices.py` has the options, and
`frozen.py` what `options={"freeze": True}` computes ahead.

Light: PyTorch finds this module when it looks for backends, by entry point or, where the device is attached,
without one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def compile_graph(graph: Any, inputs: Sequence[Any], **choices: Any) -> Callable[..., Any]:
    """The backend: an FX graph of Dynamo's and example inputs ─► a function of such inputs. `choices` are
    torch.compile's `mode` and `options`; see choices.py."""
    from mlirdev.dynamo.backend import compile_graph

    return compile_graph(graph, inputs, **choices)


def register(registry: Any) -> None:
    """Tell PyTorch's registry of backends, the module, without an entry point."""
    registry.register_backend(compile_graph, name="mlirdev")
