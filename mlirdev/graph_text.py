"""The text of a Graph, read back: `parse_graph(str(graph)) == graph`.

    %0: 17x33xf32 = input
    $0: float = scalar
    s0 = size
    %1: 17x33xf32 = aten.mul.Tensor(%0, $0)  // n0
    %2: 33x17xf32 = aten.view.default(%1, [#33, #17])  // n1
    return %2

An operand is %value, $scalar, #size or a literal; a list stands in brackets. A size of a generalised graph is sN or
arithmetic such as mul(s0, 4). Lines that start with # are comments; blank lines are skipped.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from mlirdev.dtypes import DType
from mlirdev.errors import InternalError, OptionError
from mlirdev.graph import SCALAR_KINDS, Arg, Graph, Node, Ref, ScalarRef, Size, TensorSpec
from mlirdev.sizes import Dim, DimExpr, Sym

_TOKEN = re.compile(
    r"""\s*(?P<token>
      '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*"
    | \([^()\s]*[+-][^()\s]*j\)
    | [%$\#][\w-]*
    | [()\[\],:=]
    | [^\s()\[\],:=]+
    )""",
    re.VERBOSE,
)
_SPEC = re.compile(r"(?P<dims>(?:(?:\d+|s\d+|[a-z]+\(.*\))x)*)(?P<dtype>" + "|".join(
    re.escape(d.value) for d in sorted(DType, key=lambda d: -len(d.value))
) + r")$")  # fmt: skip
_STRING_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def parse_graph(text: str, name: str = "graph") -> Graph:
    """The graph of this text. Raises OptionError, with `name` and the line, for what isn't one."""
    reader = _Reader(name)
    for number, line in enumerate(text.splitlines(), 1):
        reader.read(number, line)
    return reader.graph()


@dataclass
class _Reader:
    name: str
    number: int = 0
    inputs: list[TensorSpec] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: tuple[int, ...] | None = None
    syms: int = 0
    values: int = 0

    def fail(self, message: str) -> NoReturn:
        raise OptionError(f"{self.name}:{self.number}: {message}")

    def read(self, number: int, line: str) -> None:
        self.number = number
        line = re.sub(r"\s*// n\d+\s*$", "", line).strip()
        if not line or line.startswith("#"):
            return
        if self.outputs is not None:
            self.fail("nothing may follow the line that returns")
        if line.startswith("return"):
            self.outputs = tuple(
                self._value(word) for word in re.split(r"[,\s]+", line[len("return") :].strip()) if word
            )
            return
        left, equals, right = line.partition(" = ")
        if not equals:
            self.fail(f"'{line}' is neither a value, such as %1: 2x3xf32 = aten.relu.default(%0), nor a return")
        self._define(left.strip(), right.strip())

    def _define(self, left: str, right: str) -> None:
        if right == "size":
            if left != f"s{self.syms}":
                self.fail(f"the next size is s{self.syms}, not {left}")
            self.syms += 1
        elif right == "scalar":
            number, _, kind = left.partition(": ")
            if number != f"${len(self.scalars)}" or kind not in SCALAR_KINDS:
                self.fail(
                    f"the next scalar is written ${len(self.scalars)}: KIND = scalar, of {', '.join(SCALAR_KINDS)}"
                )
            self.scalars.append(kind)
        elif right == "input":
            if self.nodes:
                self.fail("inputs come before the first node")
            self.inputs += self._specs(left)
        else:
            self._node(left, right)

    def _node(self, left: str, right: str) -> None:
        op, bracket, _ = right.partition("(")
        if not bracket or not right.endswith(")") or not re.fullmatch(r"\w+(\.\w+)+", op):
            self.fail(f"'{right}' isn't an operator's call, such as aten.relu.default(%0)")
        arguments = _Arguments(right[len(op) + 1 :], self.fail)
        args = arguments.list(")")
        arguments.end()
        self.nodes.append(Node(op, args, self._specs(left)))

    def _specs(self, left: str) -> tuple[TensorSpec, ...]:
        """The specs of values that are numbered on."""
        specs = []
        for part in re.split(r", (?=%\d+: )", left) if left else ():
            number, _, spec = part.partition(": ")
            if number != f"%{self.values}":
                self.fail(f"the next value is %{self.values}, not {number}")
            specs.append(self._spec(spec))
            self.values += 1
        return tuple(specs)

    def _spec(self, text: str) -> TensorSpec:
        match = _SPEC.fullmatch(text)
        if match is None:
            self.fail(f"'{text}' isn't a tensor's type, such as 17x33xf32; dtypes: {', '.join(d.value for d in DType)}")
        return TensorSpec(tuple(map(self._dim, _factors(match["dims"]))), DType(match["dtype"]))

    def _dim(self, text: str) -> Dim:
        return int(text) if text.isdecimal() else parse_dim(text, self.fail)

    def _value(self, word: str) -> int:
        if not re.fullmatch(r"%\d+", word):
            self.fail(f"'{word}' isn't a value, such as %3")
        return int(word[1:])

    def graph(self) -> Graph:
        if self.outputs is None:
            self.fail("a line 'return %…' is missing")
        graph = Graph(tuple(self.inputs), tuple(self.scalars), tuple(self.nodes), self.outputs, self.syms)
        try:
            graph.verify()
        except InternalError as error:
            raise OptionError(f"{self.name}: {error}") from error
        return graph


def parse_dim(text: str, fail: Callable[[str], NoReturn]) -> Dim:
    """A size: a number, sN, or op(size, size)."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"s\d+", text):
        return Sym(int(text[1:]))
    call = re.fullmatch(r"([a-z]+)\((.*)\)", text)
    parts = _operands(call[2]) if call else []
    if call is None or len(parts) != 2:
        fail(f"'{text}' isn't a size: a number, sN, or arithmetic such as mul(s0, 4)")
    return DimExpr(call[1], tuple(parse_dim(part.strip(), fail) for part in parts))


def _factors(dims: str) -> list[str]:
    """The sizes of "17xmax(s0, 4)x"."""
    return re.findall(r"(\d+|s\d+|[a-z]+\(.*?\)+)x", dims)


def _operands(text: str) -> list[str]:
    """What stands between the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


class _Arguments:
    """Reads an operator's arguments, token by token."""

    def __init__(self, text: str, fail: Callable[[str], NoReturn]) -> None:
        self._fail = fail
        self._tokens = [match["token"] for match in _TOKEN.finditer(text)]
        self._at = 0

    def list(self, closing: str) -> tuple[Arg, ...]:
        """What stands before `closing`; the opening bracket has been read."""
        items: list[Arg] = []
        while self._peek() != closing:
            if items:
                self._take(",")
            items.append(self._item())
        self._take(closing)
        return tuple(items)

    def end(self) -> None:
        if self._at != len(self._tokens):
            self._fail(f"'{self._peek()}' follows the closing bracket")

    def _item(self) -> Arg:
        token = self._next()
        if token == "[":
            return self.list("]")
        if self._peek() == "(":  # arithmetic on sizes
            return Size(parse_dim(token + self._call(), self._fail))
        return self._literal(token)

    def _call(self) -> str:
        """The text of a bracket, to its end."""
        text, depth = "", 0
        while True:
            token = self._next()
            depth += (token == "(") - (token == ")")
            text += token
            if depth == 0:
                return text

    def _literal(self, token: str) -> Arg:
        if token[0] in "%$#":
            return self._number(token)
        if token[0] in "'\"":
            return re.sub(r"\\(.)", lambda m: _STRING_ESCAPES.get(m[1], m[1]), token[1:-1])
        if token in _WORDS:
            return _WORDS[token]
        if re.fullmatch(r"s\d+", token):
            return Size(Sym(int(token[1:])))
        for kind in (int, float, complex):
            with contextlib.suppress(ValueError):
                return kind(token)
        return self._fail(
            f"'{token}' isn't an argument: %value, $scalar, #size, a number, 'text', True, False, None or a dtype"
        )

    def _number(self, token: str) -> Arg:
        if not re.fullmatch(r"[%$]\d+|#-?\d+", token):
            self._fail(f"'{token}' has no number")
        number = int(token[1:])
        return Ref(number) if token[0] == "%" else ScalarRef(number) if token[0] == "$" else Size(number)

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            self._fail("a bracket isn't closed")
        self._at += 1
        return token

    def _take(self, wanted: str) -> None:
        found = self._next()
        if found != wanted:
            self._fail(f"'{found}' where '{wanted}' was expected")


_WORDS: dict[str, Arg] = {"None": None, "True": True, "False": False, **{d.value: d for d in DType}}
