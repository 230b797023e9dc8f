"""A graph as a Python program of PyTorch calls on the device: what a person runs to see a failure."""

from __future__ import annotations

from mlirdev.described import is_file
from mlirdev.dtypes import DType
from mlirdev.explore.subject import Subject
from mlirdev.graph import Arg, Graph, Node, Ref, ScalarRef, Size
from mlirdev.lazy.host import keywords_of

_TORCH = {
    DType.f64: "float64",
    DType.f32: "float32",
    DType.f16: "float16",
    DType.bf16: "bfloat16",
    DType.f8e5m2: "float8_e5m2",
    DType.f8e4m3fn: "float8_e4m3fn",
    DType.i64: "int64",
    DType.i32: "int32",
    DType.i16: "int16",
    DType.i8: "int8",
    DType.u64: "uint64",
    DType.u32: "uint32",
    DType.u16: "uint16",
    DType.u8: "uint8",
    DType.i1: "bool",
    DType.c64: "complex64",
    DType.c128: "complex128",
}

_HEAD = '''"""{what}

{command}
"""

import pathlib

import numpy
import torch

with numpy.load(pathlib.Path(__file__).with_name("inputs.npz")) as archive:
    stored = dict(archive)


def tensor(name, dtype, *shape):
    data = bytearray(stored[name].tobytes())
    return torch.frombuffer(data, dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)


def results(device):
'''


def is_scriptable(graph: Graph) -> bool:
    """Whether every node is an operator of PyTorch's."""
    return not any(node.op.startswith("mlirdev.") for node in graph.nodes)


def script_of(subject: Subject, what: str) -> str:
    """A program that computes the graph on the device and on the CPU and shows where they differ."""
    graph = subject.graph
    lines = [
        f'    v{i} = tensor("input{i}", {_dtype(spec.dtype)}{"".join(f", {d}" for d in spec.shape)}).to(device)'
        for i, spec in enumerate(graph.inputs)
    ]
    for n, node in enumerate(graph.nodes):
        line = f"  # {subject.lines[n]}" if n in subject.lines else ""
        lines.append(f"    {_call(subject, n, node)}{line}")
    returned = ", ".join(f"v{o}" for o in graph.outputs)
    tail = [
        f"    return [{returned}]",
        "",
        "",
        'for number, (here, right) in enumerate(zip(results("mlirdev"), results("cpu"))):',
        "    try:",
        "        torch.testing.assert_close(here.cpu(), right, equal_nan=True)",
        '        print(f"result {number} is right")',
        "    except AssertionError as error:",
        '        print(f"result {number} is wrong: {error}")',
        "",
    ]
    head = _HEAD.format(what=what.replace('"""', "'''"), command=_command(subject))
    return head + "\n".join([*lines, *tail])


def _command(subject: Subject) -> str:
    """How to run the program so that it fails: with the pipelines that the reproducer beside it keeps."""
    own = [stage for stage, name in subject.target.pipelines.items() if is_file(name)]
    pipelines = ",".join(f"{stage}=pipelines/{stage}.yaml" for stage in own)
    return f"In its folder: {f'MLIRDEV_PIPELINE={pipelines} ' if own else ''}python run.py"


def _call(subject: Subject, position: int, node: Node) -> str:
    first = subject.graph.first_result[position]
    names = ", ".join(f"v{first + i}" for i in range(len(node.results)))
    namespace, name, overload = node.op.rsplit(".", 2)
    positional, keywords = keywords_of(node.op)
    args = [_text(arg, subject) for arg in node.args[:positional]]
    named = zip(keywords, node.args[positional:], strict=True)
    args += [f"{key}={_text(arg, subject)}" for key, arg in named if arg is not None]
    rest = ", *_" if len(node.results) > 1 else ""
    return f"{names}{rest} = torch.ops.{namespace}.{name}.{overload}({', '.join(args)})"


def _text(arg: Arg, subject: Subject) -> str:
    if isinstance(arg, Ref):
        return f"v{arg.value}"
    if isinstance(arg, ScalarRef):
        return repr(subject.scalars[arg.index])
    if isinstance(arg, Size):
        return str(arg.value)
    if isinstance(arg, DType):
        return _dtype(arg)
    if isinstance(arg, tuple):
        return "[" + ", ".join(_text(a, subject) for a in arg) + "]"
    if isinstance(arg, float) and (arg != arg or abs(arg) == float("inf")):
        return f'float("{arg}")'
    return repr(arg)


def _dtype(dtype: DType) -> str:
    return f"torch.{_TORCH[dtype]}"
