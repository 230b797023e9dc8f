"""Passes found by name, described, and their options checked."""

from __future__ import annotations

import pytest

from mlirdev.errors import OptionError
from mlirdev.passes.registry import check_options, declared_options, find_function, find_pass, list_passes, pass_names


def sample_pass(module: object, target: object, *, rows: int = 1, name: str = "x") -> None:
    """Does nothing.

    A second line that isn't help.
    """


def test_every_pass_is_found_by_its_name_and_has_help() -> None:
    passes = list_passes()
    assert [p.name for p in passes] == sorted(pass_names())
    assert all(p.help.endswith(".") or "—" in p.help or p.help for p in passes)
    assert find_pass("pin-contraction-operands").run.__module__ == "mlirdev.passes.pin_contraction_operands"


def test_unknown_pass_names_the_nearest() -> None:
    with pytest.raises(OptionError, match="did you mean 'pin-contraction-operands'"):
        find_pass("pin-contraction-operand")


def test_function_of_any_module() -> None:
    info = find_function(f"{__name__}:sample_pass")
    assert info.help == "Does nothing."
    assert info.options == {"rows": 1, "name": "x"}


@pytest.mark.parametrize("reference", ["no.such.module:run", "json:no_such_function", "json", ":run"])
def test_function_that_cannot_be_imported(reference: str) -> None:
    with pytest.raises(OptionError, match="can't be imported"):
        find_function(reference)


def test_options_are_checked_by_name_and_type() -> None:
    known = {"rows": 1, "fast": True}
    check_options("p", known, {"rows": 4, "fast": False})
    with pytest.raises(OptionError, match="no option 'row'; did you mean 'rows'"):
        check_options("p", known, {"row": 4})
    with pytest.raises(OptionError, match="takes int, not '4'"):
        check_options("p", known, {"rows": "4"})
    with pytest.raises(OptionError, match="takes int, not True"):
        check_options("p", known, {"rows": True})


def test_options_read_off_the_source_are_the_functions() -> None:
    for info in list_passes():
        assert declared_options(info.name) == info.options
