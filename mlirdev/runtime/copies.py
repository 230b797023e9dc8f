"""Copies between host and device memory, and within the device, in stream order."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from mlirdev.runtime.buffer import Buffer
from mlirdev.runtime.stream import Stream

# A blocking copy to a busy stream reads its source into spare memory up to this size, rather than waiting.
STAGED_BYTES = 1 << 20
# What is read back from an idle stream up to this size is no task of its own.
AT_ONCE_BYTES = 1 << 12


def copy_from_host(
    stream: Stream, buffer: Buffer, address: int, nbytes: int, offset: int = 0, keep: object = None, wait: bool = True
) -> None:
    """Write `nbytes` of host memory at `address` to `buffer` at `offset`.

    With `wait` the source may be changed or freed on return; without, it is read when the stream comes to
    it, and `keep` (whatever owns it) is held until then.
    """
    target = buffer.address + offset
    if not wait:
        stream.enqueue(_task(stream, "h2d", target, address, nbytes, keep))
    elif nbytes > STAGED_BYTES or stream.query():
        stream.run(_task(stream, "h2d", target, address, nbytes, keep))
    else:
        staged = ctypes.create_string_buffer(nbytes)
        ctypes.memmove(staged, address, nbytes)
        stream.enqueue(_task(stream, "h2d", target, ctypes.addressof(staged), nbytes, staged))


def copy_to_host(
    stream: Stream, buffer: Buffer, address: int, nbytes: int, offset: int = 0, keep: object = None, wait: bool = True
) -> None:
    """Write `nbytes` of `buffer` at `offset` to host memory at `address`.

    With `wait` the bytes are there on return, or the error that poisoned the buffer is raised; without, they
    are there once the stream has come to it, and `keep` (whatever owns the memory) is held until then.
    """
    task = _task(stream, "d2h", address, buffer.address + offset, nbytes, (keep, buffer))
    if not wait:
        stream.enqueue(task)
        return
    if nbytes > AT_ONCE_BYTES or not stream.run_at_once(task):
        stream.run(task)
    buffer.check()


def copy_on_device(stream: Stream, target: Buffer, source: Buffer, nbytes: int) -> None:
    """Copy the first `nbytes` of one buffer to another; a poisoned source poisons the target."""
    move = _task(stream, "d2d", target.address, source.address, nbytes, (target, source))

    def task() -> None:
        target.fate.settle(source.fate.error)
        move()

    stream.enqueue(task)


def _task(stream: Stream, way: str, target: int, source: int, nbytes: int, keep: object) -> Callable[[], None]:
    """A task that moves bytes, without the GIL, and holds `keep` meanwhile; `way` is CopyEnqueued's."""

    def task(keep: object = keep) -> None:
        ctypes.memmove(target, source, nbytes)

    if stream.timeline.listening:
        return stream.timeline.timed_copy(task, way, nbytes, stream.device.allocator.allocated())
    return task
