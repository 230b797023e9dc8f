"""Lines that give another look at a tensor: views of every kind, and copies that may be views."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tests.lazy.programs.draw import LARGEST, Draw

Expression = Callable[[Draw, str, Tensor], "str | None"]
VIEWS: list[Expression] = []


def view(function: Expression) -> Expression:
    VIEWS.append(function)
    return function


def line(draw: Draw) -> str | None:
    found = draw.tensor()
    if found is None:
        return None
    text = draw.choice(VIEWS)(draw, *found)
    return None if text is None else f"{draw.fresh()} = {text}"


@view
def select(draw: Draw, x: str, t: Tensor) -> str | None:
    dim = draw.dim(t, lambda size: size > 0)
    if dim is None:
        return None
    size = t.shape[dim]
    index = draw.randint(-size, size if draw.chance(0.05) else size - 1)
    return f"{x}.select({dim}, {index})"


@view
def subscript(draw: Draw, x: str, t: Tensor) -> str | None:
    parts = []
    for size in t.shape[: draw.randint(1, max(t.dim(), 1))]:
        kind = draw.choice(("index", "slice", "slice", "all", "none"))
        if kind == "index" and size:
            parts.append(str(draw.randint(-size, size - 1)))
        elif kind == "slice":
            start = draw.randint(0, size)
            parts.append(f"{start}:{draw.randint(start, size + 1)}:{draw.randint(1, 3)}")
        else:
            parts += ["None", ":"] if kind == "none" else [":"]
    text = ", ".join(parts) or "..."
    return f"{x}[{text}]"


@view
def narrow(draw: Draw, x: str, t: Tensor) -> str | None:
    dim = draw.dim(t)
    if dim is None:
        return None
    start = draw.randint(0, t.shape[dim])
    return f"{x}.narrow({dim}, {start}, {draw.randint(0, t.shape[dim] - start)})"


@view
def permute(draw: Draw, x: str, t: Tensor) -> str:
    return f"{x}.permute({draw.random.sample(range(t.dim()), t.dim())})"


@view
def swap(draw: Draw, x: str, t: Tensor) -> str | None:
    if t.dim() < 2:
        return f"{x}.t()"
    a, b = draw.random.sample(range(-t.dim(), t.dim()), 2)
    return draw.choice((f"{x}.transpose({a}, {b})", f"{x}.movedim({a}, {b})", f"{x}.mT"))


@view
def expand(draw: Draw, x: str, t: Tensor) -> str | None:
    if t.numel() > LARGEST // 4 or t.dim() > 4:
        return None
    sizes = [draw.choice((size, -1, 3)) if size == 1 else draw.choice((size, -1)) for size in t.shape]
    return f"{x}.expand({[*draw.choice(([], [2], [1])), *sizes]})"


@view
def squeezed(draw: Draw, x: str, t: Tensor) -> str:
    dim = draw.randint(-t.dim() - 1, t.dim())
    return draw.choice((f"{x}.unsqueeze({dim})", f"{x}.squeeze()", f"{x}.squeeze({dim})"))


@view
def reshaped(draw: Draw, x: str, t: Tensor) -> str:
    shape = draw.shape_of(t.numel())
    way = draw.choice(("view", "view", "reshape", "reshape", "view_as", "reshape_as"))
    return f"{x}.{way}({shape})" if not way.endswith("_as") else f"{x}.{way}(make({shape}, torch.float32, 0))"


@view
def flattened(draw: Draw, x: str, t: Tensor) -> str:
    if t.dim() < 2:
        return f"{x}.ravel()"
    a, b = sorted(draw.random.sample(range(t.dim()), 2))
    return draw.choice((f"{x}.flatten({a}, {b})", f"{x}.view(-1)", f"{x}.reshape(-1)"))


@view
def unflattened(draw: Draw, x: str, t: Tensor) -> str | None:
    dim = draw.dim(t, lambda size: size > 1)
    return None if dim is None else f"{x}.unflatten({dim}, {draw.choice(((2, -1), (-1, 3), (1, -1)))})"


@view
def part(draw: Draw, x: str, t: Tensor) -> str | None:
    dim = draw.dim(t, lambda size: size > 0)
    if dim is None:
        return None
    size = t.shape[dim]
    parts = draw.randint(1, 3)
    way = draw.choice((f"split({draw.randint(1, size)}, {dim})", f"chunk({parts}, {dim})", f"unbind({dim})",
                       f"tensor_split({parts}, {dim})"))  # fmt: skip
    return f"{x}.{way}[{draw.choice((0, -1))}]"


@view
def diagonal(draw: Draw, x: str, t: Tensor) -> str | None:
    if t.dim() < 2:
        return None
    a, b = draw.random.sample(range(t.dim()), 2)
    return f"{x}.diagonal({draw.randint(-2, 2)}, {a}, {b})"


@view
def windows(draw: Draw, x: str, t: Tensor) -> str | None:
    dim = draw.dim(t, lambda size: size > 0)
    if dim is None or t.numel() > LARGEST // 4 or t.dim() > 4:
        return None
    return f"{x}.unfold({dim}, {draw.randint(1, t.shape[dim])}, {draw.randint(1, 2)})"


@view
def strided(draw: Draw, x: str, t: Tensor) -> str | None:
    have = t.untyped_storage().nbytes() // t.itemsize
    shape = tuple(draw.randint(0 if draw.chance(0.1) else 1, 4) for _ in range(draw.randint(0, 3)))
    stride = tuple(draw.randint(0, 6) for _ in shape)
    reach = sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
    free = have - 1 - reach
    if free < 0 and not draw.chance(0.1):
        return None
    offset = draw.randint(0, max(free, 0))
    return f"{x}.as_strided({shape}, {stride}, {offset})"


@view
def other_dtype(draw: Draw, x: str, t: Tensor) -> str:
    choices = ["int32", "float32", "uint8", "int64", "bfloat16", "int16", "float64"]
    if t.is_floating_point():
        choices += ["int32", "uint8", "int64", "int16"]
    return f"{x}.view(torch.{draw.choice(choices)})"


@view
def same(draw: Draw, x: str, t: Tensor) -> str:
    return draw.choice((f"{x}.detach()", f"{x}.data", f"{x}.view_as({x})", f"{x}[...]", f"torch.ops.aten.alias({x})"))


@view
def maybe_copied(draw: Draw, x: str, t: Tensor) -> str:
    formats = ["contiguous_format", "preserve_format"]
    if t.dim() == 4 or draw.chance(0.05):
        formats += ["channels_last"] * 3
    form = f"memory_format=torch.{draw.choice(formats)}"
    contiguous = f".contiguous({form})" if "preserve" not in form else ".contiguous()"
    return x + draw.choice((contiguous, f".to({form})", f".clone({form})", ".contiguous()", ".clone()"))


@view
def to_complex_and_back(draw: Draw, x: str, t: Tensor) -> str:
    if t.dtype is torch.complex64:
        return f"torch.view_as_real({x})"
    return f"torch.view_as_complex({x})" if t.dtype is torch.float32 and draw.chance(0.3) else f"{x}[None]"
