"""What concerns the order of streams rather than values."""

from __future__ import annotations

import torch
from torch import Tensor

from mlirdev.lazy.device import device, launch
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.storage import cell_of


@handles("record_stream")
def record_stream(self: Tensor, s: torch.Stream) -> None:
    """The tensor's memory is not reused before the work recorded on `s` until the tensor's death is done."""
    launch(cell_of(self), "event").record_stream(device().streams[s.stream_id])
