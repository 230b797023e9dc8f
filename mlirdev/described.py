"""What a YAML file describes, a target or a vendor: found by the name of a built-in one or by a path, and checked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from mlirdev.errors import OptionError


def is_file(name: str) -> bool:
    """Whether a name is a path of the user's."""
    return name.endswith((".yaml", ".yml"))


def read_described(
    kind: str, name: str, builtin: Path, known: Iterable[str], wanted: Iterable[str] = ()
) -> tuple[Path, dict[str, Any]]:
    """The file of this name, and the mapping in it, of `known` keys, the `wanted` ones among them.

    Raises OptionError for an unknown name, a key that is unknown or missing, or a bad file.
    """
    path = Path(name) if is_file(name) else builtin / f"{name}.yaml"
    if not path.exists():
        names = sorted(p.stem for p in builtin.glob("*.yaml"))
        raise OptionError(f"no {kind} '{name}'; built in: {', '.join(names)}; or give a .yaml file")
    try:
        data = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise OptionError(f"{path}: not YAML: {error}") from error
    if not isinstance(data, dict):
        raise OptionError(f"{path}: a {kind} file is a mapping of keys to values")
    check_keys(path, data, known, wanted)
    return path, data


def check_keys(path: Path, data: dict[str, Any], known: Iterable[str], wanted: Iterable[str] = ()) -> None:
    """Raise OptionError for a key that isn't known, and for one that is wanted and isn't there."""
    names = sorted(known)
    for key in data:
        check_one_of(path, "key", key, names)
    for key in wanted:
        if key not in data:
            raise OptionError(f"{path}: '{key}' is missing")


def check_one_of(path: Path, what: str, value: Any, known: Iterable[str]) -> None:
    """Raise OptionError, with the nearest one, for a value that isn't known."""
    names = list(known)
    if value in names:
        return
    close = difflib.get_close_matches(str(value), names, n=1)
    remedy = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(names)}"
    raise OptionError(f"{path}: unknown {what} '{value}'; {remedy}")
