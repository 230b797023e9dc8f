"""The three kinds of error, told apart by class: the user's, what isn't supported, and ours.

A user's mistake raises what eager PyTorch raises (RuntimeError, IndexError, TypeError, ValueError) and
needs no class here. Every message ends with what to do next.
"""

from __future__ import annotations


class MlirdevError(RuntimeError):
    """Base of what mlirdev itself raises."""


class UnsupportedError(MlirdevError, NotImplementedError):
    """What was asked for exists but isn't supported here; the message says what, why and the remedy."""


class LoweringError(UnsupportedError):
    """A graph's nodes can't be lowered to kernels; the driver runs them on the host instead.

    `nodes` are positions in `Graph.nodes`; `reason` is one line for the user.
    """

    def __init__(self, nodes: tuple[int, ...], reason: str) -> None:
        super().__init__(f"nodes {list(nodes)} can't be lowered: {reason}")
        self.nodes = nodes
        self.reason = reason

    def __reduce__(self) -> tuple[type[LoweringError], tuple[tuple[int, ...], str]]:
        return LoweringError, (self.nodes, self.reason)


class OptionError(MlirdevError, ValueError):
    """An option, a target file or a pipeline is wrong; the message names it and the nearest right one."""


class ForbiddenError(MlirdevError):
    """An implicit wait or a fallback inside `no_sync()` or `no_fallback()`, or one that an option forbids."""


class PassError(MlirdevError):
    """A pass or a stage failed. `stage` and `pass_name` say which; the message holds MLIR's own diagnostics. `illegal`
    counts the ops, by name, that should have been lowered."""

    def __init__(self, stage: str, pass_name: str, diagnostics: str, illegal: dict[str, int] | None = None) -> None:
        super().__init__(f"pass '{pass_name}' of stage '{stage}' failed: {diagnostics}")
        self.stage = stage
        self.pass_name = pass_name
        self.diagnostics = diagnostics
        self.illegal = illegal or {}

    def __reduce__(self) -> tuple[type[PassError], tuple[str, str, str, dict[str, int]]]:
        return PassError, (self.stage, self.pass_name, self.diagnostics, self.illegal)


class WrongResultError(MlirdevError):
    """A kernel's result isn't what PyTorch's CPU ops compute (option `verify`)."""


class InternalError(MlirdevError):
    """A bug of ours. `reproducer` is a folder that `mlirdev repro` runs again, where one was written."""

    def __init__(self, message: str, reproducer: str | None = None) -> None:
        remedy = f"; run it again with: mlirdev repro {reproducer}" if reproducer else ""
        super().__init__(message + remedy)
        self.reproducer = reproducer


class OutOfMemoryError(MlirdevError):
    """The device's memory doesn't hold what was asked for; nothing was written."""
