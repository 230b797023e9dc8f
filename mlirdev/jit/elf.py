"""What an ELF object needs from outside, for error messages."""

from __future__ import annotations

import struct

_SYMBOL_TABLE = 2
_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")


def undefined_symbols(data: bytes) -> list[str]:
    """The names that a little-endian 64-bit ELF object refers to and doesn't define; empty for other files."""
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    try:
        sections = _sections(data)
        return [
            name
            for section in sections
            if section[1] == _SYMBOL_TABLE
            for name in _undefined_in(data, section[4], section[5], sections[section[6]][4])
        ]
    except (struct.error, IndexError, ValueError):  # cut short
        return []


def _sections(data: bytes) -> list[tuple[int, ...]]:
    (offset,) = struct.unpack_from("<Q", data, 40)
    entry_bytes, count = struct.unpack_from("<HH", data, 58)
    return [_SECTION.unpack_from(data, offset + i * entry_bytes) for i in range(count)]


def _undefined_in(data: bytes, offset: int, size: int, strings: int) -> list[str]:
    names = []
    for name, _, _, section, _, _ in _SYMBOL.iter_unpack(data[offset : offset + size]):
        if name and not section:
            start = strings + name
            names.append(data[start : data.index(b"\0", start)].decode())
    return names
