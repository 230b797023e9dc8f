"""Write mlirdev.attention and its backward on buffers as loops over vectors (attention.py, attention_backward.py)."""

from __future__ import annotations

from torch_mlir import ir

from mlirdev.dialect import ATTENTION, ATTENTION_BACKWARD
from mlirdev.passes.attention import Attention
from mlirdev.passes.attention_backward import AttentionBackward
from mlirdev.passes.attention_op import read_attention
from mlirdev.passes.ops import named
from mlirdev.target import Target

NAME = "schedule-attention"
SCHEDULES: dict[str, type[Attention] | type[AttentionBackward]] = {
    ATTENTION: Attention,
    ATTENTION_BACKWARD: AttentionBackward,
}


def run(module: ir.Module, target: Target) -> None:
    for name, schedule in SCHEDULES.items():
        for op in named(module, name):
            attention = read_attention(op)
            with ir.InsertionPoint(op), op.location:
                schedule(attention, target).emit()
            op.erase()
