"""Passes: from linalg on tensors to LLVM, as named data.

    whole graph   run_graph_pipeline     pipelines/graph.yaml       fuse, fold, clean up
                  form_groups            form_groups.py             kernel groups → KernelSources and the Plan
    per kernel    lower_kernel           pipelines/kernel*.yaml     tile, vectorise, bufferise → LLVM dialect
                  to_llvm_ir             pipelines/llvm.yaml        → LLVM IR text, the seam to jit/

A pass of ours is one file here with a kebab-case `NAME` (registry.py); MLIR's own passes go by MLIR's names;
a transform-dialect schedule is a file in schedules/. A pipeline is a YAML file in pipelines/ (pipeline.py),
run step by step (runner.py). Adding a pass touches its own file and one pipeline line.
"""
