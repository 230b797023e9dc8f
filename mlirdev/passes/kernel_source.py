"""A kernel group, outlined: one MLIR module of its own with everything needed to compile it alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from mlirdev.plan import Signature

KINDS = ("elementwise", "row", "column", "contraction", "convolution", "pooling", "attention", "other")


@dataclass(frozen=True, slots=True)
class KernelSource:
    """`text` is a module with `func.func @kernel` on tensors, its parameters in the order of `signature`: buffers, then
    scalars (f64, i64), then sizes (index). The location of the k-th op is "nk", so equal kernels have equal text.
    `kind` is one of KINDS and steers the schedule."""

    key: str
    kind: str
    text: str
    signature: Signature

    @property
    def name(self) -> str:
        """What people call it: the same in every process, whatever becomes of it."""
        return f"{self.kind}-{self.key[:8]}"


def kernel_key(plain_text: str, signature: Signature) -> str:
    """The key of a kernel, given its text without locations. The signature's dims say what the text doesn't: which
    run-time sizes are equal."""
    return hashlib.sha256(f"{signature.dims}\n{plain_text}".encode()).hexdigest()[:24]
