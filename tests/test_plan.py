from __future__ import annotations

import pickle

import pytest

from mlirdev.dtypes import DType
from mlirdev.errors import InternalError
from mlirdev.graph import Sym
from mlirdev.plan import DimArg, DimExpr, HostLaunch, Launch, Plan, ScalarArg, Slot, SlotArg, evaluate


@pytest.mark.parametrize(
    ("op", "value"),
    [("add", 9), ("sub", 5), ("mul", 14), ("floordiv", 3), ("ceildiv", 4), ("mod", 1), ("max", 7), ("min", 2)],
)
def test_arithmetic_on_sizes(op: str, value: int) -> None:
    assert evaluate(DimExpr(op, (Sym(1), 2)), (0, 7)) == value


def test_expressions_nest() -> None:
    half = DimExpr("ceildiv", (Sym(0), 2))
    assert evaluate(DimExpr("mul", (half, half)), (5,)) == 9
    assert str(DimExpr("mul", (half, 3))) == "mul(ceildiv(s0, 2), 3)"


def test_an_unknown_operation_is_our_fault() -> None:
    with pytest.raises(InternalError, match="xor"):
        evaluate(DimExpr("xor", (1, 2)), ())


def test_a_slot_knows_its_bytes() -> None:
    assert Slot((Sym(0), 3), DType.f64).nbytes((2,)) == 48
    assert Slot((), DType.i1).nbytes(()) == 1
    assert Slot((0, 5), DType.f32).nbytes(()) == 0


def test_plans_pickle_and_print() -> None:
    plan = Plan(
        slots=(Slot((2,), DType.f32), Slot((2,), DType.f32)),
        inputs=(0,),
        outputs=(1,),
        launches=(
            Launch("k0", (SlotArg(0), ScalarArg(0), DimArg(Sym(0))), (1,), nodes=(0, 2)),
            HostLaunch(1, (1,), (1,)),
        ),
        scalars=("float",),
        kernels=("k0",),
    )
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert str(plan).splitlines() == [
        "slot 0: 2xf32",
        "slot 1: 2xf32",
        "launch k0(slot 0, scalar 0, dim s0) -> [1]  // nodes [0, 2]",
        "host n1 [1] -> [1]",
        "return [1]",
    ]
