"""Short ways: after its first call with a signature, an op is recorded without asking the overload again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from mlirdev.lazy.overloads import Overload, overload_of
from mlirdev.lazy.register import functional_of
from mlirdev.lazy.short_text import arguments_of, text_of

Call = Callable[[Tensor, Tensor], "Tensor | tuple[Tensor, ...]"]

# Numbers, options, optional and absent tensors, lists, several results, views as operands, writes.
CALLS: dict[str, Call] = {
    "number": lambda x, y: x * 2.5 + 1,
    "number that is structure": lambda x, y: torch.add(x, y, alpha=1) + x**2 + x**2.5,
    "number for a tensor": lambda x, y: torch.where(x > 0, x, 0.5),
    "option": lambda x, y: F.gelu(x, approximate="tanh"),
    "no bias": lambda x, y: F.linear(x, y),
    "bias": lambda x, y: F.linear(x, y, x[0]),
    "list": lambda x, y: torch.cat([x, y, x.t()], 1),
    "several results": lambda x, y: torch.max(x, 1),
    "weights": lambda x, y: F.layer_norm(x, (4,), y[0], y[1]),
    "transposed": lambda x, y: x.t() @ y,
    "part": lambda x, y: x[1:, ::2] + y[:3, 1:3],
    "selected": lambda x, y: x[2] * y[:, 1],
    "expanded": lambda x, y: x[0].expand(3, 4) - y[:3],
    "dtype": lambda x, y: x.sum(0, dtype=torch.float64),
    "index": lambda x, y: x[y.argmax(0)],
    "in place": lambda x, y: x.clone().add_(y.t(), alpha=2).mul_(0.5),
    "in place, with a view": lambda x, y: x.clone().add_(x[0]),
    "out": lambda x, y: torch.add(x, y, out=torch.empty(4, 4, device=x.device)),
    "strided result": lambda x, y: F.relu(x.t()).t() + y,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_known_signature_asks_nobody(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = CALLS[name]
    x, y = (torch.randn(4, 4, generator=torch.Generator().manual_seed(i)) for i in (0, 1))
    expected = call(x, y)
    first = call(x.to("mlirdev"), y.to("mlirdev"))
    asked = []
    resolve = Overload.resolve
    monkeypatch.setattr(Overload, "resolve", lambda self, *args: asked.append(self.name) or resolve(self, *args))
    again = call(x.to("mlirdev"), y.to("mlirdev"))
    assert asked == []
    for result in (first, again):
        torch.testing.assert_close(_on_cpu(result), _on_cpu(expected), equal_nan=True)


def _on_cpu(result: Tensor | tuple[Tensor, ...]) -> list[Tensor]:
    return [t.cpu() for t in (result if isinstance(result, tuple) else (result,))]


def test_equal_numbers_of_other_types_are_other_signatures() -> None:
    x = torch.ones(3, device="mlirdev", dtype=torch.int64)
    assert [(x * n).dtype for n in (2, 2.0, True, 2, 2.0)] == [
        torch.int64,
        torch.float32,
        torch.int64,
        torch.int64,
        torch.float32,
    ]


def test_a_view_is_read_anew_once_its_storage_was_written() -> None:
    x = torch.arange(6.0).reshape(2, 3).to("mlirdev")
    before = x.t() + 0.0
    x.mul_(2.0)
    torch.testing.assert_close(x.t().cpu(), before.cpu() * 2)
    torch.testing.assert_close((x.t() + 0.0).cpu(), before.cpu() * 2)


def test_the_users_error_is_the_long_ways() -> None:
    x = torch.ones(2, 3, device="mlirdev")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="must match the size"):
            x + torch.ones(2, 4, device="mlirdev")


@pytest.mark.parametrize("op", [torch.ops.aten.uniform_.default, torch.ops.aten.normal.Tensor_float])
def test_schemas_of_other_kinds_have_no_text(op: torch._ops.OpOverload) -> None:
    assert arguments_of(op._schema, overload_of(op)) is None


def test_a_text_names_every_argument() -> None:
    op = torch.ops.aten.add_.Tensor
    functional = functional_of(op)
    assert functional is not None
    arguments = arguments_of(op._schema, overload_of(functional))
    assert arguments is not None
    text = text_of(arguments, 1, arguments[0], holds_numbers=False)
    assert text.startswith("def short(p0, p1, *, alpha=d2):\n")
    assert text.endswith("return p0")
