"""Kernels for RISC-V with vectors, run under QEMU's user-mode emulation where it and a cross compiler are installed
(Debian: qemu-user, gcc-riscv64-linux-gnu): the values of the host's kernels."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import Tensor

from mlirdev.compiler import stages
from mlirdev.graph import Graph
from mlirdev.jit import resolve_target
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.plan import BufferParam, DType, Signature
from mlirdev.target import Target, load_target
from tests.passes.kernels import CompiledKernel

COMPILER, EMULATOR = "riscv64-linux-gnu-gcc", "qemu-riscv64"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which(COMPILER) and shutil.which(EMULATOR)), reason="no cross compiler or emulator"),
]

# Reads the inputs from the standard input, calls the kernel on one thread, writes error word and results.
DRIVER = """
#include <stdio.h>
#include <stdlib.h>
extern void {entry}(void **);
/* One thread: what `jit/team.py` does where there is no OpenMP runtime. */
void mlirdev_run_team(void (*member)(void **, long, long), void **packed, long count) {{ member(packed, 0, 1); }}
void mlirdev_barrier(void) {{ }}
int main(void) {{
  static const size_t sizes[] = {{ {sizes} }};
  static long long error[4], threads = 1;
  void *packed[3 + {count}] = {{ error, &threads, aligned_alloc(64, {scratch}) }};
  for (int i = 0; i < {count}; ++i) {{
    packed[3 + i] = aligned_alloc(64, (sizes[i] + 63) / 64 * 64);
    if (i < {inputs} && fread(packed[3 + i], 1, sizes[i], stdin) != sizes[i]) return 1;
  }}
  {entry}(packed);
  fwrite(error, 1, sizeof error, stdout);
  for (int i = {inputs}; i < {count}; ++i) fwrite(packed[3 + i], 1, sizes[i], stdout);
  return 0;
}}
"""


def is_plain(source: KernelSource) -> bool:
    """Whether a kernel takes and gives f32 buffers of static sizes only."""
    buffers = [*source.signature.params, *source.signature.results]
    return all(isinstance(b, BufferParam) and b.dtype is DType.f32 and None not in b.shape for b in buffers)


def emulated(source: KernelSource, key: str, target: Target, inputs: list[Tensor], folder: Path) -> list[Tensor]:
    """The results of a kernel compiled for another processor."""
    back = stages.back(source, key, target)
    (folder / "kernel.o").write_bytes(back.code)
    (folder / "driver.c").write_text(driver(stages.entry_symbol(key), back.signature))
    build = [COMPILER, "-static", "-O1", "-w", "driver.c", "kernel.o", "-lm", "-o", "program"]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    command = [EMULATOR, "-cpu", "rv64,v=true,vlen=128", str(folder / "program")]
    done = subprocess.run(
        command, input=b"".join(x.numpy().tobytes() for x in inputs), check=True, capture_output=True
    ).stdout
    assert done[:32] == bytes(32)
    shapes = [shape_of(result) for result in back.signature.results]
    flat = torch.frombuffer(bytearray(done[32:]), dtype=torch.float32)
    return [x.view(shape) for x, shape in zip(flat.split([math.prod(s) for s in shapes]), shapes, strict=True)]


def driver(entry: str, signature: Signature) -> str:
    sizes = [4 * math.prod(shape_of(b)) for b in (*signature.params, *signature.results)]
    return DRIVER.format(
        entry=entry,
        sizes=", ".join(map(str, sizes)),
        count=len(sizes),
        inputs=len(signature.params),
        scratch=max(signature.scratch_bytes(1), 64),
    )


def shape_of(buffer: object) -> tuple[int, ...]:
    assert isinstance(buffer, BufferParam)
    return tuple(size or 0 for size in buffer.shape)


def test_values_are_the_hosts(graphs: list[Graph], tmp_path: Path) -> None:
    target = resolve_target(load_target("rvv"))
    kinds = set()
    for graph in graphs:
        front = stages.front(graph, target)
        assert isinstance(front, stages.Front), front
        for key, source in front.kernels.items():
            if source.kind in kinds or not is_plain(source):
                continue
            kinds.add(source.kind)
            inputs = [torch.randn(shape_of(param)) for param in source.signature.params]
            results = [torch.empty(shape_of(result)) for result in source.signature.results]
            CompiledKernel(source.text)(*inputs, results=results)
            found = emulated(source, key, target, inputs, tmp_path)
            torch.testing.assert_close(found, results, rtol=1e-5, atol=1e-5, msg=lambda m, s=source: f"{s.kind}: {m}")
    assert {"row", "contraction"} <= kinds, kinds
