"""The generator: seeds, offsets, and distributions that are what they say."""

import math
import pickle

import pytest
import torch

from mlirdev.lazy.host_ops import philox
from mlirdev.lazy.rng import Generator, default_generator

N = 20000


def test_philox_is_the_published_one():
    """Known answers of Random123 (kat_vectors): philox4x32 10."""
    words = philox(0, 0, [4]).tolist()
    assert words == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = philox(-1, -1, [4])
    assert ones.shape == (4,)


def test_a_seed_repeats_and_moves_on(dev):
    torch.manual_seed(3)
    a, b = torch.rand(5, device=dev), torch.rand(5, device=dev)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(5, device=dev).cpu(), a.cpu())
    assert not torch.equal(a.cpu(), b.cpu())


def test_numbers_dont_depend_on_when_they_are_computed(dev):
    import mlirdev

    torch.manual_seed(4)
    a = torch.randn(3, device=dev)
    mlirdev.sync()
    b = torch.randn(3, device=dev)
    torch.manual_seed(4)
    c, d = torch.randn(3, device=dev), torch.randn(3, device=dev)
    assert d.tolist() == b.tolist()
    assert c.tolist() == a.tolist()


def test_state_goes_back(dev):
    torch.rand(2, device=dev).cpu()
    state = default_generator.get_state()
    a = torch.rand(3, device=dev).tolist()
    default_generator.set_state(state)
    assert torch.rand(3, device=dev).tolist() == a
    with pytest.raises(RuntimeError, match="RNG state"):
        Generator().set_state(torch.zeros(3))


def test_a_cpu_generator_is_refused(dev):
    with pytest.raises(RuntimeError, match="Expected a 'mlirdev' device type for generator"):
        torch.rand(3, device=dev, generator=torch.Generator())


@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        (lambda x: x.uniform_(-1, 3), 1, 16 / 12),
        (lambda x: x.normal_(2, 3), 2, 9),
        (lambda x: x.exponential_(2), 0.5, 0.25),
        (lambda x: x.bernoulli_(0.3), 0.3, 0.21),
        (lambda x: x.geometric_(0.25), 4, 12),
        (lambda x: x.random_(0, 10), 4.5, 99 / 12),
        (lambda x: x.log_normal_(0, 0.5), math.exp(0.125), (math.exp(0.25) - 1) * math.exp(0.25)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_moments(dev, draw, mean, variance, dtype):
    torch.manual_seed(5)
    x = draw(torch.empty(N, dtype=dtype, device=dev)).cpu().double()
    deviation = math.sqrt(variance / N)
    assert abs(x.mean().item() - mean) < 5 * deviation
    assert abs(x.var().item() / variance - 1) < 0.1
    assert torch.isfinite(x).all()


def test_dropout_keeps_the_mean_and_its_mask(dev):
    torch.manual_seed(6)
    x = torch.ones(N, device=dev, requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    assert abs((y > 0).float().mean().item() - 0.75) < 0.02
    assert torch.equal(x.grad.cpu(), y.detach().cpu())


def test_randperm_is_a_permutation(dev):
    assert sorted(torch.randperm(50, device=dev).tolist()) == list(range(50))


def test_multinomial(dev):
    p = torch.tensor([0.1, 0.0, 0.6, 0.3], device=dev)
    drawn = torch.multinomial(p, 8000, replacement=True).cpu()
    share = torch.bincount(drawn, minlength=4) / 8000
    torch.testing.assert_close(share, p.cpu(), atol=0.03, rtol=0)
    assert sorted(torch.multinomial(p, 3).tolist()) == [0, 2, 3]
    assert torch.multinomial(p.expand(5, 4), 1).shape == (5, 1)


def test_randint_has_its_bounds(dev):
    x = torch.randint(-3, 4, (N,), device=dev).cpu()
    assert set(x.tolist()) == set(range(-3, 4))
    wide = torch.randint(0, 1 << 40, (N,), device=dev).cpu()
    assert wide.max() > 1 << 39
    assert wide.min() >= 0


def test_generators_of_the_device(dev):
    first = torch.Generator(device=dev).manual_seed(42)
    assert isinstance(first, torch.Generator)
    assert first.device == torch.device(dev.type, 0)
    torch.rand(5, device=dev, generator=first)
    state = first.get_state()
    second = torch.Generator(dev).set_state(state)
    drawn = torch.empty(9, device=dev).exponential_(generator=first).cpu()
    assert torch.equal(torch.empty(9, device=dev).exponential_(generator=second).cpu(), drawn)
    for copy in (pickle.loads(pickle.dumps(first)), first.clone_state()):
        expected = torch.randperm(9, device=dev, generator=second).cpu()
        second.set_state(first.get_state())
        assert torch.equal(torch.randperm(9, device=dev, generator=copy).cpu(), expected)
    assert first.initial_seed() == 42
    assert second.initial_seed() == 42


def test_a_generator_leaves_the_default_one_alone(dev):
    before = default_generator.get_state()
    torch.rand(3, device=dev, generator=torch.Generator(device=dev).manual_seed(1))
    assert torch.equal(default_generator.get_state(), before)
    torch.rand(3, device=dev, generator=torch.mlirdev.default_generators[0])
    assert not torch.equal(default_generator.get_state(), before)


def test_other_devices_generators_are_pytorchs(dev):
    assert type(torch.Generator()) is torch._C.Generator
    assert type(torch.Generator("cpu")) is torch._C.Generator
    assert torch.rand(2, generator=torch.Generator().manual_seed(3)).shape == (2,)
