"""Write a function in linalg and compute it in PyTorch, op by op, on tensors of up to two dims."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

Shape = tuple[int, ...]


@dataclass(eq=False)
class Value:
    """An SSA value, and its elements when the function is given its inputs."""

    name: str
    shape: Shape
    data: torch.Tensor

    @property
    def type(self) -> str:
        return tensor(self.shape)


def tensor(shape: Shape, element: str = "f32") -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


@dataclass
class Program:
    """The function so far; `text(outputs)` is the module. Methods add one linalg op each."""

    inputs: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def input(self, *shape: int) -> Value:
        value = Value(f"%x{len(self.inputs)}", shape, torch.randn(shape))
        self.inputs.append(value)
        return value

    def elementwise(self, operation: str, *operands: Value) -> Value:
        """neg, tanh, add, mul, sub, max of operands that broadcast: [R,C] with [R,C], [C], or [R,1] as [R]."""
        shape = max((o.shape for o in operands), key=len)
        dims = [f"d{d}" for d in range(len(shape))]
        maps = [self._map(dims, _broadcast_dims(o.shape, shape)) for o in operands]
        body = ELEMENTWISE[operation]
        args = [f"%a{i}" for i in range(len(operands))]
        data = TORCH[operation](*(_broadcast(o.data, shape) for o in operands))
        return self._generic(list(operands), maps, dims, shape, body.format(*args), data, f"%e{self.count}")

    def reduce(self, operation: str, x: Value, axis: int) -> Value:
        """sum or max of [R,C] along an axis, or of [R] to a scalar."""
        shape = tuple(size for d, size in enumerate(x.shape) if d != axis)
        dims = [f"d{d}" for d in range(len(x.shape))]
        start = self._fill(shape, 0.0 if operation == "sum" else float("-inf"))
        body = ELEMENTWISE["add" if operation == "sum" else "max"].format("%a0", "%o")
        data = x.data.sum(axis) if operation == "sum" else x.data.amax(axis)
        kept = self._map(dims, [d for d in range(len(dims)) if d != axis])
        return self._generic([x], [self._map(dims, range(len(dims)))], dims, shape, body, data, start, kept, axis)

    def matmul(self, a: Value, b: Value) -> Value:
        shape = (a.shape[0], b.shape[1])
        start = self._fill(shape, 0.0)
        return self._add(
            f"linalg.matmul ins({a.name}, {b.name} : {a.type}, {b.type}) outs({start} : {tensor(shape)})",
            shape,
            a.data @ b.data,
        )

    def transpose(self, x: Value) -> Value:
        shape = x.shape[::-1]
        empty = self._empty(shape)
        text = f"linalg.transpose ins({x.name} : {x.type}) outs({empty} : {tensor(shape)}) permutation = [1, 0]"
        name = self._line(text)
        return Value(name, shape, x.data.t().contiguous())

    def flatten(self, x: Value) -> Value:
        shape = (x.shape[0] * x.shape[1],)
        name = self._line(f"tensor.collapse_shape {x.name} [[0, 1]] : {x.type} into {tensor(shape)}")
        return Value(name, shape, x.data.flatten())

    def unflatten(self, x: Value, rows: int) -> Value:
        shape = (rows, x.shape[0] // rows)
        text = f"tensor.expand_shape {x.name} [[0, 1]] output_shape {list(shape)} : {x.type} into {tensor(shape)}"
        return Value(self._line(text), shape, x.data.view(shape))

    def rows(self, x: Value, start: int, stop: int) -> Value:
        shape = (stop - start, *x.shape[1:])
        zeros, ones = [0] * (len(shape) - 1), [1] * len(shape)
        text = f"tensor.extract_slice {x.name}{[start, *zeros]} {list(shape)} {ones} : {x.type} to {tensor(shape)}"
        return Value(self._line(text), shape, x.data[start:stop].clone())

    def concat(self, a: Value, b: Value) -> Value:
        shape = (a.shape[0] + b.shape[0], *a.shape[1:])
        name = self._line(f"tensor.concat dim(0) {a.name}, {b.name} : ({a.type}, {b.type}) -> {tensor(shape)}")
        return Value(name, shape, torch.cat([a.data, b.data]))

    def zeros(self, *shape: int) -> Value:
        return Value(self._fill(shape, 0.0), shape, torch.zeros(shape))

    def text(self, outputs: list[Value]) -> str:
        args = ", ".join(f"{v.name}: {v.type}" for v in self.inputs)
        types = ", ".join(v.type for v in outputs)
        body = "\n  ".join([*self.lines, f"return {', '.join(v.name for v in outputs)} : {types}"])
        return f"func.func @main({args}) -> ({types}) {{\n  {body}\n}}"

    # --- text ---------------------------------------------------------------------------------------

    def _line(self, text: str) -> str:
        name = f"%v{self.count}"
        self.lines.append(f'{name} = {text} loc("n{self.count}")')
        self.count += 1
        return name

    def _add(self, text: str, shape: Shape, data: torch.Tensor) -> Value:
        return Value(self._line(f"{text} -> {tensor(shape)}"), shape, data)

    def _empty(self, shape: Shape) -> str:
        return self._line(f"tensor.empty() : {tensor(shape)}")

    def _fill(self, shape: Shape, value: float) -> str:
        constant = self._line(f"arith.constant {'0xFF800000' if value < 0 else value} : f32")
        return self._line(
            f"linalg.fill ins({constant} : f32) outs({self._empty(shape)} : {tensor(shape)}) -> {tensor(shape)}"
        )

    def _map(self, dims: list[str], results: object) -> str:
        chosen = ", ".join(dims[d] for d in results)  # type: ignore[attr-defined]
        return f"affine_map<({', '.join(dims)}) -> ({chosen})>"

    def _generic(
        self,
        operands: list[Value],
        maps: list[str],
        dims: list[str],
        shape: Shape,
        body: str,
        data: torch.Tensor,
        out: str,
        out_map: str = "",
        reduced: int = -1,
    ) -> Value:
        if out_map == "":
            out, out_map = self._empty(shape), self._map(dims, range(len(dims)))
        kinds = ", ".join('"reduction"' if d == reduced else '"parallel"' for d in range(len(dims)))
        names, types = ", ".join(o.name for o in operands), ", ".join(o.type for o in operands)
        args = ", ".join([*(f"%a{i}: f32" for i in range(len(operands))), "%o: f32"])
        return self._add(
            f"linalg.generic {{indexing_maps = [{', '.join([*maps, out_map])}], iterator_types = [{kinds}]}} "
            f"ins({names} : {types}) outs({out} : {tensor(shape)}) {{\n"
            f"  ^bb0({args}):\n    %r = {body} : f32\n    linalg.yield %r : f32\n  }}",
            shape,
            data,
        )


ELEMENTWISE = {
    "neg": "arith.negf {0}",
    "tanh": "math.tanh {0}",
    "add": "arith.addf {0}, {1}",
    "sub": "arith.subf {0}, {1}",
    "mul": "arith.mulf {0}, {1}",
    "max": "arith.maximumf {0}, {1}",
}
TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "neg": torch.neg,
    "tanh": torch.tanh,
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "max": torch.maximum,
}


def _broadcast_dims(shape: Shape, whole: Shape) -> list[int]:
    if len(shape) == len(whole):
        return list(range(len(whole)))
    if shape == ():
        return []
    return [1] if shape[0] == whole[1] else [0]


def _broadcast(data: torch.Tensor, whole: Shape) -> torch.Tensor:
    if data.dim() == 1 and len(whole) == 2 and data.shape[0] != whole[1]:
        data = data[:, None]
    return data.expand(whole)


def random_program(seed: int, ops: int = 14) -> tuple[Program, list[Value]]:
    """A program of random ops and a random choice of its values as outputs."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    program = Program()
    values = [program.input(6, 5), program.input(6, 5), program.input(5, 5), program.input(5), program.input(6)]
    for _ in range(ops):
        values.append(_random_op(rng, program, values))
    return program, rng.sample(values, rng.randint(1, 5))


def _random_op(rng: random.Random, program: Program, values: list[Value]) -> Value:
    # Recent values first, so that chains grow.
    x = rng.choice(values[-4:] if rng.random() < 0.6 else values)
    two_dims = len(x.shape) == 2
    choice = rng.random()
    if choice < 0.45:
        others = [v for v in values if v.shape in (x.shape, x.shape[1:], x.shape[:1], ())]
        if len(x.shape) < 2:
            others = [v for v in others if v.shape in (x.shape, ())]
        return program.elementwise(rng.choice(["add", "sub", "mul", "max"]), x, rng.choice(others or [x]))
    if choice < 0.6 or not x.shape:
        return program.elementwise("tanh", x)
    if choice < 0.75:
        return program.reduce(rng.choice(["sum", "max"]), x, rng.randrange(len(x.shape)))
    if choice < 0.82 and two_dims:
        fitting = [v for v in values if len(v.shape) == 2 and v.shape[0] == x.shape[1]]
        return program.elementwise("tanh", program.matmul(x, rng.choice(fitting))) if fitting else program.transpose(x)
    if choice < 0.87 and two_dims:
        return program.transpose(x)
    if choice < 0.91:
        return program.flatten(x) if two_dims else program.elementwise("neg", x)
    if choice < 0.95 and x.shape[0] > 1:
        return program.rows(x, 1, x.shape[0])
    return program.concat(x, x) if x.shape[0] < 12 else program.elementwise("neg", x)
