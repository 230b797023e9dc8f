"""Forward-mode differentiation.

`linear` is recorded as one node, by a derivative of PyTorch's own that knows backwards only. Elsewhere it is composed
of ops that know both ways, so from a program's first dual tensor on it is here as well.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from mlirdev.lazy.handlers import handles
from mlirdev.lazy.storage import cell_of

_libraries: list[torch.library.Library] = []


def install() -> None:
    """Wait for the first dual tensor; torch.func.jvp makes its own the same way."""
    original = forward_ad.make_dual

    @functools.wraps(original)
    def make_dual(*args: Any, **kwargs: Any) -> Any:
        if not _libraries:
            _compose_linear()
        return original(*args, **kwargs)  # type: ignore[no-untyped-call]

    forward_ad.make_dual = make_dual


def _compose_linear() -> None:
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    library.impl("linear", _linear, "AutogradPrivateUse1")  # type: ignore[no-untyped-call]
    _libraries.append(library)


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if bias is not None and input.dim() == 2:
        return torch.addmm(bias, input, weight.t())
    product = torch.matmul(input, weight.t())
    return product if bias is None else product + bias


# --- tangents as large as their primals' storages, whose sizes PyTorch's C++ doesn't see ---------------------------


@handles("_has_same_storage_numel")
def _has_same_storage_numel(self: Tensor, other: Tensor) -> bool:
    return _storage_numel(self) == _storage_numel(other)


def _storage_numel(tensor: Tensor) -> int:
    return cell_of(tensor).layout.nbytes // tensor.itemsize


@handles("_new_zeros_with_same_feature_meta")
def _new_zeros_with_same_feature_meta(self: Tensor, other: Tensor, *, self_num_batch_dims: int = 0) -> Tensor:
    """Zeros of self's dtype, strided as `other`; self's batch dims, if any, are the outermost in memory."""
    batch, numel, strides = tuple(self.shape[:self_num_batch_dims]), _storage_numel(other), list(other.stride())
    for size in reversed(batch):
        strides.insert(0, numel)
        numel *= size
    return self.new_zeros(numel).as_strided((*batch, *other.shape), strides, other.storage_offset())
