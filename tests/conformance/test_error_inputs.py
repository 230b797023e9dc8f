"""What eager refuses, the device refuses, with the same type of exception: in the call, or in its launch where
values are at fault."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch
from torch.testing._internal.opinfo.core import ErrorInput

from mlirdev.options import options

from .judge import CPU, DEVICE, told
from .samples import OPS, call_of, tensors

DIFFERENT = {
    "narrow_copy": "an IndexError tells more than eager's failed internal check",
}
REFUSING = [
    pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=DIFFERENT[name]) if name in DIFFERENT else ())
    for name, op in sorted(OPS.items())
    if op.error_inputs_func is not None
]


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSING)
def test_refuses_as_eager(name: str) -> None:
    wrong = []
    with warnings.catch_warnings(), options.override(compile="reference"):
        warnings.simplefilter("ignore")
        for place, error in enumerate(_errors(name)):
            call = call_of(OPS[name].op, error.sample_input, keeps=False)
            wanted, got = _raised(call, CPU), _raised(call, DEVICE)
            if wanted is not None and type(got) is not type(wanted):
                wrong.append(f"input {place}: {told(got)}, not {told(wanted)}")
    assert not wrong, "\n".join(wrong)


def _errors(name: str) -> Iterator[ErrorInput]:
    return OPS[name].error_inputs("cpu")


def _raised(call, device: torch.device) -> Exception | None:
    try:
        # What follows from values is found when the answer is computed.
        for answer in tensors(call.run(call.on(device))):
            answer.cpu()
    except Exception as error:
        return error
    return None
