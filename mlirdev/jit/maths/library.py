"""Which functions we have, and putting them in place of a module's calls.

MLIR leaves calls to intrinsics (llvm.exp.f32, llvm.exp.v16f32) and to libm (expf). Of each that this
library knows, the callee becomes a function of ours, whose text is added to the module: LLVM then inlines it
and vectorises the loop round it. What it doesn't know stays: a scalar call into libm.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from mlirdev.jit.maths import error_function, exponential, logarithm, power, trigonometric
from mlirdev.jit.maths.builder import Builder, Value
from mlirdev.target import Target

Formula = Callable[..., Value]

_BOTH: dict[str, Formula] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "tanh": exponential.tanh,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "asinh": logarithm.asinh,
    "acosh": logarithm.acosh,
    "atanh": logarithm.atanh,
}
# By element kind, then by C's name without its type suffix.
FORMULAS: dict[str, dict[str, Formula]] = {
    "double": _BOTH,
    "float": {
        **_BOTH,
        "sin": trigonometric.sin,
        "cos": trigonometric.cos,
        "tan": trigonometric.tan,
        "asin": trigonometric.asin,
        "acos": trigonometric.acos,
        "atan": trigonometric.atan,
        "atan2": trigonometric.atan2,
        "erf": error_function.erf,
        "erfc": error_function.erfc,
        "pow": power.pow,
        "powi": power.powi,
    },
}
_PARAMETERS = {"atan2": 2, "pow": 2}

_KIND_OF_SUFFIX = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}
_INTRINSIC = re.compile(r"llvm\.(?P<name>[a-z0-9]+)\.(?:v(?P<lanes>\d+))?(?P<suffix>b?f\d+)(?:\.(?:v\d+)?i32)?")
_DECLARE = re.compile(r"^declare [^@\n]*@(?P<callee>[\w.]+)\([^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Function:
    """A function of ours as text, with the declarations and constants it needs."""

    name: str
    text: str
    declarations: frozenset[str]
    globals: tuple[str, ...]


def use_library(text: str, target: Target) -> str:
    """The module's text with every call that the library knows made to a function of ours."""
    has_ldexp = target.has("avx512f")
    functions = {
        match["callee"]: function
        for match in _DECLARE.finditer(text)
        if (function := implementation(match["callee"], has_ldexp))
    }
    if not functions:
        return text
    text = _DECLARE.sub(lambda match: "" if match["callee"] in functions else match.group(), text)
    callee = re.compile("@(" + "|".join(map(re.escape, functions)) + r")(?=\()")
    text = callee.sub(lambda match: f"@{functions[match.group(1)].name}", text)
    return text + "\n" + _definitions({f.name: f for f in functions.values()}, declared=text)


def _definitions(functions: dict[str, Function], declared: str) -> str:
    """The functions' text; an intrinsic that the module declares already isn't declared again."""
    present = {match["callee"] for match in _DECLARE.finditer(declared)}
    needed = sorted(frozenset().union(*(f.declarations for f in functions.values())))
    globals_ = dict.fromkeys(g for f in functions.values() for g in f.globals)
    missing = [d for d in needed if _name_of(d) not in present]
    return "\n".join([*globals_, *missing, *(f.text for f in functions.values()), ""])


def _name_of(declaration: str) -> str:
    match = _DECLARE.match(declaration)
    return match["callee"] if match else ""


@cache
def implementation(callee: str, has_ldexp: bool = False) -> Function | None:
    """Our function in place of an intrinsic or libm function, if there is one."""
    match = _INTRINSIC.fullmatch(callee)
    if match:
        name, kind, lanes = match["name"], _KIND_OF_SUFFIX.get(match["suffix"], ""), int(match["lanes"] or 0)
    elif callee in FORMULAS["double"]:
        name, kind, lanes = callee, "double", 0
    else:
        name, kind, lanes = callee.removesuffix("f"), "float" if callee.endswith("f") else "", 0
    computed = "float" if kind in ("half", "bfloat") else kind
    formula = FORMULAS.get(computed, {}).get(name)
    return _write(name, formula, kind, computed, Builder(lanes, has_ldexp)) if formula else None


def _write(name: str, formula: Formula, kind: str, computed: str, builder: Builder) -> Function:
    full_name = f"mlirdev.{name}.{builder.suffix_of(kind)}"
    parameters = [kind, "i32"] if name == "powi" else [kind] * _PARAMETERS.get(name, 1)

    def converted(*args: Value) -> Value:
        return formula(*(a.to(computed) if a.is_float else a for a in args)).to(kind)

    text = builder.function(full_name, parameters, converted)
    return Function(full_name, text, frozenset(builder.declarations), tuple(builder.globals.values()))
