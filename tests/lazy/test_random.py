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


# --- every distribution ---------------------------------------------------------------------------------


def steps(probability, count):
    """The distribution function of numbers 0, 1, …, from their probabilities."""
    total, values = 0.0, []
    for k in range(count):
        total += probability(k)
        values.append(total)
    return lambda x: torch.tensor(values, dtype=torch.float64)[x.long().clamp(0, count - 1)]


def normal_cdf(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def binomial_probability(n, p):
    return lambda k: math.comb(n, k) * p**k * (1 - p) ** (n - k)


def poisson_probability(rate):
    return lambda k: math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))


CONTINUOUS = {
    "uniform": (lambda x: x.uniform_(2, 5), lambda x: (x - 2) / 3),
    "normal": (lambda x: x.normal_(), normal_cdf),
    "exponential": (lambda x: x.exponential_(2), lambda x: 1 - torch.exp(-2 * x)),
    "cauchy": (lambda x: x.cauchy_(1, 2), lambda x: 0.5 + torch.atan((x - 1) / 2) / math.pi),
    "log_normal": (lambda x: x.log_normal_(0, 1), lambda x: normal_cdf(x.log())),
    "gamma": (lambda x: torch._standard_gamma(x.fill_(2.5)), lambda x: torch.special.gammainc(torch.tensor(2.5), x)),
    "small gamma": (
        lambda x: torch._standard_gamma(x.fill_(0.3)),
        lambda x: torch.special.gammainc(torch.tensor(0.3), x),
    ),
    "dirichlet": (lambda x: torch._sample_dirichlet(x.new_ones(len(x), 2))[:, 0], lambda x: x),
    "tensors": (lambda x: torch.normal(x.fill_(1), x.new_full((1,), 2.0)), lambda x: normal_cdf((x - 1) / 2)),
}
DISCRETE = {
    "poisson": (lambda x: torch.poisson(x.fill_(3)), poisson_probability(3)),
    "large poisson": (lambda x: torch.poisson(x.fill_(40)), poisson_probability(40)),
    "binomial": (lambda x: torch.binomial(x.fill_(10), x.new_full((len(x),), 0.3)), binomial_probability(10, 0.3)),
    "large binomial": (
        lambda x: torch.binomial(x.fill_(100), x.new_full((len(x),), 0.6)),
        binomial_probability(100, 0.6),
    ),
    "geometric": (lambda x: x.geometric_(0.25) - 1, lambda k: 0.75**k * 0.25),
    "integers": (lambda x: x.random_(0, 7), lambda k: 1 / 7 if k < 7 else 0.0),
    "multinomial": (
        lambda x: torch.multinomial(x.new_tensor([0.1, 0.0, 0.6, 0.3]), len(x), replacement=True),
        lambda k: [0.1, 0.0, 0.6, 0.3, 0.0][min(k, 4)],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_kolmogorov_smirnov(dev, name, dtype):
    draw, cdf = CONTINUOUS[name]
    torch.manual_seed(7)
    x = draw(torch.empty(N, dtype=dtype, device=dev)).cpu().double().sort()[0]
    places = torch.arange(N, dtype=torch.float64) / N
    distance = torch.maximum((cdf(x) - places).abs(), (cdf(x) - places - 1 / N).abs()).max().item()
    assert distance * math.sqrt(N) < 1.95  # p = 0.001


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", DISCRETE)
def test_shares_of_each_number(dev, name, dtype):
    draw, probability = DISCRETE[name]
    torch.manual_seed(8)
    x = draw(torch.empty(N, dtype=dtype, device=dev)).cpu().long()
    counts = torch.bincount(x, minlength=120).double()
    for k in range(120):
        expected = N * probability(k)
        assert abs(counts[k].item() - expected) < 5 * math.sqrt(expected) + 1e-9 or expected < 5, k
        assert expected > 0 or not counts[k]


def test_halves_stay_below_one(dev):
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.rand(N, dtype=dtype, device=dev).float().cpu()
        assert x.max() < 1
        assert x.min() == 0


def test_an_exponential_is_never_zero(dev):
    assert torch.empty(1 << 16, device=dev).exponential_().min().item() > 0


@pytest.mark.slow
@pytest.mark.parametrize("low", [-(1 << 63), -(1 << 62), 0])
@pytest.mark.parametrize("span", [3 << 30, 1 << 40, 3 << 61, (1 << 63) - 1])
def test_wide_integers_have_no_bias(dev, low, span):
    high = low + span
    x = torch.empty(N, dtype=torch.int64, device=dev).random_(low, high).cpu()
    shares = (x.double() - low) / span
    assert x.min() >= low
    assert x.max() < high
    assert abs(shares.mean().item() - 0.5) < 5 / math.sqrt(12 * N)
    assert abs((shares < 1 / 3).double().mean().item() - 1 / 3) < 0.02


def test_all_of_int64(dev):
    x = torch.empty(N, dtype=torch.int64, device=dev).random_(-(1 << 63), None).cpu()
    assert abs((x < 0).double().mean().item() - 0.5) < 0.02
    assert x.max() > 1 << 62


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda d: torch.empty(2, dtype=torch.int8, device=d).random_(0, 200), RuntimeError),
        (lambda d: torch.empty(2, dtype=torch.uint8, device=d).random_(-1, 2), RuntimeError),
        (lambda d: torch.empty(2, device=d).random_(3, 3), RuntimeError),
        (lambda d: torch.empty(2, dtype=torch.int32, device=d).normal_(), NotImplementedError),
        (lambda d: torch.empty(2, dtype=torch.int32, device=d).uniform_(), NotImplementedError),
        (lambda d: torch.empty(2, dtype=torch.int32, device=d).exponential_(), RuntimeError),
        (lambda d: torch.empty(2, dtype=torch.complex64, device=d).bernoulli_(), NotImplementedError),
        (lambda d: torch.empty(2, dtype=torch.float16, device=d).uniform_(0, 1e9), RuntimeError),
        (lambda d: torch.binomial(torch.ones(2, dtype=torch.int64, device=d), torch.ones(2, device=d)), ValueError),
        (lambda d: torch.randperm(300, dtype=torch.uint8, device=d), RuntimeError),
        (lambda d: torch.multinomial(torch.ones(3, device=d), 4), RuntimeError),
        (lambda d: torch.poisson(torch.tensor([-1.0], device=d)).tolist(), RuntimeError),
        (lambda d: torch.normal(0.0, torch.tensor([-1.0], device=d)).tolist(), RuntimeError),
        (lambda d: torch.bernoulli(torch.tensor([1.5], device=d)).tolist(), RuntimeError),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "mlirdev"])
def test_what_eager_refuses(call, error, device):
    with pytest.raises(error):
        call(device)


# --- what is drawn follows from the seed alone ---------------------------------------------------------------


def draw_everything(sync):
    """A program of many draws, with a flush after each or at the end."""
    import mlirdev

    results = []

    def keep(x):
        results.append(x)
        if sync:
            mlirdev.sync()

    x = torch.full((3, 5), 0.4, device="mlirdev")
    keep(torch.rand(3, 5, device=x.device))
    keep(torch.randn_like(x))
    keep(torch.bernoulli(x))
    keep(torch.nn.functional.dropout(x + 1, 0.3))
    keep(torch.poisson(x * 50))
    keep(torch.binomial(x * 25, x))
    keep(torch._standard_gamma(x))
    keep(torch.multinomial(x, 2))
    keep(torch.randperm(7, device=x.device))
    keep(torch.empty(4, dtype=torch.int64, device=x.device).random_())
    keep(torch.randn(2, dtype=torch.complex64, device=x.device))
    return [r.cpu() for r in results]


def test_flushes_modes_and_other_work_change_nothing(dev):
    import mlirdev

    torch.manual_seed(9)
    wanted = draw_everything(sync=False)
    for mode, sync in (("lazy", True), ("eager", False), ("blocking", False)):
        torch.manual_seed(9)
        with mlirdev.options.override(mode=mode):
            other = torch.ones(9, device=dev).cumsum(0) * 2
            for ours, theirs in zip(draw_everything(sync), wanted, strict=True):
                torch.testing.assert_close(ours, theirs)
            assert other.sum().item() == 90


def test_the_devices_state_among_pytorchs(dev):
    torch.mlirdev.manual_seed_all(11)
    assert torch.mlirdev.initial_seed() == 11
    first = torch.rand(3, device=dev).tolist()
    with torch.random.fork_rng(device_type="mlirdev"):
        torch.rand(5, device=dev)
        torch.manual_seed(1)
    second = torch.rand(3, device=dev).tolist()
    torch.mlirdev.manual_seed(11)
    assert [torch.rand(3, device=dev).tolist(), torch.rand(3, device=dev).tolist()] == [first, second]
    states = torch.mlirdev.get_rng_state_all()
    third = torch.rand(3, device=dev).tolist()
    torch.mlirdev.set_rng_state_all(states)
    assert torch.rand(3, device=dev).tolist() == third
    assert torch.mlirdev.seed() == torch.mlirdev.initial_seed()


def test_out_overloads_draw_on_the_device(dev):
    def drawn():
        torch.mlirdev.manual_seed(12)
        f, i = torch.empty(3, device=dev), torch.empty(3, dtype=torch.int64, device=dev)
        return [
            torch.rand(3, out=f).tolist(), torch.normal(torch.ones(3, device=dev), 1.0, out=f).tolist(),
            torch.bernoulli(torch.full((3,), 0.5, device=dev), out=f).tolist(), torch.randperm(3, out=i).tolist(),
            torch.multinomial(torch.ones(5, device=dev), 3, out=i).tolist(), torch.randint(0, 9, (3,), out=i).tolist(),
        ]  # fmt: skip

    assert drawn() == drawn()
