"""Every row against CPU eager, on the calls that torch's own OpInfo samples make, in several layouts."""

from __future__ import annotations

from collections import defaultdict

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo

from mlirdev.lazy.specs import rule_for
from tests.lazy.specs.capture import Call, all_calls

# Names of `op_db` that CPU PyTorch can't run under a dispatch mode, or that aren't about strided CPU tensors.
NOT_RUN = {
    "jiterator_2inputs_2outputs",
    "jiterator_4inputs_with_extra_args",
    "jiterator_binary",
    "jiterator_binary_return_by_ref",
    "jiterator_unary",
    "pca_lowrank",
    "sparse.mm",
    "sparse.sampled_addmm",
    "svd_lowrank",
    "to_sparse",
}

# Overloads that arise here and have no row, with the reason.
VALUES_TELL = """
_ctc_loss.Tensor _unique.default _unique2.default bincount.default masked_select.default
nonzero.default repeat_interleave.Tensor unique_consecutive.default unique_dim.default
"""
RANDOM = """
bernoulli.default multinomial.default normal.Tensor_Tensor normal.Tensor_float normal.float_float randint.default
randint.low randint_like.low_dtype
"""
HOST_ONLY = """
linalg_lstsq.default
"""
NO_ROW = {f"aten.{name}" for name in (VALUES_TELL + RANDOM + HOST_ONLY).split()}

# Strides that depend on the CPU's libraries or on corners of eager's implementation that no user sees.
STRIDES_MAY_DIFFER = {
    "aten.convolution.default",  # channels-last, dilated and grouped: whether oneDNN takes it depends on the CPU
    "aten.convolution_backward.default",
    "aten.ldexp.Tensor",  # transposed exponents: eager's power is laid out differently per dtype
    "aten.linalg_solve_triangular.default",  # eager avoids copies by what happens to be contiguous
    "aten.pixel_unshuffle.default",  # empty tensors come back as they are
}

# As on CUDA: whose bag each index is in and the bags' sizes are always told.
RESULTS_DIFFER = {"aten._embedding_bag.default"}

ALL = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.complex64,
]


def infos() -> list[OpInfo]:
    return [info for info in op_db if info.name not in NOT_RUN]


def difference(call: Call) -> str | None:
    """What the rule says otherwise than eager, or None."""
    rule = rule_for(call.op)
    assert rule is not None
    try:
        answer = rule(call.args)
    except Exception as error:
        return f"{call.args}\n    eager {call.results}\n    rule  {error!r}"
    if answer is None:  # only values tell
        return None
    got, expected = answer, call.results
    if call.op in RESULTS_DIFFER:
        got, expected = got[:1], expected[:1]
    if call.op in STRIDES_MAY_DIFFER:
        got, expected = (tuple(s and s._replace(stride=None) for s in specs) for specs in (got, expected))
    return None if got == expected else f"{call.args}\n    eager {expected}\n    rule  {got}"


def check(dtype: torch.dtype, limit: int | None) -> None:
    wrong: dict[str, list[str]] = defaultdict(list)
    missing: set[str] = set()
    for call in all_calls(infos(), dtype, limit):
        if rule_for(call.op) is None:
            missing.add(call.op)
        elif problem := difference(call):
            wrong[call.op].append(problem)
    assert not missing - NO_ROW, f"overloads without a row: {sorted(missing - NO_ROW)}"
    shown = "\n".join(f"{op}: {len(problems)} calls, such as {problems[0]}" for op, problems in wrong.items())
    assert not wrong, shown


# The usual run has one dtype of each kind: the rules ask for kinds.
ONE_OF_EACH_KIND = {torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64}
DTYPES = [pytest.param(d, marks=[] if d in ONE_OF_EACH_KIND else pytest.mark.exhaustive, id=str(d)) for d in ALL]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_answer_as_eager(dtype: torch.dtype) -> None:
    check(dtype, limit=12 if dtype in (torch.float32, torch.int64) else 2)


def test_no_row_is_listed_that_exists() -> None:
    """The list of overloads without a row is strict."""
    assert not [name for name in sorted(NO_ROW) if rule_for(name)]
