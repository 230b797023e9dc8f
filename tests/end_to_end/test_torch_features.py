"""PyTorch's own tools around a model, unchanged: default device, torch.compile, torch.func, data parallelism."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

import mlirdev

pytestmark = pytest.mark.slow


def make() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Dropout(0.0), nn.Linear(16, 3))


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(5, 6, generator=generator), torch.randint(0, 3, (5,), generator=generator)


def train(model: Callable[[Tensor], Tensor], parameters: Iterator[Tensor], device: str) -> list[float]:
    """The losses of a few steps."""
    optimizer = torch.optim.AdamW(parameters, lr=0.05)
    x, y = (t.to(device) for t in batch())
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


@pytest.fixture(scope="module")
def wanted() -> list[float]:
    model = make()
    return train(model, model.parameters(), "cpu")


# --- torch.set_default_device -----------------------------------------------------------------------


@pytest.fixture
def default_device() -> Iterator[None]:
    torch.set_default_device("mlirdev")
    yield
    torch.set_default_device(None)


def test_everything_is_made_on_the_default_device(default_device: None, wanted: list[float]) -> None:
    made = [torch.ones(2), torch.arange(3), torch.tensor([1.0]), torch.randn(2), torch.eye(2), torch.logspace(0, 1, 3),
            torch.empty(2), torch.randperm(4), torch.full((2,), 7), torch.zeros(2).new_ones(3)]  # fmt: skip
    assert [t.device.type for t in made] == ["mlirdev"] * len(made)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Embedding(4, 2))
    assert {t.device.type for t in (*model.parameters(), *model.buffers())} == {"mlirdev"}
    assert torch.get_default_device().type == "mlirdev"
    assert torch.tensor([1.0], device="cpu").device.type == "cpu"
    with torch.device("cpu"):
        assert torch.ones(2).device.type == "cpu"
    with torch.device("meta"):
        assert nn.Linear(2, 2).weight.device.type == "meta"


def test_a_data_loader_under_a_default_device(default_device: None) -> None:
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    generator = torch.Generator("mlirdev")
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True, generator=generator)
    seen = torch.cat([x for (x,) in loader])
    assert seen.device.type == "mlirdev"
    assert sorted(seen.tolist()) == [*range(8)]


# --- torch.compile ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # dynamo's own
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_training(backend: str, wanted: list[float]) -> None:
    torch._dynamo.reset()
    model = make().to("mlirdev")
    with mlirdev.no_fallback():
        losses = train(torch.compile(model, backend=backend), model.parameters(), "mlirdev")
    assert losses == pytest.approx(wanted, rel=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_inference_with_a_graph_break(backend: str) -> None:
    torch._dynamo.reset()
    model = make().to("mlirdev").eval()

    def call(x: Tensor) -> Tensor:
        y = model(x)
        if y.sum() > 0:  # breaks the graph: what follows depends on a value
            y = y + 1
        x[0] += 1
        return torch.cat([y.softmax(1), x[:, :1].mul_(2)], 1)

    compiled = torch.compile(call, backend=backend)
    for _ in range(3):
        a, b = batch()[0].to("mlirdev"), batch()[0].to("mlirdev")
        with torch.no_grad():
            torch.testing.assert_close(compiled(a).cpu(), call(b).cpu())
        assert torch.equal(a, b)


# --- torch.func ---------------------------------------------------------------------------------------


def on(device: str) -> tuple[nn.Module, dict[str, Tensor], Tensor, Tensor]:
    model = make().to(device)
    return model, dict(model.named_parameters()), *(t.to(device) for t in batch())


def per_sample_gradients(device: str) -> dict[str, Tensor]:
    model, parameters, x, y = on(device)

    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        out = torch.func.functional_call(model, parameters, (x[None],))
        return nn.functional.cross_entropy(out, y[None])

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, x, y)


def jacobians(device: str) -> dict[str, Tensor]:
    model, parameters, x, _ = on(device)

    def call(x: Tensor) -> Tensor:
        return torch.func.functional_call(model, parameters, (x,))

    tangent = torch.ones_like(x)
    return {
        "jacrev": torch.func.jacrev(call)(x),
        "jacfwd": torch.func.jacfwd(call)(x),
        "jvp": torch.func.jvp(call, (x,), (tangent,))[1],
        "vjp": torch.func.vjp(call, x)[1](call(x))[0],
        "hessian": torch.func.hessian(lambda x: call(x).square().sum())(x[:1]),
    }


def ensemble(device: str) -> dict[str, Tensor]:
    models = [copy.deepcopy(make()).to(device) for _ in range(3)]
    with torch.no_grad():
        for i, model in enumerate(models):
            for p in model.parameters():
                p.mul_(i + 1)
    parameters, buffers = torch.func.stack_module_state(models)
    x = batch()[0].to(device)

    def call(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(models[0], (parameters, buffers), (x,))

    return {"out": torch.func.vmap(call)(parameters, buffers)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [per_sample_gradients, jacobians, ensemble])
def test_function_transforms(function: Callable[[str], dict[str, Tensor]]) -> None:
    ours = {name: t.detach().cpu() for name, t in function("mlirdev").items()}
    wanted = {name: t.detach() for name, t in function("cpu").items()}
    torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-5)


# --- data parallelism ---------------------------------------------------------------------------------


def test_data_parallel_is_the_model_on_its_one_device(wanted: list[float]) -> None:
    model = make().to("mlirdev")
    parallel = nn.DataParallel(model)
    assert train(parallel, model.parameters(), "mlirdev") == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("gloo", "No backend type associated with device type mlirdev"),
        ("cpu:gloo,mlirdev:gloo", "unsupported device type mlirdev"),
    ],
)
def test_distributed_is_refused_in_words(backend: str, said: str) -> None:
    """gloo has no device but the CPU, and says so."""
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(RuntimeError, match=said):
            nn.parallel.DistributedDataParallel(make().to("mlirdev"))
    finally:
        dist.destroy_process_group()
