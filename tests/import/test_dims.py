from __future__ import annotations

import importlib

from mlirdev.graph import Sym
from mlirdev.plan import DimExpr

dims = importlib.import_module("mlirdev.import.dims")
S = Sym(0)


def test_a_place_plus_a_length_less_the_place_is_the_length() -> None:
    assert dims.sub(dims.add(S, 1), S) == 1
    assert dims.sub(DimExpr("add", (2, S)), S) == 2
    assert dims.sub(S, S) == 0
    assert dims.sub(dims.add(S, 1), 1) == S
