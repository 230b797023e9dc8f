"""`torch.mlirdev.random`: the state of the device's random numbers. Light: `torch.manual_seed` comes here."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from mlirdev.backend.devices import NAME, DeviceArg, device_index
from mlirdev.lazy import generators
from mlirdev.lazy.rng import default_generator

default_generators = (generators.default,)


def get_rng_state(device: DeviceArg = NAME) -> Tensor:
    """Seed and offset, 16 bytes on the CPU. Taken when recorded: what is recorded already has its numbers."""
    device_index(device)
    return default_generator.get_state()


def set_rng_state(new_state: Tensor, device: DeviceArg = NAME) -> None:
    """Go back to a state of `get_rng_state`."""
    device_index(device)
    default_generator.set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    return [get_rng_state()]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Start the random numbers anew from `seed`."""
    default_generator.manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    manual_seed(seed)


def seed() -> int:
    """Start the random numbers anew from a random seed; the seed."""
    return default_generators[0].seed()


def seed_all() -> int:
    return seed()


def initial_seed() -> int:
    """The seed that the random numbers started from."""
    return default_generator.seed
