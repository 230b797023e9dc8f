"""Lightning's Trainer on the device: `Trainer(accelerator="mlirdev")`, without an import of ours in the program.

Lightning has no entry points for accelerators: ours is put into its registry when that is imported (imports.py).
Nothing here imports Lightning: its base class is taken from the module that has just been imported.
"""

from __future__ import annotations

import types
from typing import Any

import torch

from mlirdev.backend.devices import NAME, device_index
from mlirdev.backend.imports import when_imported

# Lightning comes under two names; each is a copy of its own, with its own registry.
_HOMES = ("lightning.pytorch.accelerators", "pytorch_lightning.accelerators")


def install() -> None:
    """Register with the Lightnings that are imported, and with others when they are."""
    for name in _HOMES:
        when_imported(name, register)


def register(accelerators: Any) -> None:
    """Put the device into the registry of Lightning's module `accelerators`."""
    if NAME not in accelerators.AcceleratorRegistry:
        cls = types.new_class("MlirdevAccelerator", (_Accelerator, accelerators.Accelerator))
        accelerators.AcceleratorRegistry.register(NAME, cls, description=f"PyTorch device {NAME}")


class _Accelerator:
    """What Lightning asks of an accelerator: one device, `torch.device("mlirdev")`."""

    def setup_device(self, device: torch.device) -> None:
        """Called before the model comes to the device: nothing to do, the first tensor initialises it."""

    def setup(self, trainer: Any) -> None:
        """Called before the model comes to the device. Lightning takes "cpu" and "cuda" for what it doesn't know:
        the strategy's device and the type of mixed precision are put right here."""
        strategy = trainer.strategy
        if strategy.root_device.type == "cpu" and hasattr(strategy, "_root_device"):
            strategy._root_device = torch.device(NAME, 0)
        if getattr(strategy.precision_plugin, "device", None) == "cuda":
            strategy.precision_plugin.device = NAME

    def get_device_stats(self, device: Any) -> dict[str, Any]:
        from mlirdev.backend import memory

        return dict(memory.memory_stats(device))

    def teardown(self) -> None:
        """Nothing is kept."""

    @staticmethod
    def parse_devices(devices: int | str | list[int]) -> int:
        """`devices=1`, `"auto"`, `-1` or `[0]`: there is one."""
        for index in devices if isinstance(devices, list) else []:
            device_index(index)
        count = len(devices) if isinstance(devices, list) else int(devices)
        if count not in (1, -1):
            raise ValueError(f"device {NAME} is one; Trainer(devices={devices!r}) asks for more")
        return 1

    @staticmethod
    def get_parallel_devices(devices: int) -> list[torch.device]:
        return [torch.device(NAME, index) for index in range(devices)]

    @staticmethod
    def auto_device_count() -> int:
        return 1

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def name() -> str:
        return NAME
