"""`mlirdev doctor`: in words, whether this installation works, and what to do where it doesn't."""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import click

# The versions that are tested together; pyproject.toml pins them.
PINNED = {"torch": "2.13.", "torch-mlir": "20261001", "llvmlite": "0.50."}
FEATURES = ("avx2", "fma", "avx512f", "avx512bf16", "amx-tile", "amx-bf16", "neon", "sve", "v")


@dataclass(frozen=True)
class Finding:
    """One thing looked at; `remedy` is set where it isn't as it should be."""

    what: str
    found: str
    ok: bool = True
    remedy: str = ""


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> int:
    """Say whether torch, torch-mlir and llvmlite fit each other, and what the device will use.

    Exit code 1 if something isn't as it should be.
    """
    findings = [*versions(), compilation(), processor(), cache(), autoload()]
    if as_json:
        click.echo(json.dumps([asdict(f) for f in findings], indent=2))
    else:
        for f in findings:
            click.echo(f"{'ok   ' if f.ok else 'WRONG'}  {f.what}: {f.found}")
            if f.remedy:
                click.echo(f"       {f.remedy}")
        click.echo("All is well." if all(f.ok for f in findings) else "Not all is well; see what is marked WRONG.")
    return 0 if all(f.ok for f in findings) else 1


def versions() -> list[Finding]:
    """Python, and the three libraries that must fit each other."""
    enough = sys.version_info >= (3, 10)
    found = [
        Finding("python", platform.python_version(), enough, "" if enough else "Python 3.10 is the oldest that works")
    ]
    for name, pinned in PINNED.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            found.append(Finding(name, "not installed", False, _install(name, pinned)))
            continue
        fits = version.startswith(pinned)
        found.append(Finding(name, version, fits, "" if fits else f"not the tested one; {_install(name, pinned)}"))
    return found


def _install(name: str, pinned: str) -> str:
    wanted = f"{pinned}*" if pinned.endswith(".") else pinned
    return f"install it: python -m pip install '{name}=={wanted}'"


# What the pair is tried with, in a process of its own: MLIR and LLVM abort where they don't fit.
PROBE = """
from mlirdev.jit import emit_object, link, resolve_target
from mlirdev.passes.lower import lower_kernel, to_llvm_ir
from mlirdev.passes.texts import kernel_of_text
from mlirdev.target import load_target
import llvmlite.binding as llvm

target = resolve_target(load_target("host"))
source = kernel_of_text('''
func.func @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}''')
code = emit_object(to_llvm_ir(lower_kernel(source, target).module), source.signature, "probe", target)
kernel = link({"probe": code})["probe"]
assert kernel.address
print(".".join(map(str, llvm.llvm_version_info)))
"""


def compilation() -> Finding:
    """A tiny kernel taken all the way: torch-mlir's MLIR prints LLVM IR that llvmlite's LLVM must read."""
    what = "torch-mlir and llvmlite together"
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=120, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return Finding(what, "a tiny kernel took more than two minutes", False, "is the machine very busy? try again")
    if done.returncode == 0:
        return Finding(what, f"they fit: a kernel compiles and links (llvmlite's LLVM is {done.stdout.strip()})")
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    remedy = "install the versions that pyproject.toml pins: python -m pip install --force-reinstall mlirdev"
    return Finding(what, f"a tiny kernel doesn't compile: {last}", False, remedy)


def processor() -> Finding:
    """What the compiler will use of this machine's processor."""
    try:
        from mlirdev.jit import resolve_target
        from mlirdev.target import load_target

        target = resolve_target(load_target("host"))
    except ImportError as error:
        return Finding("processor", f"can't be asked: {error}", False, "install llvmlite")
    features = {feature[1:] for feature in target.llvm.features.split(",") if feature.startswith("+")}
    used = [feature for feature in FEATURES if feature in features]
    chip = target.llvm
    return Finding("processor", f"{chip.cpu}, vectors of {chip.vector_bits} bits, {', '.join(used) or 'no extensions'}")


def cache() -> Finding:
    """The disk cache's folder, and whether it can be written."""
    from mlirdev.compiler.cache import cache_folder
    from mlirdev.options import options

    folder = cache_folder()
    if not options.cache:
        return Finding("disk cache", "off (MLIRDEV_CACHE=0)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        remedy = "every process will compile anew; set MLIRDEV_CACHE_DIR to a folder that can be written"
        return Finding("disk cache", f"{folder} can't be written: {error.strerror}", False, remedy)
    megabytes = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file()) / 2**20
    return Finding("disk cache", f"{folder}, {megabytes:.0f} of {options.cache_size_mb} MiB, can be written")


def autoload() -> Finding:
    """Whether `import torch` alone brings the device."""
    what = "autoload"
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "0":
        return Finding(what, "off (TORCH_DEVICE_BACKEND_AUTOLOAD=0); programs must say `import mlirdev`")
    points = {point.name for point in metadata.entry_points(group="torch.backends")}
    if "mlirdev" not in points:
        remedy = "install it: python -m pip install -e . (in the project's folder); until then say `import mlirdev`"
        return Finding(what, "mlirdev isn't installed as a torch backend", False, remedy)
    torch = importlib.import_module("torch")
    name = torch._C._get_privateuse1_backend_name()
    if name != "mlirdev":
        remedy = f"another backend, {name}, holds torch's PrivateUse1; only one can; uninstall one of them"
        return Finding(what, f"torch's PrivateUse1 is {name}", False, remedy)
    return Finding(what, "on: `import torch` brings the device mlirdev")
