"""Numbers as a person reads them: seconds, bytes, operations, shares."""

from __future__ import annotations

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BYTES = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
_COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def seconds(value: float) -> str:
    """Seconds in the unit that leaves one to three digits before the point: "1.25 ms"."""
    if not value:
        return "0 s"
    factor, unit = next(((f, u) for f, u in _SECONDS if abs(value) >= f), _SECONDS[-1])
    return f"{_three_digits(value / factor)} {unit}"


def nbytes(value: float) -> str:
    """Bytes: "1.5 MiB", "12 B"."""
    factor, unit = next(((f, u) for f, u in _BYTES if abs(value) >= f), (1.0, "B"))
    return f"{value / factor:,.1f} {unit}" if unit != "B" else f"{value:,.0f} B"


def count(value: float) -> str:
    """How many, in short: "12.5 M"; small numbers whole."""
    factor, unit = next(((f, u) for f, u in _COUNTS if abs(value) >= f), (1.0, ""))
    return f"{_three_digits(value / factor)} {unit}" if unit else f"{value:,.0f}"


def share(value: float | None) -> str:
    """A fraction as percent; a dash where it isn't known."""
    if value is None:
        return "–"
    return "<0.1 %" if 0 < value < 0.0005 else f"{value * 100:.1f} %"


def rate(value: float) -> str:
    """So many a second, with three digits; the unit stands elsewhere."""
    return "0" if not value else "<0.01" if value < 0.005 else _three_digits(value)


def times(value: int) -> str:
    """How often: "once", "3 times"."""
    return "once" if value == 1 else f"{value:,} times"


def _three_digits(value: float) -> str:
    return f"{value:,.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"
