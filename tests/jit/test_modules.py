"""A module that lies in a cycle with its context is freed without harm, in whatever order."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own, which a wrong order ends.
PROGRAM = """
import gc
from mlirdev.jit.modules import parse_assembly

for turn in range(300):
    module = parse_assembly("define i32 @f(i32 %a) {\\n  ret i32 %a\\n}\\n")
    parts = [module, module._context]
    cycle = parts if turn % 2 else parts[::-1]
    cycle.append(cycle)
    del module, parts, cycle
    gc.collect()
print("alive")
"""


def test_a_module_in_a_cycle_is_freed_before_its_context() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
