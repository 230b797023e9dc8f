"""A program compiled for one kind of arguments: what a call does.

arguments ─► buffers, scalars (numbers, random seeds) ─► one launch on the current stream
          ─► written arguments hold new memory; tensors over the results
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.compiler import Executable
from mlirdev.dynamo.replay import Literal, Made, Replayed, Result
from mlirdev.events import Flush, emit
from mlirdev.lazy.device import launch, upload
from mlirdev.lazy.flush import Lines, report_host_nodes
from mlirdev.lazy.storage import DEVICE_TYPE, cell_of, new_tensor
from mlirdev.lazy.trace import Cell, cell_of_buffer, current_stream, order
from mlirdev.options import options
from mlirdev.runtime import Buffer, Stream

# What launches are told to be caused by, and launches of recorded ops whose values a program reads.
CAUSE = "compiled"


class Variant:
    """See the module's docstring. `executable` is None where nothing has to be computed."""

    def __init__(self, replayed: Replayed, executable: Executable | None, syms: tuple[int, ...]) -> None:
        self._replayed = replayed
        self._executable = executable
        self._syms = syms
        self._where = replayed.lines.where(0)
        self._lines = Lines(replayed.lines.where, replayed.cut.nodes)
        self._inputs = [replayed.inputs[i] for i in replayed.cut.inputs]
        places = {place: k for k, place in enumerate(replayed.cut.scalars)}
        self._scalars = [replayed.scalars[place] for place in replayed.cut.scalars]
        self._numbers = [(places[place], number) for place, number in replayed.numbers.items() if place in places]
        self._draws = [(draw.generator, draw.blocks, places.get(draw.at)) for draw in replayed.draws]
        self._place = {number: k for k, number in enumerate(replayed.outputs)}

    def run(self, args: Sequence[Any], cells: Sequence[Cell | None]) -> Any:
        """What the graph returns for these arguments, whose cells are in `cells`."""
        buffers = self._launch(args, cells)
        replayed = self._replayed
        # All memory is looked up before any argument is given another one.
        made = [cell_of_buffer(layout, self._memory(n, buffers, args)) for layout, n in replayed.storages]
        new = [cell_of_buffer(layout, self._memory(n, buffers, args)) for _, layout, n in replayed.written]
        for (number, layout, _), value in zip(replayed.written, new, strict=True):
            cell = cell_of(args[number])
            cell.layout = layout
            cell.assign(value)
        tensors = list(map(new_tensor, made))
        results = [_result(result, args, tensors) for result in replayed.results]
        return results[0] if replayed.single else results

    def _memory(self, number: int, outputs: Sequence[Buffer], args: Sequence[Any]) -> Buffer:
        if number >= 0:
            return outputs[self._place[number]]
        source = self._replayed.inputs[-1 - number]
        return source if isinstance(source, Buffer) else _buffer(args[source])

    def _launch(self, args: Sequence[Any], cells: Sequence[Cell | None]) -> list[Buffer]:
        scalars = self._gather_scalars(args)
        if self._executable is None:
            return []
        start = time.perf_counter()
        stream = current_stream()
        inputs = []
        for source in self._inputs:
            if isinstance(source, int):
                cell = cells[source]
                inputs.append((cell and cell.buffer) or _buffer(args[source]))
            else:
                inputs.append(source)
        for buffer in inputs:
            if buffer.stream is not stream:
                order(stream, buffer.stream)
        report_host_nodes(self._executable, self._lines)
        buffers = self._enqueue(stream, inputs, scalars)
        emit(
            Flush(
                where=self._where,
                cause=CAUSE,
                outputs=len(buffers),
                hit=True,
                graph=self._executable.name,
                launches=self._executable.launches,
                launch_s=time.perf_counter() - start,
                lines=self._lines.all,
            )
        )
        return buffers

    def _enqueue(self, stream: Stream, inputs: Sequence[Buffer], scalars: Sequence[Any]) -> list[Buffer]:
        stream.device.check()
        assert self._executable is not None
        run, lines = self._executable.run, self._lines
        wait = options.mode == "blocking"
        threads = torch.get_num_threads()
        return run(stream, inputs, scalars, self._syms, threads, lines.kernel_error, wait, lines.host_error)

    def _gather_scalars(self, args: Sequence[Any]) -> list[float | int | bool]:
        scalars = self._scalars.copy()
        if self._numbers:
            # A dispatch mode, as AOTAutograd's on a first call, would be given a number that came from Python as such.
            with torch._C._DisableTorchDispatch():
                for place, number in self._numbers:
                    scalars[place] = args[number].item()
        for generator, blocks, drawn_at in self._draws:
            drawn = generator.take(blocks)
            if drawn_at is not None:
                scalars[drawn_at : drawn_at + 2] = drawn
        return scalars


def _buffer(argument: Tensor) -> Buffer:
    """The memory of an argument; what is recorded for it is launched first."""
    return launch(cell_of(argument) if argument.device.type == DEVICE_TYPE else upload(argument), CAUSE)


def _result(result: Result, args: Sequence[Any], made: Sequence[Tensor]) -> Any:
    if isinstance(result, Literal):
        return result.value
    base = made[result.storage] if isinstance(result, Made) else args[result.argument]
    return base if result.view is None else result.view.of(base)
