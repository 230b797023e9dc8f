"""Names as people type them: whole, or as much of the beginning as is unique."""

from __future__ import annotations

from collections.abc import Iterable

from mlirdev.errors import OptionError
from mlirdev.explore.record import Record
from mlirdev.nearest import closest


def resolve(kind: str, given: str, known: Iterable[str]) -> str:
    """The known name that `given` is, or begins. Raises OptionError, with the candidates, where it isn't one."""
    names = list(known)
    if given in names:
        return given
    found = [name for name in names if name.startswith(given)]
    if len(found) == 1:
        return found[0]
    if found:
        raise OptionError(f"{kind} '{given}' may be {_listed(found)}; give more of the name")
    raise OptionError(f"no {kind} '{given}'; {_remedy(kind, given, names)}")


def resolve_graph(record: Record, given: str) -> str:
    """A graph's name."""
    return resolve("graph", given, record.graphs)


def resolve_kernel(record: Record, given: str) -> str:
    """A kernel's name."""
    return resolve("kernel", given, record.kernels)


def resolve_owner(record: Record, given: str) -> str:
    """Whose passes: "graphs/NAME" or "kernels/NAME", from that or from the name alone, by unique beginning."""
    owners = list(record.passes)
    if "/" in given:
        return resolve("graph or kernel", given, owners)
    by_name = {owner.partition("/")[2]: owner for owner in owners}
    return by_name[resolve("graph or kernel with passes", given, by_name)]


def _remedy(kind: str, given: str, names: list[str]) -> str:
    if not names:
        return f"the record has no {kind}"
    close = closest(given, names, cutoff=0.4)
    return f"did you mean '{close}'?" if close else f"there are: {_listed(names)}"


def _listed(names: list[str], most: int = 8) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
