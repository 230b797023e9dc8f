from __future__ import annotations

import pytest

from mlirdev.errors import OptionError
from mlirdev.options import Options, option_fields, options, origin, read_environment, variable


def test_values_come_from_variables() -> None:
    read = read_environment({"MLIRDEV_MODE": "eager", "MLIRDEV_WORKERS": "3", "MLIRDEV_QUIET": "1", "HOME": "/x"})
    assert (read.mode, read.workers, read.quiet) == ("eager", 3, True)


@pytest.mark.parametrize("text", ["", "0", "false", "False", " off ", "no"])
def test_booleans_are_read_by_value(text: str) -> None:
    assert read_environment({"MLIRDEV_CACHE": text}).cache is False


def test_an_unknown_variable_warns_with_the_nearest_name() -> None:
    with pytest.warns(UserWarning, match="MLIRDEV_CASHE.*did you mean MLIRDEV_CACHE"):
        assert read_environment({"MLIRDEV_CASHE": "0"}) == Options()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("MLIRDEV_MODE", "lazzy", "lazy, eager, blocking"),
        ("MLIRDEV_WORKERS", "two", "isn't a whole number"),
        ("MLIRDEV_LOGS", "sync,recompile", "did you mean recompiles"),
    ],
)
def test_a_bad_value_warns_and_changes_nothing(name: str, text: str, said: str) -> None:
    with pytest.warns(UserWarning, match=said):
        assert read_environment({name: text, "MLIRDEV_QUIET": "1"}) == read_environment({"MLIRDEV_QUIET": "1"})


def test_assignment_is_checked() -> None:
    fresh = Options()
    with pytest.raises(OptionError, match="did you mean mode"):
        fresh.mod = "eager"
    with pytest.raises(OptionError, match="takes one of: allow, warn, error"):
        fresh.sync = "never"  # type: ignore[assignment]
    with pytest.raises(OptionError, match="takes int"):
        fresh.workers = True


def test_override_puts_back() -> None:
    before = options.mode
    with options.override(mode="blocking"):
        assert (options.mode, origin("mode")) == ("blocking", "program")
        with pytest.raises(OptionError), options.override(quiet=True, mode="no"):
            raise AssertionError("not reached")
    assert options.mode == before
    assert options.quiet is Options().quiet


def test_every_option_has_a_help_line_and_a_variable() -> None:
    assert all(field.metadata["help"] for field in option_fields())
    assert variable("cache_dir") == "MLIRDEV_CACHE_DIR"
