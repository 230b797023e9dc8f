"""mlirdev: a lazy PyTorch device, compiled kernel by kernel through MLIR. See README.md for the map."""

from __future__ import annotations


def _autoload() -> None:
    """PyTorch calls this at the end of `import torch` (entry point group `torch.backends`). Never raises."""
    from mlirdev import backend

    backend.autoload()
