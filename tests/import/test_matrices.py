"""Factorisations and solvers give what LAPACK gives; each case in a process of its own."""

from __future__ import annotations

import pytest
import torch

from mlirdev import importer

from .calls import check, isolated
from .matrices import matrices

# Both dtypes take turns: what differs between them is constants.
CASES = [
    pytest.param(case, id=f"{dtype}/{name}", marks=[pytest.mark.slow])
    for first, dtype in enumerate((torch.float32, torch.float64))
    for name, case in matrices(dtype)[first::2]
]


@pytest.fixture(scope="module")
def context():
    context = importer.new_context()
    check(lambda: torch.ones(2) @ torch.ones(2), context)  # loads once what each process would load
    return context


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_values(case, context) -> None:
    wrong = isolated(lambda: check(case, context))
    assert not wrong, "\n".join(wrong)
