"""Saving, loading, copying and moving: as with CUDA's tensors; files load where there is no mlirdev."""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

D = "mlirdev"


def loaded(value: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


@pytest.mark.parametrize("where", [D, "cpu"])
@pytest.mark.parametrize("weights_only", [True, False])
def test_tensors_that_share_memory_share_it_in_the_file(where: str, weights_only: bool) -> None:
    x = torch.randn(4, 4, device=D)
    saved = {"x": x, "flat": x.view(16), "rows": x[1:], "turned": x.t(), "parameter": nn.Parameter(x)}
    got = loaded(saved, map_location=where, weights_only=weights_only)
    assert {t.device.type for t in got.values()} == {where}
    assert got["turned"].stride() == (1, 4)
    torch.testing.assert_close(got["rows"].cpu(), x[1:].cpu())
    got["x"].fill_(7)
    assert all((t == 7).all().item() for t in got.values())
    assert isinstance(got["parameter"], nn.Parameter)


def test_a_file_is_no_larger_than_the_cpus(tmp_path: Path) -> None:
    x = torch.randn(100, 100)
    for name, tensor in (("ours", x.to(D)), ("theirs", x)):
        torch.save([tensor, tensor[1:], tensor.view(-1)], tmp_path / name)
    sizes = [(tmp_path / name).stat().st_size for name in ("ours", "theirs")]
    assert abs(sizes[0] - sizes[1]) < 500


@pytest.mark.slow
def test_files_load_without_us(tmp_path: Path) -> None:
    m = nn.Linear(3, 3).to(D)
    torch.save({"tied": [m.weight, m.weight], "state": m.state_dict()}, tmp_path / "state.pt")
    torch.save(m, tmp_path / "module.pt")
    program = """
import sys, torch
state = torch.load(sys.argv[1] + "/state.pt", map_location="cpu", mmap=True)
assert state["tied"][0] is state["tied"][1] and state["state"]["weight"].device.type == "cpu"
torch.load(sys.argv[1] + "/module.pt", map_location="cpu", weights_only=False)(torch.ones(1, 3))
assert "mlirdev" not in sys.modules
"""
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], env=environment, check=True)


@pytest.mark.parametrize("saved_on", ["cpu", D])
@pytest.mark.parametrize("mmap", [False, True])
def test_map_location(tmp_path: Path, saved_on: str, mmap: bool) -> None:
    x = torch.randn(3, 4)
    torch.save({"x": x.to(saved_on)}, tmp_path / "x.pt")
    tag = "cpu" if saved_on == "cpu" else f"{D}:0"
    ways = {
        D: [D, torch.device(D), f"{D}:0", {tag: D}, lambda s, _: torch.serialization.default_restore_location(s, D)],
        "cpu": ["cpu", {tag: "cpu"}, lambda storage, _: storage],
        saved_on: [None, {"elsewhere": "cpu"}],
    }
    for where, locations in ways.items():
        for location in locations:
            got = torch.load(tmp_path / "x.pt", map_location=location, mmap=mmap)["x"]
            assert got.device.type == where
            assert torch.equal(got.cpu(), x)


def test_the_old_format() -> None:
    x = torch.randn(5)
    for where in ("cpu", D):
        file = io.BytesIO()
        torch.save([x.to(where), x.to(where)[1:]], file, _use_new_zipfile_serialization=False)
        file.seek(0)
        whole, part = torch.load(file, map_location=D)
        assert torch.equal(whole.cpu(), x)
        assert torch.equal(part.cpu(), x[1:])


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.bfloat16, torch.float64, torch.complex64])
def test_dtypes_layouts_and_bits(dtype: torch.dtype) -> None:
    x = (torch.randn(2, 3, 4, 5) * 3).to(dtype)
    for tensor in (x, x.to(memory_format=torch.channels_last), x[:, :0], x[0, 0, 0, 0]):
        got = loaded(tensor.to(D))
        assert (got.dtype, got.stride(), got.device.type) == (dtype, tensor.stride(), D)
        assert torch.equal(got.cpu(), tensor)
    if dtype.is_complex:
        assert torch.equal(loaded(x.to(D).conj()).cpu(), x.conj())


def test_pickle_and_deepcopy() -> None:
    x = torch.randn(3, 4, device=D, requires_grad=True)
    a, b = pickle.loads(pickle.dumps([x, x]))
    assert a is b
    assert a.requires_grad
    assert torch.equal(a.cpu(), x.cpu())
    m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).to(D)
    m[1].weight = m[0].weight
    twin = copy.deepcopy(m)
    assert twin[1].weight is twin[0].weight
    with torch.no_grad():
        twin[0].weight.zero_()
    assert m[0].weight.abs().sum().item() > 0
    whole, part = copy.deepcopy([m[0].weight.detach(), m[0].weight.detach()[1:]])
    whole.zero_()
    assert part.abs().sum().item() == 0
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


def test_state_dicts_between_devices() -> None:
    ours, theirs = nn.Linear(3, 3).to(D), nn.Linear(3, 3)
    theirs.load_state_dict(ours.state_dict())
    assert torch.equal(theirs.weight, ours.weight.cpu())
    theirs.load_state_dict(ours.state_dict(), assign=True)
    assert theirs.weight.device.type == D
    optimizer = torch.optim.Adam(ours.parameters())
    ours(torch.ones(1, 3, device=D)).sum().backward()
    optimizer.step()
    state = loaded(optimizer.state_dict(), map_location="cpu")
    for where in ("cpu", D):
        another = torch.optim.Adam(nn.Linear(3, 3).to(where).parameters())
        another.load_state_dict(state)
        assert next(iter(another.state.values()))["exp_avg"].device.type == where
    with torch.device("meta"):
        empty = nn.Linear(3, 3)
    empty.load_state_dict(ours.state_dict(), assign=True)
    assert empty.weight.device.type == D


def test_tied_weights_and_optimizers_survive_conversions() -> None:
    m = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
    m[1].weight = m[0].weight
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)

    def still_one() -> bool:
        return m[0].weight is m[1].weight and m[0].weight is optimizer.param_groups[0]["params"][0]

    for convert in ("mlirdev", "half", "double", "bfloat16", "float", "cpu", "mlirdev"):
        getattr(m, convert)()
        assert still_one(), convert
    assert m[0].weight.dtype is torch.float32
    m[0](torch.ones(1, 3, device=D)).sum().backward()
    optimizer.step()


def test_other_libraries_get_copies_or_an_error() -> None:
    import numpy as np

    x = torch.randn(3, device=D)
    for export in (x.numpy, lambda: np.asarray(x), x.__dlpack__, lambda: np.from_dlpack(x)):
        with pytest.raises((TypeError, BufferError), match=r"\.cpu\(\)"):
            export()
    assert torch.equal(torch.from_numpy(x.numpy(force=True)), x.cpu())
    assert torch.as_tensor(np.ones(3), device=D).device.type == D


class Squares(torch.utils.data.Dataset[Tensor]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> Tensor:
        return torch.full((2,), float(i * i))


def on_the_device(batch: list[Tensor]) -> Tensor:
    return torch.stack(batch).to(D)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_loaders_with_workers() -> None:
    torch.ones(1, device=D).item()
    loader = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2, pin_memory=True)
    batches = [batch.to(D, non_blocking=True) for batch in loader]
    assert [b[:, 0].tolist() for b in batches] == [[0, 1, 4, 9], [16, 25, 36, 49]]
    loader = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=1, collate_fn=on_the_device)
    with pytest.raises(RuntimeError, match="Cannot re-initialize mlirdev in forked subprocess"):
        next(iter(loader))


def test_safetensors(tmp_path: Path) -> None:
    """Its loader knows devices by names of its own; an index means the accelerator."""
    safetensors = pytest.importorskip("safetensors.torch")
    x = {"a": torch.randn(3, 4), "b": torch.randn(2).bfloat16()}
    safetensors.save_file({name: t.to(D) for name, t in x.items()}, tmp_path / "x.safetensors")
    for where in (0, "cpu"):
        got = safetensors.load_file(tmp_path / "x.safetensors", device=where)
        assert all(torch.equal(got[name].cpu(), t) for name, t in x.items())
        assert {t.device.type for t in got.values()} == {D if where == 0 else "cpu"}
    m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).to(D)
    m[1].weight = m[0].weight
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save_file(m.state_dict(), tmp_path / "m.safetensors")
    safetensors.save_model(m, tmp_path / "m.safetensors")
    safetensors.load_model(m, tmp_path / "m.safetensors")
