"""A small record written by hand: two graphs that differ in sizes, three kernels, one of them with run-time sizes."""

from __future__ import annotations

from pathlib import Path

from mlirdev import schema
from mlirdev.schema import Place

HEADER = schema.Header(
    schema.VERSION,
    ["train.py", "--steps", "2"],
    "2026-01-01T00:00:00Z",
    {"torch": "2.13.0", "mlirdev": "0.1.0"},
    {"mode": "lazy"},
    {"name": "host"},
    processor="a processor",
    threads=2,
    peak_gflops=100.0,
    peak_gbps=10.0,
)
SOURCE = """\
import torch

def step(x, w):
    h = x @ w
    return torch.relu(h) + 1

for size in (16, 32, 32):
    print(step(torch.ones(size, 8), torch.ones(8, 4)).sum().item())
"""
MATMUL, RELU, SUM = Place("train.py", 4, "step"), Place("train.py", 5, "step"), Place("train.py", 8, "<module>")
OPS = ("aten.mm.default", "aten.relu.default", "aten.add.Tensor", "aten.sum.default")
INPUT = """\
#map = affine_map<(d0) -> (d0)>
module {
  func.func @kernel(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} \
ins(%arg0 : tensor<4xf32>) outs(%0 : tensor<4xf32>) {
    ^bb0(%in: f32 loc("n0"), %out: f32 loc("n0")):
      %2 = arith.addf %in, %in : f32 loc("n1")
      linalg.yield %2 : f32 loc("n1")
    } -> tensor<4xf32> loc("n1")
    return %1 : tensor<4xf32>
  }
}
"""
LOOPS = """\
module {
  func.func @kernel(%arg0: memref<4xf32>, %arg1: memref<4xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %0 = memref.load %arg0[%i] : memref<4xf32> loc("n0")
      %1 = arith.addf %0, %0 : f32 loc("n1")
      memref.store %1, %arg1[%i] : memref<4xf32> loc("n1")
    }
    return
  }
}
"""
LL = """\
define void @kernel(ptr %x, ptr %y) {
  %1 = load float, ptr %x, align 4
  %2 = fadd float %1, %1
  store float %2, ptr %y, align 4
  ret void
}
"""
ASM = "kernel:\n\tvmovups\t(%rdi), %xmm0\n\tvaddps\t%xmm0, %xmm0, %xmm0\n\tvmovups\t%xmm0, (%rsi)\n\tretq\n"

# Of each kernel: stage, pass, seconds, whether it changed something, IR.
STAGES = (
    ("kernel", "input", 0.0, True, INPUT),
    ("kernel", "canonicalize", 0.001, False, INPUT),
    ("kernel", "linalg-to-loops{form=scf}", 0.004, True, LOOPS),
    ("ll", "optimize", 0.002, True, LL),
    ("asm", "codegen", 0.003, True, ASM),
)
SUFFIXES = {"ll": ".ll", "asm": ".s"}
COMMENTS = {"ll": ";", "asm": "#"}


def graph(
    name: str, rows: int, *, syms: int = 0, kernels: tuple[str, str] = ("contraction-a", "row-b")
) -> schema.Graph:
    """relu(x @ w) + 1, summed, of x: f32[rows,8]; two launches."""
    sizes = f"s0,{4}" if syms else f"{rows},4"
    results = [f"f32[{sizes}]"] * 3 + ["f32[]"]
    operands = [[0, 1], [2], [3], [4]]
    nodes = [
        schema.GraphNode(op, f"%{i + 2}: {result} = {op}({', '.join(f'%{v}' for v in read)})", read, [result])
        for i, (op, read, result) in enumerate(zip(OPS, operands, results, strict=True))
    ]
    size = 0 if syms else rows * 4 * 4
    slots = [
        schema.PlanSlot(f"f32[{'s0' if syms else rows},8]", "input", size * 2),
        schema.PlanSlot("f32[8,4]", "input", 128),
        schema.PlanSlot(results[0], "temporary", size),
        schema.PlanSlot("f32[]", "output", 4),
    ]
    launches = [
        schema.PlanLaunch(kernels[0], [0], [0, 1], [2]),
        schema.PlanLaunch(kernels[1], [1, 2, 3], [2], [3]),
    ]
    return schema.Graph(
        name,
        [slots[0].spec, slots[1].spec],
        nodes,
        [5],
        slots,
        launches,
        syms=syms,
        generalised=bool(syms),
        seconds=0.2,
        stages={"import": 0.05, "codegen": 0.1},
        reason="sizes: 16 is now 32" if syms else "the first graph of this program",
        nearest="g_1" if syms else "",
        where=MATMUL,
    )


KERNELS = (
    schema.Kernel("contraction-a", "c" * 32, "contraction", "f32[16,8], f32[8,4] -> f32[16,4]", 1024, 896, seconds=0.1),
    schema.Kernel("row-b", "b" * 32, "row", "f32[16,4] -> f32[]", 192, 260, from_cache=True, differs=True),
    schema.Kernel("row-c", "d" * 32, "row", "f32[?,4] -> f32[]", seconds=0.05),
)
FAILURE = schema.Failure(
    "kernels/row-c",
    "kernel",
    "convert-vector-to-llvm",
    "failed to legalize operation 'vector.gather'",
    op="%3 = vector.gather %0[%c0] : memref<4xf32>",
    ordinals=[2],
    illegal={"vector.gather": 2},
    before="000-kernel-input.mlir",
    command="mlirdev opt 000-kernel-input.mlir --pipeline kernel.yaml --skip 0",
)


def lines() -> list[schema.AnyLine]:
    """The record's lines: a run of g_1, then two of g_2, which has run-time sizes."""
    places = [MATMUL, RELU, SUM]
    found: list[schema.AnyLine] = [
        HEADER,
        graph("g_1", 16),
        graph("g_2", 32, syms=1, kernels=("contraction-a", "row-c")),
    ]
    found += [*KERNELS, schema.Source("train.py", SOURCE), FAILURE]
    found += [schema.Lines(i, name, places, [0, 1, 1, 2]) for i, name in enumerate(("g_1", "g_2"))]
    for number, name in enumerate(("g_1", "g_2", "g_2")):
        at = number * 0.5
        sizes = {"flops": 384, "nbytes": 516} if name == "g_2" else {}
        found += [
            schema.Run(
                number,
                name,
                "value",
                number == 2,
                min(number, 1),
                at,
                0.01,
                0.25 if number < 2 else 0.002,
                where=SUM,
            ),
            schema.Launch(number, 0, 0, at + 0.0005, 0.001, 2, [64, 128, 256]),
            schema.Launch(number, 1, 0, at + 0.0015, 0.0005, 1, [256, 320], **sizes),
            schema.Memory(at, 4096 * (number + 1)),
            schema.Copy("d2h", 4, at + 0.3, 0.0001, where=SUM),
            schema.Sync("item", at + 0.3, 0.002, where=SUM),
        ]
    found.append(schema.Fallback("aten.unique", "no_lowering", "it has no lowering", 0.9, Place("train.py", 6)))
    found.append(schema.End(2.0, {"peak_bytes": 12288, "compiles": 2}, recording_s=0.125))
    return found


def write_record(folder: Path) -> Path:
    """A record in `folder`, with the stages of its kernels; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / schema.RECORD_FILE).write_bytes(b"".join(map(schema.encode, lines())))
    for kernel in KERNELS:
        write_stages(folder, f"kernels/{kernel.name}", STAGES)
    write_stages(folder, "graphs/g_1", (("linalg", "input", 0.0, True, INPUT.replace("@kernel", "@main")),))
    write_stages(folder, "graphs/g_2", (("linalg", "input", 0.0, True, INPUT.replace("@kernel", "@main")),))
    return folder


def write_stages(folder: Path, owner: str, stages: tuple[tuple[str, str, float, bool, str], ...]) -> None:
    """The files of an owner's stages and its passes.jsonl."""
    where = folder / owner
    where.mkdir(parents=True, exist_ok=True)
    index, last, file, said = 0, "", "", b""
    for number, (stage, name, seconds, changed, text) in enumerate(stages):
        index, last = (index + 1 if stage == last else 0), stage
        if changed:  # what changed nothing has the file of the last that did
            file = f"{number:03d}-{stage}-{name.partition('{')[0]}{SUFFIXES.get(stage, '.mlir')}"
            (where / file).write_text(f"{COMMENTS.get(stage, '//')} stage {stage}, {name}\n{text}")
        step = schema.Pass(owner, index, stage, name, file, seconds, changed, op_counts(text), len(text))
        said += schema.encode(step)
    (where / schema.PASSES_FILE).write_bytes(said)


def op_counts(text: str) -> dict[str, int]:
    """How often each op with a dialect's name stands in a text."""
    counts: dict[str, int] = {}
    for word in text.replace("(", " ").replace('"', " ").split():
        dialect, dot, name = word.partition(".")
        if dot and dialect.isalpha() and name.isidentifier():
            counts[word] = counts.get(word, 0) + 1
    return counts
