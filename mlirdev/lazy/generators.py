"""`torch.Generator(device="mlirdev")`.

PyTorch makes a device's generators in C++ alone. Ours is a CPU generator to C++, with a state of our own (rng.py)
behind its Python methods. The dispatcher wraps it anew on the way to a handler, so the C++ object's address tells
which state an op draws from.
"""

from __future__ import annotations

import secrets
import weakref
from typing import Any

import torch
from torch import Tensor
from torch._opaque_base import OpaqueBaseMeta

from mlirdev.lazy import rng

_DEVICE = "mlirdev"
_known: weakref.WeakValueDictionary[int, Generator] = weakref.WeakValueDictionary()


class Generator(torch.Generator):
    """The device's kind of torch.Generator: same methods, and a state of 16 bytes (seed, offset) as CUDA's."""

    state: rng.Generator

    @property
    def device(self) -> torch.device:  # type: ignore[override]  # an attribute in PyTorch's stubs
        return torch.device(_DEVICE, 0)

    def manual_seed(self, seed: int) -> Generator:
        super().manual_seed(seed)  # for the ops that run on the CPU
        self.state.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Take a random seed; the seed."""
        chosen = secrets.randbits(52)
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        return self.state.seed

    def get_state(self) -> Tensor:
        return self.state.get_state()

    def set_state(self, new_state: Tensor) -> Generator:
        self.state.set_state(new_state)
        return self

    def clone_state(self) -> Generator:
        """Another generator that goes on from here with the same numbers."""
        return restored(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self.get_state(),)


def new(state: rng.Generator | None = None) -> Generator:
    """A generator with a state of its own, or around this one."""
    made: Generator = type.__call__(Generator)
    made.state = state or rng.Generator()
    _known[made._cdata] = made  # type: ignore[attr-defined]  # missing in PyTorch's stubs
    return made


def restored(state: Tensor) -> Generator:
    """A generator in a state of `get_state`."""
    return new().set_state(state)


def state_of(generator: torch.Generator | None) -> rng.Source:
    """What an op with this argument draws from. Raises RuntimeError, as eager does, for another device's."""
    if generator is None:
        return rng.drawing(rng.default_generator)
    ours = _known.get(generator._cdata)  # type: ignore[attr-defined]
    if ours is None:
        raise RuntimeError(f"Expected a 'mlirdev' device type for generator but found '{generator.device.type}'")
    return rng.drawing(ours.state)


def install() -> None:
    """Let torch.Generator make ours. It is a C type; its metaclass is Python, and hands other calls on."""

    def call(cls: Any, *args: Any, **kwargs: Any) -> Any:
        device = args[0] if args else kwargs.get("device")
        if cls is torch.Generator and device is not None and torch.device(device).type == _DEVICE:
            return new()
        return type.__call__(cls, *args, **kwargs)

    OpaqueBaseMeta.__call__ = call  # type: ignore[method-assign, assignment]  # takes the class first, as type does


default = new(rng.default_generator)
