"""The first program of every newcomer, without any import but torch's."""

from __future__ import annotations

import pytest

from tests.end_to_end.conftest import Program

SEED = """
import torch
assert hasattr(torch, "mlirdev") and torch.mlirdev.is_available()
x = torch.tensor([[1., 2.], [3., 4.]], device="mlirdev")
y = x + 2
print(y)
print(y.cpu())
"""
SHOWN = """\
tensor([[3., 4.],
        [5., 6.]], device='mlirdev:0')
tensor([[3., 4.],
        [5., 6.]])
"""


@pytest.mark.slow
def test_the_seed_script_cold_and_warm(program: Program, tmp_path: object) -> None:
    for _ in range(2):
        done = program(SEED, MLIRDEV_CACHE_DIR=f"{tmp_path}/cache")
        assert (done.stdout, done.stderr, done.returncode) == (SHOWN, "", 0)


@pytest.mark.slow
def test_the_program_itself_never_loads_mlir_or_torch_mlir(program: Program) -> None:
    """MLIR's aborts belong in the workers."""
    done = program(SEED + "import sys\nprint([m for m in sys.modules if m.startswith('torch_mlir')])")
    assert done.stdout == SHOWN + "[]\n", done.stderr


@pytest.mark.slow
def test_importing_torch_adds_our_leaves_and_nothing_foreign(program: Program) -> None:
    """What autoload costs: a few modules of ours, none of them a layer, and no library that torch hasn't."""
    listing = "import sys, torch\nprint('\\n'.join(sorted(sys.modules)))"
    without = set(program(listing, TORCH_DEVICE_BACKEND_AUTOLOAD="0").stdout.split())
    added = set(program(listing).stdout.split()) - without
    assert "mlirdev.backend" in added
    layers = ("compiler", "importer", "import", "passes", "jit", "runtime", "commands", "cli", "explore")
    assert not [name for name in added if name.startswith(tuple(f"mlirdev.{layer}" for layer in layers))]
    light = {f"mlirdev.lazy.{name}" for name in ("doors", "conversion", "pinned", "generators", "rng")}
    assert {name for name in added if name.startswith("mlirdev.lazy.")} <= light
    foreign = {"torch_mlir", "llvmlite", "rich", "click", "yaml", "platformdirs", "multiprocessing"}
    assert not foreign & {name.partition(".")[0] for name in added}
