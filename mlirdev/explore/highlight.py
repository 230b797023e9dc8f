"""Colours for IR on a terminal: Pygments knows LLVM IR and assembly; MLIR is described here."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, ClassVar

from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import GasLexer, LlvmLexer, PythonLexer, TextLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

_TYPES = r"\b(?:tensor|memref|vector|index|none|complex|tuple|bf16|f16|f32|f64|f128|tf32|[su]?i\d+|f8\w+)\b"


class MlirLexer(RegexLexer):
    """MLIR as it is printed: values, ops with their dialect, types, attributes and locations."""

    name = "MLIR"
    aliases: ClassVar[list[str]] = ["mlir"]
    filenames: ClassVar[list[str]] = ["*.mlir"]
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\s+", Text),
            (r"//[^\n]*", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"\bloc(?=\()|#loc\w*", Comment.Preproc),
            (r"[%^][\w$.#-]+", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"[#!][\w$.]+", Name.Decorator),
            (r"(?:(?:\d+|\?)x)+(?:[bf]?[fiu]\d+|index|complex)?", Keyword.Type),
            (r"\b[a-z_]\w*(?:\.\w+)+", Name.Builtin),
            (_TYPES, Keyword.Type),
            (r"\b(?:true|false|dense|unit)\b", Keyword.Constant),
            (r"\b(?:module|return|call|to|step|iter_args|ins|outs|into|from|private|attributes)\b", Keyword),
            (r"0x[0-9A-Fa-f]+|-?\d+(?:\.\d+(?:[eE][+-]?\d+)?)?", Number),
            (r"[A-Za-z_][\w$-]*", Name),
            (r"->|[=:*+-]", Operator),
            (r".", Punctuation),
        ]
    }


def lexer_of(file: str) -> Lexer:
    """The lexer for a file of this name."""
    lexer: Lexer = _LEXERS.get(PurePath(file).suffix, TextLexer)()
    return lexer


_LEXERS: dict[str, type[Lexer]] = {".mlir": MlirLexer, ".ll": LlvmLexer, ".s": GasLexer, ".py": PythonLexer}
