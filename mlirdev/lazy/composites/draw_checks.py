"""What eager refuses to draw: dtypes, and bounds that a dtype can't hold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from mlirdev.lazy.specs.checks import DTYPE_NAMES, refuse_unless

# How many bits a float's significand has.
DIGITS = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
# What C++ calls them.
_CPP = {
    torch.uint8: "unsigned char",
    torch.int8: "signed char",
    torch.int16: "short int",
    torch.int32: "int",
    torch.int64: "long int",
    torch.float16: "c10::Half",
    torch.float32: "float",
    torch.float64: "double",
}


def check_continuous(name: str, dtype: torch.dtype) -> None:
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {DTYPE_NAMES[dtype]}"
        )


def bounds_of_integers(dtype: torch.dtype, bounds: Sequence[int | None]) -> tuple[int, int]:
    """What random_ draws from: the least number, and one more than the largest."""
    if dtype.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    low, high = _asked(dtype, bounds)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if bounds:
        _check_within(dtype, {"from": low, "to - 1": high - 1})
    return low, high


def _asked(dtype: torch.dtype, bounds: Sequence[int | None]) -> tuple[int, int]:
    given = [b for b in bounds if b is not None]
    if len(given) == 2:
        return given[0], given[1]
    if len(bounds) == 1:
        return 0, given[0]
    low = given[0] if given else 0
    if dtype.is_floating_point:
        return low, (1 << DIGITS[dtype]) + 1
    return low, 2 if dtype is torch.bool else torch.iinfo(dtype).max + 1


def _check_within(dtype: torch.dtype, numbers: dict[str, int]) -> None:
    name = _CPP.get(dtype, str(dtype).removeprefix("torch."))
    floats = dtype.is_floating_point
    if floats:
        most = int(torch.finfo(dtype).max)
        least = -most
    else:
        least, most = (0, 1) if dtype is torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    for what, number in numbers.items():
        if not least <= number <= most:
            raise RuntimeError(f"{what} is out of bounds for {name}")
        if floats and abs(number) > 1 << DIGITS[dtype]:
            warnings.warn(
                f"{what} is out of bounds [-(2^{DIGITS[dtype]}), 2^{DIGITS[dtype]}]. Due to precision limitations "
                f"{name} can support discrete uniform distribution only within this range.",
                stacklevel=5,
            )


def check_uniform(dtype: torch.dtype, low: float, high: float) -> None:
    refuse_unless(dtype.is_floating_point or dtype.is_complex, "check_uniform_bounds", dtype)
    for what, bound in (("from", low), ("to", high)):
        if not abs(bound) <= torch.finfo(dtype).max:
            raise RuntimeError(f"{what} is out of bounds for {_CPP.get(dtype, str(dtype).removeprefix('torch.'))}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")


def check_multinomial(p: torch.Tensor, num_samples: int, replacement: bool) -> None:
    if p.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not p.is_floating_point():
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {DTYPE_NAMES[p.dtype]}")
    if p.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > p.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")


def check_permutation(n: int, dtype: torch.dtype) -> None:
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    refuse_unless(not dtype.is_complex and dtype is not torch.bool, "randperm", dtype)
    most = torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).max
    if n - 1 > most:
        raise RuntimeError(f"value cannot be converted to type {str(dtype).removeprefix('torch.')}_t without overflow")
