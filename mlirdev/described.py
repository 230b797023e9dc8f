"""What a YAML file describes, a target or a vendor: found, read with its lines, laid over another, and checked.

    mine.yaml ── extends ──► base.yaml ─► one mapping, and where each key stands ─► a frozen value of msgspec's
       └ assignments of the command line, "memory.dram.gbps=240", come last

Quantities of bytes may be written "128KiB". Every mistake is an OptionError with the file, the line and the remedy.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
import yaml

from mlirdev.errors import OptionError
from mlirdev.nearest import remedy

# The keys that lead to a value: ("memory", "dram", "gbps").
KeyPath: TypeAlias = "tuple[str | int, ...]"
Value = TypeVar("Value")

_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
# How a number of bytes is written with its unit.
QUANTITY = rf"^(\d+(?:\.\d+)?) ?({'|'.join(_UNITS)})$"


@dataclass(frozen=True)
class Described:
    """A mapping, and where each of its keys was written: "mine.yaml:4", or the assignment."""

    name: str
    path: Path
    data: dict[str, Any]
    origins: Mapping[KeyPath, str]

    def where(self, at: KeyPath) -> str:
        """Where a key was written; of one that isn't there, what it should stand in."""
        return next((self.origins[at[:n]] for n in range(len(at), 0, -1) if at[:n] in self.origins), str(self.path))


def is_file(name: str) -> bool:
    """Whether a name is a path of the user's."""
    return name.endswith((".yaml", ".yml"))


def read_described(kind: str, name: str, builtin: Path, assignments: Sequence[str] = ()) -> Described:
    """What the file of this name holds, over what it `extends`, under the assignments ("key.key=value").

    `name` is a path, a file of the folder `builtin`, or of a package that has an entry point of this name in the group
    "mlirdev.<kind>s". Raises OptionError.
    """
    path = _find(kind, name, builtin)
    data, origins = _extended(kind, path, builtin, ())
    for assignment in assignments:
        _assign(assignment, data, origins)
    return Described(path.stem, path, _in_bytes(data), origins)


def structured(described: Described, kind: type[Value]) -> Value:
    """The mapping as a value of this msgspec type. Raises OptionError for unknown keys and wrong values."""
    try:
        return msgspec.convert(described.data, kind)
    except msgspec.ValidationError as error:
        raise OptionError("\n".join(_mistakes(described, kind)) or f"{described.path}: {error}") from error


def schema_of(kind: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a file that `structured` takes: quantities of bytes are numbers, or text with a unit."""
    schema = msgspec.json.schema(kind)
    _admit_units(schema)
    return schema


def known_names(kind: str, builtin: Path) -> list[str]:
    """The names that `read_described` finds without a path."""
    return sorted({path.stem for path in builtin.glob("*.yaml")} | set(installed(kind)))


# --- finding --------------------------------------------------------------------------------------


def _find(kind: str, name: str, builtin: Path) -> Path:
    path = Path(name) if is_file(name) else builtin / f"{name}.yaml"
    if not path.exists() and not is_file(name):
        path = installed(kind).get(name, path)
    if not path.exists():
        names = ", ".join(known_names(kind, builtin))
        raise OptionError(f"no {kind} '{name}'; built in: {names}; or give a .yaml file")
    return path


@lru_cache
def installed(kind: str) -> dict[str, Path]:
    """The files that other packages bring: an entry point `name = "package"` means `package/name.yaml`."""
    found = {}
    for point in metadata.entry_points(group=f"mlirdev.{kind}s"):
        spec = find_spec(point.value)
        for folder in (spec and spec.submodule_search_locations) or ():
            found[point.name] = Path(folder) / f"{point.name}.yaml"
    return found


# --- reading --------------------------------------------------------------------------------------


def _extended(
    kind: str, path: Path, builtin: Path, below: tuple[Path, ...]
) -> tuple[dict[str, Any], dict[KeyPath, str]]:
    """A file's mapping laid over that of the file that it extends, and so on."""
    if path.resolve() in below:
        raise OptionError(f"{path}: it extends itself, through {' and '.join(p.name for p in below)}")
    data, origins = _read(kind, path)
    base = data.pop("extends", None)
    if base is None:
        return data, origins
    beside = path.parent / str(base)
    found = beside if is_file(str(base)) and beside.exists() else _find(kind, str(base), builtin)
    under, under_origins = _extended(kind, found, builtin, (*below, path.resolve()))
    under.pop("name", None)
    return _laid_over(data, under), {**under_origins, **origins}


def _read(kind: str, path: Path) -> tuple[dict[str, Any], dict[KeyPath, str]]:
    try:
        text = path.read_text()
    except OSError as error:
        raise OptionError(f"{kind} {path} can't be read: {error.strerror}") from error
    described = parse_yaml(kind, path, text)
    return copy.deepcopy(described.data), dict(described.origins)


@lru_cache(maxsize=64)
def parse_yaml(kind: str, path: Path, text: str, list_key: str = "") -> Described:
    """The mapping in a file's text; with `list_key`, a list may stand for the mapping of that key alone. What is given
    is remembered, since YAML takes long, and not to be changed."""
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node() or yaml.ScalarNode("tag:yaml.org,2002:null", "")
        data = loader.construct_document(node)
    except yaml.YAMLError as error:
        raise OptionError(f"{path}: not YAML: {error}") from error
    at: KeyPath = ()
    if isinstance(data, list) and list_key:
        data, at = {list_key: data}, (list_key,)
    if not isinstance(data, dict):
        raise OptionError(f"{path}: a {kind} file is a mapping of keys to values")
    origins: dict[KeyPath, str] = {(list_key,): f"{path}:1"} if at else {}
    _note_lines(node, at, path, origins)
    return Described(path.stem, path, data, origins)


def _note_lines(node: yaml.Node, at: KeyPath, path: Path, origins: dict[KeyPath, str]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*at, key.value)
            origins[inner] = f"{path}:{key.start_mark.line + 1}"
            _note_lines(value, inner, path, origins)
    elif isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            inner = (*at, i)
            origins[inner] = f"{path}:{item.start_mark.line + 1}"
            _note_lines(item, inner, path, origins)


def _laid_over(data: dict[str, Any], under: dict[str, Any]) -> dict[str, Any]:
    """Mappings are merged key by key, anything else is replaced."""
    merged = dict(under)
    for key, value in data.items():
        both = isinstance(value, dict) and isinstance(under.get(key), dict)
        merged[key] = _laid_over(value, under[key]) if both else value
    return merged


def _assign(assignment: str, data: dict[str, Any], origins: dict[KeyPath, str]) -> None:
    key, equals, text = assignment.partition("=")
    if not equals or not key.strip():
        raise OptionError(f"'{assignment}' must be key.key=value, as in memory.dram.gbps=240")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise OptionError(f"'{assignment}': '{text}' is no value as YAML writes it") from error
    *outer, last = key.strip().split(".")
    for name in outer:
        data = data.setdefault(name, {})
        if not isinstance(data, dict):
            raise OptionError(f"'{assignment}': '{name}' is a value, not a mapping of keys")
    data[last] = value
    at = (*outer, last)
    origins[at] = f"'{assignment}'"


def _in_bytes(value: Any) -> Any:
    """The value with "128KiB" as a number, wherever it stands."""
    if isinstance(value, dict):
        return {key: _in_bytes(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_in_bytes(inner) for inner in value]
    match = re.match(QUANTITY, value) if isinstance(value, str) else None
    return round(float(match[1]) * _UNITS[match[2]]) if match else value


# --- checking -------------------------------------------------------------------------------------


def _mistakes(described: Described, kind: type[Any]) -> list[str]:
    """Every mistake in a sentence. The JSON Schema tells where it is, which msgspec doesn't in a mapping by name."""
    # Takes as long to load as the rest of the package, and is wanted only when something is wrong.
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema_of(kind))
    errors = [jsonschema.exceptions.best_match([error]) for error in validator.iter_errors(described.data)]
    return [sentence for error in errors for sentence in _sentences(described, error)]


def _admit_units(schema: Any) -> None:
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _admit_units(inner)
    if isinstance(schema, dict) and schema.get("pattern") == QUANTITY:
        schema["type"] = ["integer", "string"]


def _sentences(described: Described, error: Any) -> list[str]:
    at: KeyPath = tuple(error.absolute_path)
    where, value, wanted = described.where(at), error.instance, error.validator_value
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        unknown = [key for key in value if key not in known]
        return [f"{described.where((*at, key))}: unknown key '{key}'; {remedy(key, known)}" for key in unknown]
    if error.validator == "enum":
        return [f"{where}: unknown {at[-1]} '{value}'; {remedy(value, wanted)}"]
    if error.validator == "type":
        kinds = wanted if isinstance(wanted, str) else " or ".join(wanted)
        return [f"{where}: '{_dotted(at)}' is {value!r}, and must be of type {kinds}"]
    if error.validator == "pattern":
        return [f"{where}: '{_dotted(at)}' is {value!r}; write a number, or one with a unit: {', '.join(_UNITS)}"]
    inside = f"'{_dotted(at)}': " if at else ""
    return [f"{where}: {inside}{error.message}"]


def _dotted(at: KeyPath) -> str:
    return ".".join(map(str, at))
