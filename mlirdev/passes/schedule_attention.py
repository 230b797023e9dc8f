"""Write mlirdev.attention and its backward on buffers as loops over vectors.

attention.py   attention_few_queries.py   attention_backward.py
"""

from __future__ import annotations

from torch_mlir import ir

from mlirdev.dialect import ATTENTION, ATTENTION_BACKWARD
from mlirdev.passes.attention import Attention
from mlirdev.passes.attention_backward import AttentionBackward
from mlirdev.passes.attention_few_queries import FewQueries, has_few_queries
from mlirdev.passes.attention_op import AttentionOp, read_attention
from mlirdev.passes.ops import named
from mlirdev.target import Target

NAME = "schedule-attention"
Schedule = type[Attention] | type[AttentionBackward]


def run(module: ir.Module, target: Target) -> None:
    for op in [*named(module, ATTENTION), *named(module, ATTENTION_BACKWARD)]:
        attention = read_attention(op)
        with ir.InsertionPoint(op), op.location:
            _schedule_for(attention)(attention, target).emit()
        op.erase()


def _schedule_for(attention: AttentionOp) -> Schedule:
    if attention.op.name == ATTENTION_BACKWARD:
        return AttentionBackward
    return FewQueries if has_few_queries(attention) else Attention
