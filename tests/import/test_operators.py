"""Every operator that the cases call gives CPU eager's values; in a process that MLIR may end."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest
import torch

from .calls import Forked, check
from .cases import FAMILIES
from .complexes import complexes
from .edges import edges
from .matrices import matrices
from .rare import rare
from .special import special

ALL = {**FAMILIES, "edges": edges, "rare": rare, "special": special, "complex": complexes}
# Both dtypes take turns: what differs between them is constants.
ALL["matrices-float32"] = lambda: matrices(torch.float32)[::2]
ALL["matrices-float64"] = lambda: matrices(torch.float64)[1::2]
# Of the special functions, which are many, the fast run has one per way of computing.
FAST = {"lgamma", "erfcx", "airy_ai", "chebyshev_polynomial_v", "nextafter"}
MANY = ("special", "complex", "matrices-float32", "matrices-float64")
# Of complex numbers one precision and one length that has every kind of step.
FAST |= {"movement", "sums", "arithmetic-single", "fourier-66", "grad", "grad-fourier"}
# Gradients of samples in several modes: many kernels each.
SLOW = {"grid_sample-grad", "grid_sample-nowhere", "grid_sample-volume", "pdist", "antialias"}
CASES = [
    pytest.param(
        case,
        id=f"{family}/{name}",
        marks=[pytest.mark.slow] if name in SLOW or (family in MANY and name not in FAST) else [],
    )
    for family, make in ALL.items()
    for name, case in make()
]


@pytest.fixture(scope="module")
def forked(context) -> Iterator[Forked]:
    """Does the case of a number, with everything loaded."""
    check(lambda: torch.ones(2) @ torch.ones(2), context)
    child = Forked(lambda number: check(CASES[number].values[0], context))
    yield child
    child.close()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("number", [pytest.param(i, id=p.id, marks=p.marks) for i, p in enumerate(CASES)])
def test_values(number: int, forked: Forked) -> None:
    wrong = forked(number)
    assert not wrong, "\n".join(wrong)


def test_routes_name_every_operator_once() -> None:
    routes = importlib.import_module("mlirdev.import").routes()
    assert routes["aten.exp.default"] == "direct"
    assert routes["aten._softmax.default"] == "decomposition"
    assert routes["mlirdev.philox"] == "own"
    assert len(routes) > 400
