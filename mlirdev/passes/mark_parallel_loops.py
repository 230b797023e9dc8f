"""Tell LLVM which loops' iterations have no memory in common, so that it makes vectors of them without asking.

    llvm.br ^header {llvm.loop_annotation}    ──►    llvm.br ^header {loop_annotation = <parallelAccesses = group>}

A loop is known by the mark that `offer-in-place` left on it. All loads and stores of the kernel are one access group:
what is said of a loop concerns those in it.
"""

from __future__ import annotations

from torch_mlir import ir

from mlirdev.passes.offer_in_place import MARK
from mlirdev.passes.ops import walk
from mlirdev.target import Target

NAME = "mark-parallel-loops"
# Parsed at once, as a distinct attribute is equal to no other.
_GROUP = "#llvm.access_group<id = distinct[0]<>>"
_ATTRIBUTES = f"[#llvm.loop_annotation<parallelAccesses = {_GROUP}>, [{_GROUP}]]"


def run(module: ir.Module, target: Target) -> None:
    ops = walk(module)
    branches = [op for op in ops if MARK in op.attributes]
    if not branches:
        return
    annotation, groups = ir.ArrayAttr(ir.Attribute.parse(_ATTRIBUTES))
    for branch in branches:
        del branch.attributes[MARK]
        branch.attributes["loop_annotation"] = annotation
    for op in ops:
        if op.name in ("llvm.load", "llvm.store"):
            op.attributes["access_groups"] = groups
