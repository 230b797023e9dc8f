"""What to say of a name that nothing has: the one that was meant, or all that there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: object, known: Iterable[object], cutoff: float = 0.6) -> str:
    """The known name that is most like this one, "" if none is; a `cutoff` of 1 takes equal ones only."""
    close = difflib.get_close_matches(str(name), [str(other) for other in known], n=1, cutoff=cutoff)
    return close[0] if close else ""


def remedy(name: object, known: Iterable[object]) -> str:
    """ "did you mean …?", or all there are."""
    names = [str(other) for other in known]
    close = closest(name, names)
    return f"did you mean '{close}'?" if close else f"there are: {', '.join(names)}"
