"""Lines that change tensors: in-place ops, assignments, out=, and what gives a tensor other memory or geometry."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tests.lazy.programs.draw import LARGEST, Draw, odd_source, tame

Statement = Callable[[Draw, str, Tensor], "str | None"]
WRITES: list[Statement] = []
GEOMETRY: list[Statement] = []


def write(function: Statement) -> Statement:
    WRITES.append(function)
    return function


def geometry(function: Statement) -> Statement:
    GEOMETRY.append(function)
    return function


def line(draw: Draw) -> str | None:
    found = draw.tensor(tame)
    if found is None:
        return None
    text = draw.choice(WRITES)(draw, *found)
    return f"with torch.no_grad(): {text}" if text and found[1].requires_grad and draw.chance(0.5) else text


def geometry_line(draw: Draw) -> str | None:
    found = draw.tensor()
    return None if found is None else draw.choice(GEOMETRY)(draw, *found)


@write
def arithmetic(draw: Draw, x: str, t: Tensor) -> str:
    other = draw.operand(t)
    return draw.choice((f"{x}.add_({other})", f"{x}.sub_({other}, alpha=2)", f"{x}.mul_({other}).clamp_(-64, 64)",
                        f"{x}.add_({other}, alpha=-3)", f"{x} += {other}", f"{x}.copysign_({other})"))  # fmt: skip


@write
def by_itself(draw: Draw, x: str, t: Tensor) -> str:
    ways = ("neg_()", "abs_()", "zero_()", "clamp_(-3, 3)", "clamp_min_(1)", "logical_not_()", "relu_()", "triu_()",
            "square_().clamp_(-9, 9)", "tril_(1)", "sign_()", "masked_fill_(X > 0, 2)", "fill_diagonal_(3)",
            "bitwise_not_()", "nan_to_num_()", "cumsum_(0)", "trunc_()", "eq_(1)", "detach_()")  # fmt: skip
    return f"{x}.{draw.choice(ways)}".replace("X", x)


@write
def fill(draw: Draw, x: str, t: Tensor) -> str:
    number = draw.number(t)
    return draw.choice((f"{x}.fill_({number})", f"{x}[...] = {number}", f"{x}.fill_(torch.tensor({number}))",
                        f"{x}.fill_(make((), torch.float32, {draw.randint(0, 9)}))"))  # fmt: skip


@write
def copy(draw: Draw, x: str, t: Tensor) -> str | None:
    other = draw.broadcasting(t)
    if other is None:
        return None
    return draw.choice((f"{x}.copy_({other})", f"{x}[...] = {other}", f"{x}.copy_({other}.to('cpu', copy=True))",
                        f"{x}.copy_({other}.clone())"))  # fmt: skip


@write
def assign_part(draw: Draw, x: str, t: Tensor) -> str | None:
    if not t.dim():
        return None
    size = t.shape[0]
    start = draw.randint(0, size)
    place = f"{x}[{start}:{draw.randint(start, size)}:{draw.randint(1, 2)}]"
    if draw.chance(0.3):
        return f"{place} += {draw.number(t)}"
    like = draw.tensor(lambda o: o.shape == t.shape[1:] and tame(o) and not odd_source(o, t))
    return f"{place} = {like[0] if like and draw.chance(0.7) else draw.number(t)}"


@write
def shifted_onto_itself(draw: Draw, x: str, t: Tensor) -> str | None:
    """What is read overlaps what is written: eager refuses, or goes element by element."""
    dim = draw.dim(t, lambda size: size > 1)
    if dim is None:
        return None
    size = t.shape[dim] - 1
    a, b = draw.random.sample((f"{x}.narrow({dim}, 0, {size})", f"{x}.narrow({dim}, 1, {size})"), 2)
    if draw.chance(0.2) and t.dim() > 1:
        a, b = x, f"{x}.select({dim}, 0).unsqueeze({dim})"
    return draw.choice(
        (f"{a}.add_({b})", f"{a}.copy_({b})", f"{a}.mul_({b}).clamp_(-9, 9)", f"torch.add({b}, 1, out={a})")
    )


@write
def masked(draw: Draw, x: str, t: Tensor) -> str | None:
    mask = draw.tensor(lambda o: o.dtype is torch.bool and o.shape == t.shape)
    condition = mask[0] if mask and draw.chance(0.5) else f"{x} > {draw.number()}"
    return draw.choice((f"{x}.masked_fill_({condition}, {draw.number(t)})", f"{x}[{condition}] = {draw.number(t)}",
                        f"{x}.masked_fill_({condition}, {x}.sum().to({x}.dtype).clamp(-5, 5))"))  # fmt: skip


@write
def indexed(draw: Draw, x: str, t: Tensor) -> str | None:
    if not t.dim() or not t.shape[0]:
        return None
    index = f"torch.tensor({draw.indices(2, t.shape[0])}, device=device)"
    return draw.choice((
        f"{x}.index_put_(({index},), make((), {t.dtype}, {draw.randint(0, 9)}), accumulate={draw.chance(0.5)})",
        f"{x}.index_put_(({index},), {x}[:2].clone(), accumulate=True)",
        f"{x}[{index}] = {draw.number(t)}",
        f"{x}.index_add_(0, {index}, {x}[:1].expand(2, *{tuple(t.shape[1:])}).clone(), alpha=2)",
        f"{x}.index_fill_(0, {index}, {draw.number(t)})",
        f"{x}.index_copy_(0, {index}, {x}[:1].expand(2, *{tuple(t.shape[1:])}).clone())",
    ))  # fmt: skip


@write
def scattered(draw: Draw, x: str, t: Tensor) -> str | None:
    if not t.dim() or not t.numel():
        return None
    dim = draw.randint(0, t.dim() - 1)
    shape = [draw.randint(1, size) for size in t.shape]
    index = f"torch.tensor({draw.indices(torch.Size(shape).numel(), t.shape[dim])}, device=device).view({shape})"
    source = f"make({tuple(t.shape)}, {t.dtype}, {draw.randint(0, 9)})"
    return draw.choice((f"{x}.scatter_({dim}, {index}, {draw.number(t)})", f"{x}.scatter_({dim}, {index}, {source})",
                        f"{x}.scatter_add_({dim}, {index}, {source})"))  # fmt: skip


@write
def lists(draw: Draw, x: str, t: Tensor) -> str:
    other = draw.tensor(tame)
    assert other is not None
    number = draw.number()
    return draw.choice((f"torch._foreach_add_([{x}, {other[0]}], {number})", f"torch._foreach_zero_([{x}])",
                        f"torch._foreach_neg_([{other[0]}, {x}])"))  # fmt: skip


@write
def out(draw: Draw, x: str, t: Tensor) -> str | None:
    """`x` is where a result goes: of its size, or not. (CPU kernels that know no bools resize it, then say so.)"""
    if t.storage_offset() * t.itemsize > t.untyped_storage().nbytes():
        return None  # a gap that nothing would fill
    source = draw.tensor(lambda o: tame(o) and o.dtype is not torch.bool and (o.shape == t.shape or draw.chance(0.2)))
    if source is None:
        return None
    y, dims = source[0], source[1].dim()
    ways = [f"torch.add({y}, {draw.number(source[1])}, out={x})", f"torch.mul({y}, {y}, out={x}).clamp_(-99, 99)",
            f"torch.abs({y}, out={x})", f"torch.clamp({y}, -2, 3, out={x})", f"torch.gt({y}, 0, out={x})",
            f"torch.add({y}, {draw.operand(source[1])}, out={x})"]  # fmt: skip
    if dims and source[1].untyped_storage()._cdata != t.untyped_storage()._cdata:
        ways += [f"torch.sum({y}, {draw.randint(0, dims - 1)}, out={x})", f"torch.cat([{y}, {y}], out={x})",
                 f"torch.cumsum({y}, 0, out={x})", f"torch.stack([{y}, {y}], out={x})"]  # fmt: skip
    return draw.choice(ways)


# --- other memory, other geometry --------------------------------------------------------------------


@geometry
def turned_in_place(draw: Draw, x: str, t: Tensor) -> str:
    ways = ["t_()", "squeeze_()", f"unsqueeze_({draw.randint(0, t.dim())})"]
    if t.dim() > 1:
        a, b = draw.random.sample(range(t.dim()), 2)
        ways += [f"transpose_({a}, {b})", f"swapdims_({a}, {b})"]
    return f"{x}.{draw.choice(ways)}"


@geometry
def strided_in_place(draw: Draw, x: str, t: Tensor) -> str | None:
    have = t.untyped_storage().nbytes() // t.itemsize
    rows, columns = draw.randint(1, 3), draw.randint(1, 3)
    if rows * columns > have:
        return None
    return f"{x}.as_strided_(({rows}, {columns}), ({columns}, 1), {draw.randint(0, have - rows * columns)})"


@geometry
def smaller(draw: Draw, x: str, t: Tensor) -> str:
    return f"resize({x}, {draw.shape_of(draw.randint(0, t.numel()))})"


@geometry
def larger(draw: Draw, x: str, t: Tensor) -> str | None:
    shape = draw.shape_of(draw.randint(1, 40))
    return f"resize({x}, {shape})" if t.numel() < LARGEST else None


@geometry
def like_another(draw: Draw, x: str, t: Tensor) -> str | None:
    other = draw.tensor()
    return None if other is None else f"resize({x}, {other[0]})"


@geometry
def another_storage(draw: Draw, x: str, t: Tensor) -> str | None:
    other = draw.tensor(lambda o: o.dtype is t.dtype or draw.chance(0.1))
    if other is None:
        return None
    y, have = other[0], other[1].untyped_storage().nbytes() // t.itemsize
    ways = [f"{x}.set_({y})", f"{x}.data = {y}", f"{x}.data = {y}.data.clone()", f"{x}.set_()"]
    if have > 4:
        ways.append(
            f"{x}.set_({y}.untyped_storage(), {draw.randint(0, have - 4)}, (2, 2), {draw.choice(((2, 1), (1, 2)))})"
        )
    return draw.choice(ways)
