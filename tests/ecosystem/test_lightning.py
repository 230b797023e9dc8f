"""Lightning's Trainer by `accelerator="mlirdev"`: trains, logs, checkpoints and predicts as on the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

pytestmark = [pytest.mark.ecosystem, pytest.mark.slow]


class Model(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
        self.losses: list[Tensor] = []
        self.seen: set[tuple[str, torch.dtype]] = set()

    def training_step(self, batch: list[Tensor], index: int) -> Tensor:
        x, y = batch
        predicted = self.net(x)
        self.seen.add((x.device.type, predicted.dtype))
        loss = torch.nn.functional.mse_loss(predicted.float(), y)
        self.log("loss", loss, prog_bar=True)
        self.losses.append(loss.detach())
        return loss

    def validation_step(self, batch: list[Tensor], index: int) -> None:
        self.log("val_loss", torch.nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def predict_step(self, batch: list[Tensor], index: int) -> Tensor:
        return self.net(batch[0])

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), lr=3e-2)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)}


def data() -> DataLoader[Any]:
    x = torch.randn(64, 8, generator=torch.Generator().manual_seed(1))
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)


def trainer(accelerator: str, folder: Path, **options: Any) -> lightning.Trainer:
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    return lightning.Trainer(accelerator=accelerator, default_root_dir=folder, **{**quiet, "max_epochs": 4, **options})


def test_training_is_the_cpus(tmp_path: Path) -> None:
    runs = {}
    for accelerator in ("cpu", "mlirdev"):
        model, run = Model(), trainer(accelerator, tmp_path / accelerator, gradient_clip_val=1.0)
        run.fit(model, data(), data())
        val_loss = run.callback_metrics["val_loss"].cpu()
        predicted = torch.cat(run.predict(model, data()))
        runs[accelerator] = torch.stack(model.losses).cpu(), predicted.cpu(), val_loss
        assert model.seen == {(accelerator, torch.float32)}
    for ours, cpus in zip(runs["mlirdev"], runs["cpu"], strict=True):
        torch.testing.assert_close(ours, cpus, rtol=1e-4, atol=1e-5)
    losses = runs["mlirdev"][0]
    assert losses[-4:].mean() < losses[:4].mean() / 2


def test_a_checkpoint_is_the_cpus(tmp_path: Path) -> None:
    """Saved on the device, it goes on there and on the CPU."""
    model, run = Model(), trainer("mlirdev", tmp_path, max_epochs=1, limit_train_batches=2)
    run.fit(model, data())
    run.save_checkpoint(tmp_path / "last.ckpt")
    for accelerator in ("cpu", "mlirdev"):
        again, on = Model(), trainer(accelerator, tmp_path / accelerator, max_epochs=2, limit_train_batches=2)
        on.fit(again, data(), ckpt_path=tmp_path / "last.ckpt", weights_only=True)
        assert on.global_step == 4
        assert again.losses[0].item() < model.losses[0].item()


def test_mixed_precision_is_the_devices(tmp_path: Path) -> None:
    model = Model()
    trainer("mlirdev", tmp_path, precision="bf16-mixed", max_epochs=1).fit(model, data())
    assert model.seen == {("mlirdev", torch.bfloat16)}
    assert model.losses[-1].item() < model.losses[0].item()


def test_there_is_one_device(tmp_path: Path) -> None:
    assert trainer("mlirdev", tmp_path, devices=[0]).num_devices == 1
    with pytest.raises(ValueError, match="mlirdev is one"):
        trainer("mlirdev", tmp_path, devices=2)


@pytest.mark.parametrize(
    "order", ["import mlirdev, lightning.pytorch as L", "import pytorch_lightning as L, lightning.pytorch, mlirdev"]
)
def test_either_lightning_in_either_order(order: str) -> None:
    """The device is in the registry, and nothing of the waiting for it is left."""
    code = f"""
import sys
{order}
import torch
print("mlirdev" in L.accelerators.AcceleratorRegistry, L.Trainer(accelerator="mlirdev", logger=False).num_devices)
print(type(L.accelerators.__loader__).__name__)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "True 1\nSourceFileLoader\n", done.stderr
