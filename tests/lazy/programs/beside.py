"""A program on both sides, line by line: the first difference ends it.

After every line each name's tensors are compared in all that can be asked without a value: geometry, dtype, version,
who requires a gradient, what shares storage. Values are compared where a line looks at them, and at the end.
An exception's type counts, not its words.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import torch
from torch import Tensor

from tests.lazy.programs import prelude, results
from tests.lazy.programs.draw import Draw

KEEP = 14  # tensors
TOLERANCES = {torch.bfloat16: 2e-2, torch.float64: 1e-9}


class DifferenceError(AssertionError):
    """What differs, of which kind, and after which lines."""

    def __init__(self, kind: str, text: str, lines: list[str]) -> None:
        super().__init__(f"{kind} differs: {text}")
        self.kind = kind
        self.lines = lines


class Beside:
    """The names of both sides, and the lines that made them."""

    def __init__(self) -> None:
        self.cpu: dict[str, Any] = prelude.bound("cpu")
        self.ours: dict[str, Any] = prelude.bound("mlirdev")
        self.lines: list[str] = []

    def run(self, line: str) -> None:
        self.lines.append(line)
        code = compile(line, "<program>", "exec")
        want, got = execute(code, self.cpu), execute(code, self.ours)
        if not isinstance(got, type(want)):
            self.fail("exception", f"{want!r}, here {got!r}")
        if want is not None:
            self.forget_destination(line)
        self.compare_seen(self.cpu.pop("seen", None), self.ours.pop("seen", None))
        want_all, got_all = described(self.cpu), described(self.ours)
        if want_all != got_all:
            self.fail(*first_difference(want_all, got_all))

    def forget_destination(self, line: str) -> None:
        """After an error: some CPU kernels resize what out= names before they refuse it."""
        found = re.search(r"\bout=(\w+)", line)
        if found is None or found[1] not in self.cpu:
            return
        storage = self.cpu[found[1]].untyped_storage()._cdata
        for name, t in [*tensors(self.cpu)]:
            if t.untyped_storage()._cdata == storage:
                del self.cpu[name], self.ours[name]

    def compare_seen(self, want: Any, got: Any) -> None:
        if isinstance(want, Tensor):
            self.compare_values("what was seen", want, got)
        elif isinstance(want, (float, list)):
            want_tensor, got_tensor = torch.tensor(want), torch.tensor(got)
            self.compare_values("what was seen", want_tensor, got_tensor)
        elif isinstance(want, str) and isinstance(got, str):
            if printed(want) != printed(got):
                self.fail("print", f"{want}, here {got}")
        elif want != got:
            self.fail("what was seen", f"{want}, here {got}")

    def compare_values(self, name: str, want: Tensor, got: Tensor) -> None:
        try:
            here = got.detach().cpu()
        except Exception as error:
            self.fail("value", f"{name} is {want}, here {error!r}")
        if not alike(want.detach(), here):
            self.fail("value", f"{name} is {want}, here {here}")

    def finish(self) -> None:
        """Compare every value that is left."""
        for name, want in [*tensors(self.cpu)]:
            self.compare_values(name, want, self.ours[name])
            grad = gradient(want)
            if grad is not None:
                self.compare_values(f"{name}.grad", grad, self.ours[name].grad)

    def fail(self, kind: str, text: str) -> NoReturn:
        raise DifferenceError(kind, text, self.lines)


def printed(text: str) -> str:
    """A tensor's text, but for the device and for the node of an assigned number, which is a copy on devices."""
    text = "".join(text.split()).replace(",device='mlirdev:0'", "")
    return re.sub(r"<(CopyBackwards|FillBackward\d)>", "<Assignment>", text)


def tensors(names: dict[str, Any]) -> Iterable[tuple[str, Tensor]]:
    return ((name, value) for name, value in names.items() if isinstance(value, Tensor))


def execute(code: Any, names: dict[str, Any]) -> Exception | None:
    """What the line raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, names)
    except Exception as error:
        error.__traceback__ = None  # it would keep tensors alive
        return error
    return None


def described(names: dict[str, Any]) -> dict[str, dict[str, Any]]:
    storages: dict[int, str] = {}
    return {name: describe(name, t, storages) for name, t in tensors(names)}


FACTS: dict[str, Callable[[Tensor], Any]] = {
    "shape": lambda t: tuple(t.shape),
    "stride": lambda t: t.stride(),
    "storage_offset": lambda t: t.storage_offset(),
    "dtype": lambda t: t.dtype,
    "is_contiguous": lambda t: t.is_contiguous(),
    "channels_last": lambda t: t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last),
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "is_view": lambda t: t._is_view(),
    "version": lambda t: t._version,
    "nbytes": lambda t: t.untyped_storage().nbytes(),
    "has_pointer": lambda t: t.data_ptr() != 0,
    "place": lambda t: t.numel() and (t.data_ptr() - t.untyped_storage().data_ptr()),
}


def describe(name: str, t: Tensor, storages: dict[int, str]) -> dict[str, Any]:
    """All that a tensor tells without a value; `storages` names each storage by the first tensor on it."""
    facts = {fact: asked(ask, t) for fact, ask in FACTS.items()}
    facts["storage"] = storages.setdefault(t.untyped_storage()._cdata, name)
    grad = gradient(t)
    if grad is not None:
        # Whether gradients are summed in place depends on references that C++ counts.
        strides = tuple(stride for size, stride in zip(grad.shape, grad.stride(), strict=True) if size > 1)
        facts["grad"] = describe(f"{name}.grad", grad, storages) | {"version": None, "stride": strides}
    return facts


def asked(ask: Callable[[Tensor], Any], t: Tensor) -> Any:
    """Some views that were written may not even be asked."""
    try:
        return ask(t)
    except RuntimeError as error:
        return type(error)


def gradient(t: Tensor) -> Tensor | None:
    return t.grad if asked(lambda t: t.is_leaf, t) is True else None


def first_difference(want: dict[str, dict[str, Any]], got: dict[str, dict[str, Any]]) -> tuple[str, str]:
    if want.keys() != got.keys():
        return "names", f"{sorted(want)}, here {sorted(got)}"
    for name in want:
        for fact in want[name] | got[name]:
            a, b = want[name].get(fact), got[name].get(fact)
            if a != b and isinstance(a, dict) and isinstance(b, dict):
                kind, text = first_difference({name: a}, {name: b})
                return f"grad's {kind}", text
            if a != b:
                return fact, f"{name}.{fact} is {a}, here {b}"
    raise AssertionError("nothing differs")


def alike(want: Tensor, got: Tensor) -> bool:
    if want.shape != got.shape or want.dtype is not got.dtype:
        return False
    if torch.equal(want, got):
        return True
    if not (want.dtype.is_floating_point or want.dtype.is_complex):
        return False
    tolerance = TOLERANCES.get(want.dtype, 1e-5)
    return torch.allclose(want, got, rtol=tolerance, atol=tolerance, equal_nan=True)


def run_random(seed: int, steps: int) -> list[str]:
    """Generate and run the program of a seed; its lines. Raises DifferenceError."""
    program = Beside()
    draw = Draw(seed, program.cpu)
    for _ in range(3):
        program.run(results.new(draw))
    for _ in range(steps):
        program.run(results.line(draw))
        live = [name for name, _ in tensors(program.cpu)]
        if len(live) > KEEP:
            program.run(f"del {live[0]}")
    program.finish()
    return program.lines


def replay(lines: Iterable[str]) -> None:
    """Run these lines. Raises DifferenceError."""
    program = Beside()
    for line in lines:
        program.run(line)
    program.finish()
