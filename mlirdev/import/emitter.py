"""A small vocabulary for linalg on builtin tensors, used by own/ inside the torch-dialect function.

    torch value ──to_builtin──► tensor<…> ──generic / loop / reshape──► tensor<…> ──to_torch──► torch value
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_mlir import ir

from mlirdev.graph import Ref, TensorSpec

from .types import builtin_tensor

if TYPE_CHECKING:
    from .builder import TorchBuilder


class Emitter:
    """Emits at the builder's current place and location."""

    def __init__(self, builder: TorchBuilder) -> None:
        self.builder = builder

    def tensor(self, ref: Ref) -> ir.Value:
        """A value of the graph as a builtin tensor."""
        spec = self.builder.graph.specs[ref.value]
        return self.builder.create("torch_c.to_builtin_tensor", [self.tensor_type(spec)], [self.builder.values[ref.value]])[0]

    def to_torch(self, value: ir.Value, spec: TensorSpec) -> ir.Value:
        return self.builder.create("torch_c.from_builtin_tensor", [self.builder.tensor_type(spec)], [value])[0]

    def tensor_type(self, spec: TensorSpec) -> ir.Type:
        return self.builder.type(builtin_tensor(spec.shape, spec.dtype))
