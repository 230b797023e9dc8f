"""Every operator of PyTorch's database, in every dtype, has just the outcome that table.csv says.

An entry that gets better must be moved in the table as much as one that gets worse: `scripts/conformance` does.
The quick tests look at a few entries, the usual ones at all of float32 and some of each other dtype, CI at all.
"""

from __future__ import annotations

import pytest
import torch

from . import table
from .judge import judge
from .samples import OPS

# One entry in so many, a different one for each dtype.
QUICK, USUAL = 180, 12


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "op" not in metafunc.fixturenames:
        return
    wanted = metafunc.config.getoption("--dtypes").split(",")
    parameters = []
    for shift, dtype in enumerate(table.DTYPES):
        for place, op in enumerate(sorted(OPS)):
            if dtype in wanted and getattr(torch, dtype) in OPS[op].supported_dtypes("cpu"):
                marks = _marks(place + 7 * shift, dtype)
                parameters.append(pytest.param(op, dtype, marks=marks, id=f"{op}-{dtype}"))
    metafunc.parametrize(("op", "dtype"), parameters)


def _marks(place: int, dtype: str) -> list[pytest.MarkDecorator]:
    if place % QUICK == 0:
        return []
    usual = dtype == "float32" or place % USUAL == 0
    return [pytest.mark.slow] if usual else [pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture(scope="session")
def expected() -> dict[str, table.Row]:
    return table.read()


def test_operator(
    op: str, dtype: str, expected: dict[str, table.Row], request: pytest.FixtureRequest, record_property
) -> None:
    verdict = judge(OPS[op], getattr(torch, dtype))
    found = {dtype: verdict.forward}
    if dtype in table.DIFFERENTIABLE:
        found[f"{dtype} backward"] = verdict.backward
    record_property("found", found)
    if request.config.getoption("--update"):
        return
    told = {column: expected.get(op, {}).get(column, "") for column in found}
    if verdict.forward == "native" and _may_be_native(op, dtype, told[dtype]):
        return
    assert found == told, f"{verdict.detail or 'better than the table says'} (scripts/conformance writes the table)"


def _may_be_native(op: str, dtype: str, outcome: str) -> bool:
    """Whether an entry that isn't native is so on some processors only."""
    return any(rule.on_some and rule.covers(op, dtype, outcome) for rule in table.explanations())


def test_table_names_all_operators(expected: dict[str, table.Row]) -> None:
    dtypes = {getattr(torch, dtype) for dtype in table.DTYPES}
    assert set(expected) == {name for name, op in OPS.items() if op.supported_dtypes("cpu") & dtypes}


def test_what_is_not_native_is_explained(expected: dict[str, table.Row]) -> None:
    """Every entry that isn't native has a reason, and every reason an entry."""
    rules = list(table.explanations())
    used = set()
    for op, column, word in table.entries(expected):
        if word == "native":
            continue
        found = [rule for rule in rules if rule.covers(op, column.split()[0], word)]
        assert found, f"{op} in {column}: {word}, and explained.yaml doesn't say why"
        used.update(found)
    unused = [rule.ops.pattern for rule in rules if rule not in used]
    assert not unused
