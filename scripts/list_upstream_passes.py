#!/usr/bin/env python3
"""Write mlirdev/passes/upstream.yaml: the names of the passes that the pinned torch-mlir has.

To be run after a change of the pin. MLIR has no call that lists its passes, so every word in the library that looks
like a pass's name is tried, and every end of one: linkers store a string that ends another one only once. What a
person wrote about a pass in the file is kept.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch_mlir.dialects.torch
import yaml
from torch_mlir import ir
from torch_mlir.passmanager import PassManager

FILE = Path(__file__).parent.parent / "mlirdev" / "passes" / "upstream.yaml"
HEAD = """# MLIR's and torch-mlir's passes by name, with what they do where somebody wrote it down.
# The names are found by scripts/list_upstream_passes.py; the words are ours.
"""


def main() -> None:
    library = Path(torch_mlir.__path__[0]) / "_mlir_libs" / "libTorchMLIRAggregateCAPI.so"
    words = {word.decode() for word in re.findall(rb"[a-z0-9-]{3,80}(?=\0)", library.read_bytes())}
    ends = {word[i:] for word in words for i in range(len(word) - 2)}
    with ir.Context():
        names = sorted(word for word in ends if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", word) and is_pass(word))
    known = yaml.safe_load(FILE.read_text()) if FILE.exists() else {}
    FILE.write_text(HEAD + yaml.safe_dump({name: known.get(name, "") for name in names}, width=1000))
    print(f"{FILE}: {len(names)} passes")


def is_pass(word: str) -> bool:
    try:
        PassManager.parse(f"any({word})")
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    main()
