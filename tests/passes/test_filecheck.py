"""Runs every .mlir file of this folder: its RUN line's pipeline, then its CHECK lines on what comes out.

// RUN: mlirdev opt --pass-pipeline=TEXT %s | filecheck %s
"""

from __future__ import annotations

import io
import shlex
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts
from torch_mlir import ir

from mlirdev.passes.lower import kernel_context
from mlirdev.passes.runner import run_pipeline
from mlirdev.target import load_target

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.mlir")))
def test_file(name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)  # where a pipeline finds its transform files
    path = FOLDER / name
    text = path.read_text()
    target = flag_of(text, "--target=")
    output = run_opt(text, pipeline_of(text), str(FOLDER / target) if target else "host")
    options = Options(match_filename=str(path), comment_prefixes=["COM", "RUN"], check_prefixes=["CHECK"])
    code = Matcher(options, FInput(name, output), Parser(options, io.StringIO(text), *pattern_for_opts(options))).run()
    assert code == 0, f"{capfd.readouterr().err}\n--- output of the pipeline:\n{output}"


def pipeline_of(text: str) -> str:
    """The pipeline that the file's RUN line asks for."""
    pipeline = flag_of(text, "--pass-pipeline=")
    assert pipeline is not None
    return pipeline


def flag_of(text: str, flag: str) -> str | None:
    """What the file's RUN line gives for a flag."""
    line = next(line for line in text.splitlines() if line.startswith("// RUN:"))
    words = shlex.split(line.removeprefix("// RUN:"))
    assert words[:2] == ["mlirdev", "opt"]
    return next((word.removeprefix(flag) for word in words if word.startswith(flag)), None)


def run_opt(text: str, pipeline: str, target: str = "host") -> str:
    with kernel_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module, pipeline, load_target(target))
        return str(module)
