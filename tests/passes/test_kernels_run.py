"""Kernels lowered by the whole kernel pipeline and run, against PyTorch on the CPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from mlirdev.plan import ERROR_INDEX
from tests.passes.capture import capture
from tests.passes.kernels import CompiledKernel

NONE = (0, 0, 0, 0)
INF, NAN = float("inf"), float("nan")


def kernel_text(function: Callable[..., Any], *args: torch.Tensor) -> str:
    return str(capture(function, *args)).replace("@main", "@kernel")


def compile_and_compare(
    function: Callable[..., Any], *args: torch.Tensor, tolerance: float = 1e-5, vector_bits: int = 0
) -> CompiledKernel:
    kernel = CompiledKernel(kernel_text(function, *args), vector_bits=vector_bits)
    compare(kernel, function, args, tolerance)
    return kernel


def compare(
    kernel: CompiledKernel, function: Callable[..., Any], args: Sequence[torch.Tensor], tolerance: float
) -> None:
    wanted = function(*args)
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    results = [torch.full(w.shape, 1).to(w.dtype) for w in wanted]
    kernel(*args, results=results)
    assert kernel.error == NONE
    for result, want in zip(results, wanted, strict=True):
        torch.testing.assert_close(result, want, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def r(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape).to(dtype)


# --- contractions ---------------------------------------------------------------------------------

SIZES = [
    (64, 64, 64),
    (37, 51, 33),
    (3, 100, 17),
    (130, 70, 1001),
    (9, 16, 800),
    (1, 40, 30),
    (40, 1, 30),
    (5, 3, 1),
    (6, 70, 333),
    (33, 40, 64),
]
PRODUCTS = {
    "ab": lambda a, b: a @ b,
    "abt": lambda a, b: a @ b.t(),
    "atb": lambda a, b: a.t() @ b,
    "atbt": lambda a, b: a.t() @ b.t(),
}


@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize("form", PRODUCTS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_matmul(size: tuple[int, int, int], form: str, vector_bits: int) -> None:
    m, n, k = size
    a = r(k, m) if form.startswith("at") else r(m, k)
    b = r(n, k) if form.endswith("bt") else r(k, n)
    compile_and_compare(PRODUCTS[form], a, b, tolerance=1e-3, vector_bits=vector_bits)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32])
def test_matmul_of_other_types(dtype: torch.dtype) -> None:
    tolerance = {torch.bfloat16: 1e-1, torch.float16: 1e-2}.get(dtype, 1e-9)
    a, b = (3 * r(33, 90)).to(dtype), (3 * r(90, 40)).to(dtype)
    compile_and_compare(lambda a, b: a @ b, a, b, tolerance=tolerance)


@pytest.mark.parametrize("form", PRODUCTS)
@pytest.mark.parametrize("size", [(64, 64, 64), (37, 51, 33), (130, 70, 2100), (16, 300, 97)], ids=str)
def test_matmul_of_bf16(size: tuple[int, int, int], form: str) -> None:
    """By matrix tiles where the processor has them: whole and ragged ones, k in one block and in several."""
    m, n, k = size
    a = r(k, m) if form.startswith("at") else r(m, k)
    b = r(n, k) if form.endswith("bt") else r(k, n)
    narrow = a.bfloat16(), b.bfloat16()
    compile_and_compare(PRODUCTS[form], *narrow, tolerance=2e-1)
    compile_and_compare(lambda a, b: PRODUCTS[form](a.float(), b.float()), *narrow, tolerance=2e-3)


def test_bf16_epilogues_and_batches() -> None:
    x, w, b, y = (r(*shape, dtype=torch.bfloat16) for shape in ((50, 70), (90, 70), (90,), (50, 90)))
    compile_and_compare(lambda x, w, b, y: torch.relu(F.linear(x, w, b)) + y, x, w, b, y, tolerance=1e-1)
    compile_and_compare(lambda x, w: (x @ w.t(), (x @ w.t()).float() * 2), x, w, tolerance=1e-1)
    compile_and_compare(
        lambda a, b: a @ b, r(3, 40, 70, dtype=torch.bfloat16), r(3, 70, 33, dtype=torch.bfloat16), tolerance=1e-1
    )
    # With a k that isn't a whole number of tiles, oneDNN's own NaN spreads to the row before.
    x, w = r(50, 96, dtype=torch.bfloat16), r(90, 96, dtype=torch.bfloat16)
    x[3, 5], x[7, 1] = INF, NAN
    compile_and_compare(lambda x, w: x @ w.t(), x, w, tolerance=1e-1)


FEW_ROWS_ADDED = """
func.func @kernel(%x: tensor<{rows}x64xf32>, %w: tensor<30x64xf32>, %c: {c}) -> {c} {{
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %w : tensor<{rows}x64xf32>, tensor<30x64xf32>) outs(%c : {c}) {{
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  }} -> {c}
  return %r : {c}
}}
"""


@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 64])
def test_few_rows(rows: int, vector_bits: int) -> None:
    x, w, b = r(rows, 203), r(37, 203), r(37)
    compile_and_compare(F.linear, x, w, b, tolerance=1e-4, vector_bits=vector_bits)


@pytest.mark.parametrize("rows", [2, 5, 6, 7])
def test_few_rows_added_to_what_is_there(rows: int) -> None:
    """Where C's old contents count, a row past the last must not count them twice."""
    x, w = r(1, rows, 64), r(30, 64)
    text = FEW_ROWS_ADDED.format(rows=rows, c=f"tensor<{rows}x30xf32>")
    kernel = CompiledKernel(text, vector_bits=512)
    compare(kernel, lambda x, w, c: x @ w.t() + c, (x[0], w, r(rows, 30)), 1e-4)
    compile_and_compare(lambda x, w: x @ w.t(), x, w, tolerance=1e-4, vector_bits=512)


def test_few_rows_of_other_types_and_batches() -> None:
    compile_and_compare(F.linear, r(3, 90, dtype=torch.float64), r(21, 90, dtype=torch.float64), tolerance=1e-9)
    for dtype, vector_bits in itertools.product((torch.bfloat16, torch.float16), (256, 512)):
        half = r(3, 170, dtype=dtype), r(21, 170, dtype=dtype)
        compile_and_compare(F.linear, *half, tolerance=1e-1, vector_bits=vector_bits)
    compile_and_compare(lambda q, k: q @ k.transpose(1, 2), r(3, 2, 70), r(3, 41, 70), tolerance=1e-4)
    compile_and_compare(lambda w, x: w @ x, r(50, 70), r(70), tolerance=1e-4)


def test_bf16_accumulates_in_f32() -> None:
    ones = torch.ones(8, 4096, dtype=torch.bfloat16)
    compile_and_compare(lambda a, b: a @ b.t(), ones, ones, tolerance=0)
    compile_and_compare(lambda a: a.sum(1), ones, tolerance=0)


EPILOGUES: dict[str, Callable[..., Any]] = {
    "bias": lambda x, w, b: F.linear(x, w, b),
    "gelu": lambda x, w, b: F.gelu(F.linear(x, w, b)),
    "two results": lambda x, w, b: (F.linear(x, w, b), torch.relu(F.linear(x, w, b))),
    "product and mask": lambda x, w, b: (x @ w.t(), x @ w.t() > b),
    "transposed": lambda x, w, b: (x @ w.t() + b).t().contiguous(),
    "heads": lambda x, w, b: (x @ w.t() + b).view(2, 13, 10, 19).transpose(1, 2).contiguous(),
    "narrow": lambda x, w, b: (x @ w.t() + b).to(torch.bfloat16).float(),
    "softmax": lambda x, w, b: torch.softmax(x @ w.t(), -1),
    "column sum": lambda x, w, b: (x @ w.t()).sum(0),
    "row broadcast": lambda x, w, b: (x @ w.t()) * x[:, :1],
    "own transpose": lambda x, w, b: x @ x.t() + (x @ x.t()).t().sin(),
}


@pytest.mark.parametrize("name", EPILOGUES)
def test_epilogue(name: str) -> None:
    compile_and_compare(EPILOGUES[name], r(26, 17), r(190, 17), r(190), tolerance=1e-3)


TRANSPOSES: dict[str, Callable[..., Any]] = {
    "plain": lambda x: x.t().contiguous(),
    "two operands": lambda x: x.t() * 2 + x.reshape(96, 64),
    "heads": lambda x: x.view(4, 16, 6, 16).transpose(1, 2).contiguous(),
    "outer dims": lambda x: x.view(16, 4, 32, 3).permute(2, 1, 0, 3).contiguous(),
    "bools": lambda x: (x > 0).t().contiguous(),
    "broadcast": lambda x: x.t() + x.view(-1)[:64],
}


@pytest.mark.parametrize("name", TRANSPOSES)
def test_transposes(name: str) -> None:
    compile_and_compare(TRANSPOSES[name], r(64, 96), tolerance=0)


def test_epilogue_of_many_rows_and_wide_panels() -> None:
    def update(x: Any, g: Any, p: Any) -> Any:
        d = x.t() @ g
        return d, torch.relu(p * 0.9 + d)

    compile_and_compare(update, r(7, 1103), r(7, 1301), r(1103, 1301), tolerance=1e-4)
    compile_and_compare(update, r(150, 2111), r(150, 43), r(2111, 43), tolerance=1e-3)


def test_epilogue_writes_its_result_in_place() -> None:
    kernel = compile_and_compare(lambda x, w: torch.relu(x @ w), r(260, 170), r(170, 1900), tolerance=1e-3)
    assert kernel.signature.workspace < 260 * 1900 * 4


def weight_gradient(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    return F.conv2d(x.transpose(0, 1), g.transpose(0, 1), padding=1, dilation=2).transpose(0, 1)


@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize("channels", [(5, 7), (32, 16), (1, 9)], ids=str)
def test_columns_and_k_in_short_pieces(channels: tuple[int, int], vector_bits: int) -> None:
    x, g = r(3, channels[0], 6, 5), r(3, channels[1], 3, 3)
    functions: list[Callable[..., Any]] = [
        weight_gradient,
        lambda x, g: weight_gradient(x, g).contiguous(),
        lambda x, g: 0.5 * weight_gradient(x, g).contiguous() + 1,
        lambda x, g: (weight_gradient(x, g).contiguous(), weight_gradient(x, g).contiguous().relu()),
    ]
    for function in functions:
        compile_and_compare(function, x, g, tolerance=1e-4, vector_bits=vector_bits)


def test_convolutions_of_few_pixels() -> None:
    compile_and_compare(lambda x, w: F.conv2d(x, w, padding=1), r(3, 5, 2, 2), r(6, 5, 3, 3), tolerance=1e-4)
    compile_and_compare(lambda x, w, b: F.conv2d(x, w, b).relu(), r(3, 20, 1, 2), r(6, 20, 1, 1), r(6), tolerance=1e-4)
    compile_and_compare(lambda x, w: F.conv2d(x, w, stride=2), r(4, 9, 3, 3), r(6, 9, 1, 1), tolerance=1e-4)


def test_batched() -> None:
    compile_and_compare(lambda a, b: a @ b, r(3, 13, 17), r(3, 17, 19), tolerance=1e-4)
    compile_and_compare(lambda a, b: a @ b.transpose(1, 2) * 0.5, r(3, 13, 17), r(3, 19, 17), tolerance=1e-4)


def test_attention() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        return torch.softmax(q @ k.transpose(-2, -1) * 0.25, -1) @ v

    compile_and_compare(attention, *(r(2, 3, 40, 16) for _ in range(3)), tolerance=1e-4)


# --- convolution and pooling ----------------------------------------------------------------------

CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "3x3": ((2, 16, 14, 14), (32, 16, 3, 3), {"padding": 1}),
    "1x1": ((1, 16, 14, 14), (32, 16, 1, 1), {}),
    "stride": ((2, 3, 9, 11), (5, 3, 3, 3), {"padding": 1, "stride": 2}),
    "7x7": ((1, 3, 32, 32), (8, 3, 7, 7), {"padding": 3, "stride": 2}),
    "dilation": ((2, 3, 9, 11), (5, 3, 3, 3), {"padding": 2, "dilation": 2}),
    "uneven": ((1, 4, 10, 7), (6, 4, 3, 2), {"padding": (1, 0), "stride": (2, 1)}),
    "groups": ((2, 4, 9, 11), (6, 2, 3, 3), {"padding": 1, "groups": 2}),
    "depthwise": ((2, 4, 9, 11), (4, 1, 3, 3), {"padding": 1, "groups": 4}),
    "1d": ((2, 4, 11), (6, 4, 3), {"padding": 1}),
    "3d": ((2, 2, 5, 6, 7), (3, 2, 3, 3, 3), {"padding": 1}),
}


@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name: str, vector_bits: int) -> None:
    shape, weight, options = CONVOLUTIONS[name]
    convolve = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(shape)]
    compile_and_compare(
        lambda x, w: convolve(x, w, **options), r(*shape), r(*weight), tolerance=1e-3, vector_bits=vector_bits
    )


def test_convolution_with_epilogue() -> None:
    def block(x: Any, w: Any, scale: Any, shift: Any, residual: Any) -> Any:
        return torch.relu(F.conv2d(x, w, padding=1) * scale + shift + residual)

    args = r(2, 16, 14, 14), r(32, 16, 3, 3), r(32, 1, 1), r(32, 1, 1), r(2, 32, 14, 14)
    compile_and_compare(block, *args, tolerance=1e-3)


def test_transposed_convolution() -> None:
    compile_and_compare(
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), r(2, 3, 5, 6), r(3, 4, 3, 3), tolerance=1e-4
    )


def test_pooling() -> None:
    x = r(2, 3, 9, 11)
    x[0, 0, 3, 3] = NAN
    compile_and_compare(lambda x: F.max_pool2d(x, 3, 2, 1), x)
    compile_and_compare(lambda x: F.avg_pool2d(x, 2), r(2, 3, 8, 10))


# --- rows and columns -----------------------------------------------------------------------------


def log_softmax_loss(x: Any, y: Any) -> Any:
    shifted = x - x.amax(1, True)
    return -((shifted - shifted.exp().sum(1, True).log()) * y).sum(1)


ROWS: dict[str, Callable[..., Any]] = {
    "softmax": lambda x, w: torch.softmax(x, -1),
    "layer_norm": lambda x, w: F.layer_norm(x, x.shape[-1:], w, w),
    "rms_norm": lambda x, w: x * torch.rsqrt((x * x).mean(-1, True) + 1e-6) * w,
    "cross entropy": lambda x, w: log_softmax_loss(x, w),
    "sum": lambda x, w: x.sum(-1),
    "amax": lambda x, w: x.amax(-1),
    "argmax": lambda x, w: x.argmax(-1),
    "several": lambda x, w: (x.sum(-1), x.amax(-1), x - x.mean(-1, True), (x * w).sum(-1)),
    "any": lambda x, w: (x > 1).any(-1),
    "var": lambda x, w: x.var(-1),
    "both ways": lambda x, w: (x.sum(1), x.sum(0)),
}


@pytest.mark.parametrize("columns", [1, 7, 64, 1000])
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, columns: int) -> None:
    if name == "var" and columns == 1:
        pytest.skip("PyTorch warns of no degrees of freedom")
    compile_and_compare(ROWS[name], r(9, columns), r(columns), tolerance=2e-4)


def test_long_rows() -> None:
    compile_and_compare(ROWS["softmax"], r(3, 65536), r(65536), tolerance=1e-5)


def test_softmax_of_rows_without_finite_values() -> None:
    x = torch.tensor([[1.0, INF, 2.0], [NAN, 1.0, 2.0], [-INF, -INF, -INF], [-INF, 1.0, 2.0], [1e30, -1e30, 0.0]])
    compile_and_compare(lambda x: torch.softmax(x, -1), x)


def test_max_keeps_nan() -> None:
    x = r(4, 100)
    x[1, 50] = NAN
    x[2, 3] = -INF
    compile_and_compare(lambda x: (x.amax(1), x.amin(1), torch.maximum(x, -x)), x)


def test_layer_norm_backward() -> None:
    def backward(x: Any, g: Any, w: Any) -> Any:
        mean = x.mean(-1, True)
        scale = torch.rsqrt(((x - mean) ** 2).mean(-1, True) + 1e-5)
        normal, gw = (x - mean) * scale, g * w
        dx = (gw - gw.mean(-1, True) - normal * (gw * normal).mean(-1, True)) * scale
        return dx, (g * normal).sum(0), g.sum(0)

    compile_and_compare(backward, r(40, 96), r(40, 96), r(96), tolerance=1e-4)


def test_batch_norm_statistics() -> None:
    compile_and_compare(lambda x: (x.mean((0, 2, 3)), (x * x).mean((0, 2, 3))), r(4, 5, 14, 14), tolerance=1e-5)


@pytest.mark.parametrize("shape", [(1_000_000,), (1000, 1000), (1_000_000, 1), (4, 250_000)], ids=str)
def test_long_sums_are_precise(shape: tuple[int, ...]) -> None:
    x = torch.rand(shape)
    kernel = CompiledKernel(kernel_text(lambda x: x.sum(), x))
    total = kernel(x, results=[torch.empty(())])
    exact = x.double().sum()
    assert abs(total.double() - exact) / exact < 1e-6


# --- elementwise and types ------------------------------------------------------------------------


def test_elementwise() -> None:
    compile_and_compare(lambda x, y: F.gelu(x * y + 1, approximate="tanh"), r(33, 65), r(65), tolerance=1e-5)
    compile_and_compare(lambda x: torch.tanh(x) + torch.sigmoid(x) + torch.sin(x) + torch.erf(x), r(33, 65))
    compile_and_compare(lambda x, y: (x + y, x * y, x > y), r(3, 5), r(3, 5))
    compile_and_compare(lambda x: x.t().contiguous() + 1, r(50, 80))


@pytest.mark.parametrize("shape", [(), (1,), (0, 4), (4, 0), (3, 1, 5)], ids=str)
def test_odd_shapes(shape: tuple[int, ...]) -> None:
    compile_and_compare(lambda x, y: x + y * 2, r(*shape), r(*shape))


def test_empty_reductions() -> None:
    compile_and_compare(lambda x: x.sum(0), r(0, 4))
    compile_and_compare(lambda x, y: x @ y, r(3, 0), r(0, 5))


def test_bools() -> None:
    a, b = r(5, 80) > 0, r(5, 80) > 0
    compile_and_compare(lambda a, b: (a & ~b, a | b, a.sum(1)), a, b)
    compile_and_compare(lambda a, x: torch.where(a, x, -x), a, r(5, 80))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_integers(dtype: torch.dtype) -> None:
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    a = torch.randint(low, high, (5, 40), dtype=dtype)
    a[0, :2] = torch.tensor([low, high], dtype=dtype)
    b = torch.randint(1, 9, (5, 40), dtype=dtype)
    compile_and_compare(lambda a, b: (a + b, a * b, a.float() * 2, a > b), a, b)


# --- data movement and indices --------------------------------------------------------------------


def test_movement() -> None:
    x, y = r(5, 8), r(5, 3)
    compile_and_compare(lambda x, y: torch.cat([x, y], 1), x, y)
    compile_and_compare(lambda x: F.pad(x, (1, 2, 3, 0)), x)
    compile_and_compare(lambda x: x[1:4:2, 2:] * 2, x)
    compile_and_compare(lambda x: (x, x + 1), x)
    compile_and_compare(lambda x: (x + 1).view(40), x)
    compile_and_compare(lambda x: x.flip(1), x)


def test_sorting_and_scanning() -> None:
    x = r(5, 8)
    compile_and_compare(lambda x: x.cumsum(1), x)
    compile_and_compare(lambda x: torch.sort(x, 1), x)
    compile_and_compare(lambda x: torch.topk(x, 3, 1), x)


def test_scatter() -> None:
    x, s, i = r(5, 8), r(5, 3), torch.tensor([[1, 2, 1]] * 5)
    compile_and_compare(lambda x, i, s: x.scatter_add(1, i, s), x, i, s)
    compile_and_compare(lambda x, i, s: x.index_put((i,), s), x, torch.tensor([1, 3]), r(2, 8))


INDEXED: dict[str, tuple[Callable[..., Any], tuple[int, ...], int]] = {
    "embedding": (lambda x, i: F.embedding(i, x), (10, 8), 10),
    "gather": (lambda x, i: torch.gather(x, 1, i), (4, 10), 10),
    "index": (lambda x, i: x[i], (10, 8), 10),
    "index_select": (lambda x, i: x.index_select(0, i.view(-1)), (10, 8), 10),
    "index_put": (lambda x, i: x.index_put((i.view(-1),), torch.ones(12, 8)), (10, 8), 10),
}


@pytest.mark.parametrize("name", INDEXED)
def test_bad_indices_are_noted_and_harmless(name: str) -> None:
    function, shape, bound = INDEXED[name]
    x, good = r(*shape), torch.randperm(bound).repeat(2)[:12].view(4, 3)
    kernel = compile_and_compare(function, x, good)
    result = torch.empty_like(function(x, good))
    for wrong in (bound, 10**6, 2**62, -bound - 1, -(2**62)):
        bad = good.clone()
        bad[2, 1] = wrong
        kernel(x, bad, results=[result])
        assert kernel.error == (ERROR_INDEX, kernel.error[1], wrong, bound)


def test_rows_of_an_empty_table() -> None:
    kernel = CompiledKernel(kernel_text(lambda x, i: F.embedding(i, x), r(0, 8), torch.zeros(3, dtype=torch.int64)))
    kernel(torch.empty(0, 8), torch.zeros(3, dtype=torch.int64), results=[torch.empty(3, 8)])
    assert kernel.error[0] == ERROR_INDEX


# --- run-time sizes -------------------------------------------------------------------------------


def product_text(
    m: str, n: str, k: str, is_transposed: bool, left_transposed: bool = False, element: str = "f32"
) -> tuple[str, tuple[int, ...]]:
    """A linear layer x·w + b of these sizes, "?" where they are run-time; and the signature's dims."""
    c = f"tensor<{m}x{n}xf32>"
    a = f"tensor<{k}x{m}x{element}>" if left_transposed else f"tensor<{m}x{k}x{element}>"
    b = f"tensor<{n}x{k}x{element}>" if is_transposed else f"tensor<{k}x{n}x{element}>"
    p, q = ("%p", "%q") if element == "f32" else ("%pw", "%qw")
    widen = (
        "" if element == "f32" else f"%pw = arith.extf %p : {element} to f32\n%qw = arith.extf %q : {element} to f32"
    )
    sizes = [name for name, size in (("m", m), ("n", n), ("k", k)) if size == "?"]
    position = {name: 3 + i for i, name in enumerate(sizes)}
    empty = f"tensor.empty({', '.join('%d' + s for s in sizes if s != 'k')}) : {c}"
    text = f"""
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @kernel(%x: {a}, %w: {b}, %b: tensor<{n}xf32>{"".join(f", %d{s}: index" for s in sizes)}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %e = {empty}
  %f = linalg.fill ins(%zero : f32) outs(%e : {c}) -> {c}
  %y = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> {"(k, m)" if left_transposed else "(m, k)"}>,
      affine_map<(m, n, k) -> {"(n, k)" if is_transposed else "(k, n)"}>, #c],
      iterator_types = ["parallel", "parallel", "reduction"]}} ins(%x, %w : {a}, {b}) outs(%f : {c}) {{
  ^bb0(%p: {element}, %q: {element}, %o: f32):
    {widen}
    %m = arith.mulf {p}, {q} : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }} -> {c}
  %g = {empty}
  %r = linalg.generic {{indexing_maps = [#id, affine_map<(m, n) -> (n)>, #id],
      iterator_types = ["parallel", "parallel"]}} ins(%y, %b : {c}, tensor<{n}xf32>) outs(%g : {c}) {{
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }} -> {c}
  return %r : {c}
}}"""
    order = [
        *(["k", "m"] if left_transposed else ["m", "k"]),
        *(["n", "k"] if is_transposed else ["k", "n"]),
        "n",
        "m",
        "n",
    ]
    return text, tuple(position[name] for name in order if name in position)


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("form", [("?", "96", "768"), ("?", "?", "768"), ("64", "96", "?"), ("?", "?", "?")], ids=str)
def test_matmul_of_run_time_sizes(form: tuple[str, str, str], is_transposed: bool) -> None:
    text, dims = product_text(*form, is_transposed)
    kernel = CompiledKernel(text, dims)
    for tried in ((2, 3, 5), (8, 32, 4), (37, 51, 801), (130, 96, 768)):
        m, n, k = (t if f == "?" else int(f) for t, f in zip(tried, form, strict=True))
        x, w, b = r(m, k), r(k, n), r(n)
        sizes = [size for size, f in zip((m, n, k), form, strict=True) if f == "?"]
        stored = w.t().contiguous() if is_transposed else w
        result = kernel(x, stored, b, *sizes, results=[torch.empty(m, n)])
        torch.testing.assert_close(result, x @ w + b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (True, True), (False, True)], ids=str)
def test_product_of_run_time_sizes_that_packs_both(transposed: tuple[bool, bool], element: str) -> None:
    text, dims = product_text("?", "?", "?", transposed[1], transposed[0], element)
    kernel = CompiledKernel(text, dims)
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[element]
    for m, n, k in ((2, 3, 5), (37, 51, 801), (130, 96, 1100), (600, 70, 64)):
        x, w, b = r(m, k, dtype=dtype), r(k, n, dtype=dtype), r(n)
        left, right = (
            v.t().contiguous() if is_transposed else v for v, is_transposed in zip((x, w), transposed, strict=True)
        )
        result = kernel(left, right, b, m, n, k, results=[torch.empty(m, n)])
        torch.testing.assert_close(result, x.float() @ w.float() + b, rtol=2e-3, atol=2e-3)


RMS_NORM = """
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @kernel(%x: tensor<?x?xf32>, %m: index, %n: index) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.mulf %a, %a : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<?xf32>
  %g = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x?xf32>, tensor<?xf32>) outs(%g : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = math.rsqrt %b : f32
    %p = arith.mulf %a, %r : f32
    linalg.yield %p : f32
  } -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}"""


def test_rows_of_run_time_sizes_share_their_loop() -> None:
    kernel = CompiledKernel(RMS_NORM, dims=(1, 2, 1, 2))
    assert "malloc" not in kernel.llvm, "the sums of squares need one element, not one per row"
    for m, n in ((2, 2), (5, 768), (128, 33)):
        x = r(m, n)
        result = kernel(x, m, n, results=[torch.empty(m, n)])
        torch.testing.assert_close(result, x * torch.rsqrt((x * x).sum(1, True)))
