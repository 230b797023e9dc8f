"""Autograd's corners on the device, beside the CPU: the same program on both gives the same values."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, func, nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

DEVICE = "mlirdev"
# PyTorch scripts its forward-mode decompositions, and warns of itself.
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.filterwarnings("ignore:Anomaly")]
PROGRAMS: list[Any] = []


def program(function: Callable[[str], list[Any]]) -> Callable[[str], list[Any]]:
    """A function of the device's name that gives tensors and numbers."""
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


def random(device: str, *shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(device)


def leaf(device: str, *shape: int, seed: int = 1) -> Tensor:
    return random(device, *shape, seed=seed).requires_grad_()


def filled(module: nn.Module, device: str) -> Any:
    """The module on the device, its parameters random and the same everywhere."""
    for i, p in enumerate(module.parameters()):
        p.data = random("cpu", *p.shape, seed=10 + i)
    return module.to(device)


@program
def hooks_of_tensors(device: str) -> list[Any]:
    x, log = leaf(device, 3), []
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    x.register_post_accumulate_grad_hook(lambda p: log.append(round(p.grad.sum().item(), 3)))
    handle = x.register_hook(lambda g: g + 1)
    (y**2).sum().backward()
    handle.remove()
    return [x.grad, y.grad, log]


@program
def hooks_of_modules(device: str) -> list[Any]:
    m = filled(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), device)
    m.register_forward_pre_hook(lambda m, a: (a[0] * 2,))
    m.register_forward_hook(lambda m, a, k, out: out + 1, with_kwargs=True)
    m.register_full_backward_hook(lambda m, before, after: (before[0] * 2,))
    m.register_full_backward_pre_hook(lambda m, after: (after[0] * 3,))
    x = leaf(device, 2, 3)
    m(x).pow(2).sum().backward()
    return [x.grad, m[0].weight.grad]


@program
def hooks_of_saved_tensors(device: str) -> list[Any]:
    graph, results, shapes = torch.autograd.graph, [], []

    def pack(saved: Tensor) -> Tensor:
        shapes.append(tuple(saved.shape))
        return saved.cpu()

    for hooks in (
        graph.saved_tensors_hooks(pack, lambda saved: saved.to(device)),
        graph.save_on_cpu(),
        graph.save_on_cpu(pin_memory=True),
        graph.allow_mutation_on_saved_tensors(),
    ):
        x = leaf(device, 3, 3)
        with hooks:
            (x @ x).sin().sum().backward()
        results.append(x.grad)
    return [results, shapes]


@program
def hooks_of_several_gradients(device: str) -> list[Any]:
    x, y, seen = leaf(device, 3), leaf(device, 3, seed=2), []
    handle = torch.autograd.graph.register_multi_grad_hook((x, y), lambda grads: seen.append(len(grads)))
    (x * y).sum().backward()
    handle.remove()
    return [x.grad, y.grad, seen]


@program
def second_and_third_derivatives(device: str) -> list[Any]:
    x = leaf(device, 4)
    (first,) = torch.autograd.grad((x**3).sin().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum(), x, create_graph=True)
    return [first, second, torch.autograd.grad(second.sum(), x)[0]]


@program
def penalty_on_a_gradient(device: str) -> list[Any]:
    layers = [nn.Conv2d(1, 4, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 1)]
    m, x = filled(nn.Sequential(*layers), device), leaf(device, 2, 1, 6, 6)
    (gradient,) = torch.autograd.grad(m(x).sum(), x, create_graph=True)
    (gradient.norm() - 1).pow(2).backward()
    return [p.grad for p in m.parameters() if p.grad is not None]


class Power(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
        return x**n, x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.n = inputs[1]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, unused: Tensor | None) -> tuple[Tensor, None]:
        assert unused is None
        (x,) = ctx.saved_tensors
        return grad * ctx.n * x ** (ctx.n - 1), None


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x.mul_(2))
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 2


class Exponential(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * ctx.saved_tensors[0]


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.sin()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def vmap(info: Any, dims: Any, x: Tensor) -> Any:
        return x.sin(), dims[0]


@program
def functions_of_ones_own(device: str) -> list[Any]:
    x, y, z = leaf(device, 3), leaf(device, 3), random(device, 4, 3)
    Power.apply(x, 3)[0].sum().backward()
    written = y * 1
    result = Doubled.apply(written)
    result.sum().backward()
    return [
        x.grad,
        result is written,
        y.grad,
        func.vmap(func.grad(lambda v: Exponential.apply(v).sum()))(z),
        func.vmap(Sine.apply)(z),
    ]


@program
def checkpoints(device: str) -> list[Any]:
    results = []
    for reentrant in (True, False):
        m, x = filled(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)), device), leaf(device, 2, 4)
        checkpoint(m, x, use_reentrant=reentrant).sum().backward()
        results += [x.grad, m[0].weight.grad]
    return results


@program
def graphs_kept_and_freed(device: str) -> list[Any]:
    x = leaf(device, 3)
    y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    z = x.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    return [x.grad]


@program
def gradients_asked_for(device: str) -> list[Any]:
    x, y = leaf(device, 3), leaf(device, 3, seed=2)
    ones = torch.ones((), device=device)
    grads = torch.autograd.grad([x.sum() * 2, (x * y).sum()], [x, y], grad_outputs=[ones, ones * 2])
    unused = torch.autograd.grad(x.sum(), [y], allow_unused=True)
    batched = torch.autograd.grad(x * y, x, grad_outputs=torch.ones(2, 3, device=device), is_grads_batched=True)
    torch.autograd.backward([x.sum(), (x * 2).sum()], inputs=[x])
    return [*grads, unused[0] is None, *batched, x.grad]


@program
def transforms(device: str) -> list[Any]:
    x, rows, w = random(device, 4), random(device, 3, 4), random(device, 4, 4, seed=3)

    def scalar(v: Tensor) -> Tensor:
        return (v.sin() * v).sum()

    def vector(v: Tensor) -> Tensor:
        return (w @ v).tanh()

    return [
        func.grad(scalar)(x), func.vmap(func.grad(scalar))(rows), func.jacrev(vector)(x), func.jacfwd(vector)(x),
        func.hessian(scalar)(x), *func.jvp(vector, (x,), (torch.ones_like(x),)), func.vjp(vector, x)[1](x)[0],
        func.vmap(func.jacrev(vector))(rows), func.vmap(scalar, chunk_size=2)(rows),
    ]  # fmt: skip


@program
def transforms_of_modules(device: str) -> list[Any]:
    m, x = filled(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1)), device), random(device, 6, 4)
    parameters = {name: p.detach() for name, p in m.named_parameters()}

    def loss(parameters: dict[str, Tensor], x: Tensor) -> Any:
        return func.functional_call(m, parameters, (x,)).pow(2).sum()

    each = func.vmap(func.grad(loss), in_dims=(None, 0))(parameters, x)
    tangents = func.jvp(m, (x,), (x,))
    return [*func.grad(loss)(parameters, x).values(), *each.values(), *tangents]


@program
def forward_mode(device: str) -> list[Any]:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(random(device, 3), torch.ones(3, device=device))
        y = forward_ad.unpack_dual((x.sin() * x).softmax(0))
        z = forward_ad.unpack_dual(nn.functional.layer_norm(x, (3,)))
        linear = forward_ad.unpack_dual(filled(nn.Linear(3, 2), device)(x))
    return [*y, *z, *linear]


def flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, list | tuple) else [value]


@pytest.mark.parametrize("run", PROGRAMS)
def test_as_on_the_cpu(run: Callable[[str], list[Any]]) -> None:
    for ours, theirs in zip(flat(run(DEVICE)), flat(run("cpu")), strict=True):
        if isinstance(theirs, Tensor):
            torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-5)
        else:
            assert ours == theirs


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_draws_the_same_numbers_again(reentrant: bool) -> None:
    for preserve in (True, False):
        x = torch.ones(1000, device=DEVICE, requires_grad=True)
        y = checkpoint(nn.functional.dropout, x, use_reentrant=reentrant, preserve_rng_state=preserve)
        between = torch.rand(3, device=DEVICE)
        y.sum().backward()
        assert torch.equal(x.grad.cpu(), y.detach().cpu()) == preserve
        assert not torch.equal(torch.rand(3, device=DEVICE).cpu(), between.cpu())


def test_anomaly_mode_finds_the_operation() -> None:
    x = torch.tensor([-1.0, 0.0], device=DEVICE, requires_grad=True)
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="SqrtBackward0"):
        (x.sqrt() * 0).sum().backward()


def run_in_threads(count: int, work: Callable[[int], None]) -> None:
    errors: list[BaseException] = []

    def guarded(i: int) -> None:
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def train(seed: int, device: str, steps: int) -> Tensor:
    m = filled(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2)), device)
    optimizer, x = torch.optim.Adam(m.parameters(), lr=0.01), random(device, 5, 8, seed=seed)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = m(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    return loss.detach().cpu()


def test_four_threads_train_at_once() -> None:
    losses: dict[int, Tensor] = {}
    run_in_threads(4, lambda i: losses.__setitem__(i, train(i, DEVICE, 10)))
    for i in range(4):
        torch.testing.assert_close(losses[i], train(i, "cpu", 10), rtol=1e-4, atol=1e-5)


def test_threads_go_backward_through_one_graph() -> None:
    x = leaf(DEVICE, 5, 5)
    y = (x @ x).tanh()
    run_in_threads(4, lambda i: (y.sum() * 2).backward(retain_graph=True))
    z = leaf("cpu", 5, 5)
    ((z @ z).tanh().sum() * 8).backward()
    torch.testing.assert_close(x.grad.cpu(), z.grad, rtol=1e-4, atol=1e-4)


def test_inference_mode() -> None:
    with torch.inference_mode():
        y = torch.ones(3, device=DEVICE) * 2
        y.add_(1)[1:].zero_()
    assert y.is_inference()
    assert y.tolist() == [3, 0, 0]
    with pytest.raises(RuntimeError, match="inference tensor"):
        y.requires_grad_()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        torch.ones(3, device=DEVICE, requires_grad=True) * y


@pytest.mark.slow
@pytest.mark.parametrize("randomness", ["same", "different"])
def test_vmap_draws_as_asked(randomness: str) -> None:
    same = func.vmap(lambda v: v + torch.rand(3, device=DEVICE), randomness=randomness)(
        torch.zeros(4, 3, device=DEVICE)
    )
    assert (same[0] == same[1]).all().item() == (randomness == "same")
    dropped = func.vmap(nn.functional.dropout, randomness=randomness)(torch.ones(4, 30, device=DEVICE))
    assert (dropped[0] == dropped[1]).all().item() == (randomness == "same")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda a, b: (a @ b).tanh(), [(2, 3), (3, 2)]),
        (lambda a, w: torch.conv2d(a, w, padding=1), [(1, 1, 3, 3), (1, 1, 2, 2)]),
        (lambda a, w: nn.functional.layer_norm(a, (3,), w), [(2, 3), (3,)]),
        (lambda a: a.softmax(-1).logsumexp(0), [(2, 3)]),
        (lambda a: a.cumsum(0).prod(1), [(2, 3)]),
    ],
)
def test_gradcheck(function: Callable[..., Tensor], shapes: list[tuple[int, ...]]) -> None:
    inputs = [random(DEVICE, *shape).double().requires_grad_() for shape in shapes]
    assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(function, inputs)
