"""Lines that make tensors, run autograd, look at values, have what is recorded launched, and drop tensors."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tests.lazy.programs import views, writes
from tests.lazy.programs.draw import DTYPES, LARGEST, SHAPES, Draw, is_leaf, tame


def new(draw: Draw) -> str:
    dtype = draw.choice(DTYPES)
    text = f"{draw.fresh()} = make({draw.choice(SHAPES)}, torch.{dtype}, {draw.randint(0, 16)})"
    if dtype.startswith("float") and draw.chance(0.2):
        return f"{text}.requires_grad_()"
    return f"{text}.to(memory_format=torch.channels_last)" if draw.chance(0.05) else text


def computed(draw: Draw) -> str | None:
    found = draw.tensor(tame)
    if found is None:
        return None
    expression = draw.choice(RESULTS)(draw, *found)
    return None if expression is None else f"{draw.fresh()} = {expression}"


def pointwise(draw: Draw, x: str, t: Tensor) -> str:
    other = draw.operand(t)
    return draw.choice((f"{x} + {other}", f"({x} * {other}).clamp(-64, 64)", f"{x} - {x}", f"{x} > {other}",
                        f"torch.where({x} > 0, {x}, {other})", f"{x}.abs()", f"-{x}", f"{x} / 2"))  # fmt: skip


def reduced(draw: Draw, x: str, t: Tensor) -> str | None:
    dim = draw.dim(t, lambda size: size > 0)
    if dim is None:
        return f"{x}.sum()"
    return draw.choice((f"{x}.sum({dim})", f"{x}.sum({dim}, keepdim=True)", f"{x}.amax({dim})", f"{x}.sum()",
                        f"{x}.cumsum({dim})", f"{x}.max({dim})[0]", f"{x}.float().mean({dim})"))  # fmt: skip


def moved(draw: Draw, x: str, t: Tensor) -> str | None:
    if not t.dim() or t.numel() > LARGEST // 4:
        return f"{x}.clone()"
    size = max(t.shape[0], 1)
    return draw.choice((f"torch.cat([{x}, {x}])", f"torch.stack([{x}, {x}], -1)", f"{x}.flip(0)", f"{x}.roll(1, 0)",
                        f"{x}[torch.tensor({draw.indices(2, size)}, device=device)]", f"{x}[{x} > 0]",
                        f"{x}.repeat(2, *[1] * ({x}.dim() - 1))", f"{x}.triu()"))  # fmt: skip


def picked(draw: Draw, x: str, t: Tensor) -> str | None:
    """Elements in another order, or chosen by indices, masks and places."""
    dim = draw.dim(t, lambda size: size > 0)
    if dim is None or t.numel() > LARGEST // 4 or not t.numel():
        return None
    size, other = t.shape[dim], draw.randint(0, t.dim() - 1)
    index = f"torch.tensor({draw.indices(2, size)}, device=device)"
    places = f"({x} > 0).long().cumsum({dim}).remainder({size})"
    return draw.choice((
        f"{x}.index_select({dim}, {index})", f"{x}.gather({dim}, {places})", f"{x}.take_along_dim({places}, {dim})",
        f"{x}.masked_fill({x} > 0, {draw.number(t)})", f"{x}.sort({dim})[0]", f"{x}.sort({dim}, stable=True)[1]",
        f"{x}.flip({dim}, {other})" if other != dim else f"{x}.flip({dim})", f"{x}.roll((1, -2), ({dim}, {other}))",
        f"{x}.rot90({draw.randint(-1, 3)}, ({dim}, {other}))", f"{x}.tril({draw.randint(-1, 1)})",
        f"torch.nn.functional.pad({x}, ({draw.randint(-1, 2)}, 1))", f"{x}.repeat_interleave(2, {dim})",
        f"{x}.index_fill({dim}, {index}, {draw.number(t)})", f"{x}.argmax({dim})", f"{x}.nonzero()",
    ))  # fmt: skip


def like(draw: Draw, x: str, t: Tensor) -> str:
    dtype = draw.choice(DTYPES)
    strides = torch.empty_like(t).stride()  # without gaps, which nothing would fill
    form = draw.choice(("", "", ", memory_format=torch.contiguous_format", ", memory_format=torch.preserve_format"))
    return draw.choice((
        f"torch.zeros_like({x}{form})",
        f"torch.empty_like({x}{form}).fill_(1)",
        f"{x}.to(torch.{dtype})",
        f"{x}.new_zeros((2, 3))",
        f"torch.full_like({x}, 2)",
        f"torch.ones_like({x}, dtype=torch.{dtype})",
        f"{x}.new_empty_strided({tuple(t.shape)}, {strides}).fill_(2)",
        f"{x}.to(torch.{dtype}, copy=True)",
    ))  # fmt: skip


def elsewhere_and_back(draw: Draw, x: str, t: Tensor) -> str:
    by_hand = f"torch.zeros({tuple(t.shape)}).copy_({x}.detach()).to(device, copy=True)"
    return draw.choice((f"{x}.to('cpu', copy=True).to(device, copy=True)", f"{x}.to(device)", by_hand))


def product(draw: Draw, x: str, t: Tensor) -> str | None:
    return f"({x} @ {x}.mT).clamp(-64, 64)" if t.dim() >= 2 and t.dtype is torch.float32 else None


def gradient(draw: Draw, x: str, t: Tensor) -> str | None:
    if not is_leaf(t) or t.grad is None:
        return None
    if 1 in t.grad.shape:  # whose strides depend on whether parts were summed in place: see beside.describe
        return f"{x}.grad.clone(memory_format=torch.contiguous_format)"
    return f"{x}.grad.data"


RESULTS: tuple[Callable[[Draw, str, Tensor], str | None], ...] = (
    pointwise, pointwise, reduced, moved, picked, like, elsewhere_and_back, product, gradient, gradient)  # fmt: skip


def backward(draw: Draw) -> str | None:
    found = draw.tensor(lambda t: t.requires_grad and tame(t))
    if found is None:
        return None
    x = found[0]
    return draw.choice((f"{x}.sum().backward()", f"{x}.sum().backward(retain_graph=True)",
                        f"({x} * {x}).sum().backward()", f"{x}.backward(torch.ones_like({x}))"))  # fmt: skip


def update(draw: Draw) -> str | None:
    """What is done to leaves and their gradients."""
    found = draw.tensor(lambda t: t.requires_grad and is_leaf(t))
    if found is None:
        found = draw.tensor(lambda t: t.is_floating_point())
        return None if found is None else f"{found[0]}.requires_grad_()"
    x = found[0]
    if found[1].grad is None:
        return draw.choice((f"{x}.requires_grad_(False)", f"{x}.sum().backward()"))
    step = f"with torch.no_grad(): {x}.sub_({x}.grad, alpha=0.5).clamp_(-64, 64)"
    return draw.choice((step, step, f"{x}.grad = None", f"{x}.grad.zero_()"))


def look(draw: Draw) -> str | None:
    found = draw.tensor()
    if found is None:
        return None
    x, t = found
    ways = ["sync()", "sync()", f"seen = {x}.detach().to('cpu', copy=True)"]
    if t.numel() < 100 and not t.dtype.is_complex:
        ways += [f"seen = {x}.data.tolist()", f"seen = repr({x})"]
    if t.numel() == 1:
        ways.append(f"seen = {x}.data.item()")
    return draw.choice(ways)


def drop(draw: Draw) -> str | None:
    found = draw.tensor()
    return f"del {found[0]}" if found and sum(1 for _ in draw.tensors()) > 4 else None


KINDS: tuple[Callable[[Draw], str | None], ...] = (
    views.line, writes.line, writes.geometry_line, computed, new, backward, update, look, drop)  # fmt: skip
WEIGHTS = (14, 13, 2.5, 7, 2, 1.5, 2, 3, 4)


def line(draw: Draw) -> str:
    """The program's next line."""
    while True:
        text = draw.random.choices(KINDS, WEIGHTS)[0](draw)
        if text is not None:
            return text
