"""A detector: what it proposes is thinned out by NMS, which depends on values. And a vision transformer."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import mlirdev
from mlirdev.options import options


def iou(boxes: Tensor) -> Tensor:
    """Overlap ÷ union of each two boxes (x1, y1, x2, y2)."""
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    top, bottom = torch.maximum(boxes[:, None, :2], boxes[:, :2]), torch.minimum(boxes[:, None, 2:], boxes[:, 2:])
    shared = (bottom - top).clamp(min=0).prod(2)
    return shared / (area[:, None] + area - shared)


def thin_out(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """Greedy NMS in plain PyTorch: a loop whose length depends on values."""
    overlap = iou(boxes) > threshold
    left = scores.argsort(descending=True, stable=True)
    kept: list[Tensor] = []
    while left.numel():
        kept.append(left[0])
        left = left[1:][~overlap[left[0], left[1:]]]
    return torch.stack(kept) if kept else left


@torch.library.custom_op("mlirdev_detection::nms", mutates_args=(), device_types="cpu")
def nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """The same with a kernel for the CPU only, as a library of C++ ops would bring it."""
    return thin_out(boxes, scores, threshold)


class Detector(nn.Module):
    """One scale, one anchor per cell; `way` is the NMS."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU()
        )
        self.head = nn.Conv2d(16, 5, 1)

    def proposals(self, image: Tensor) -> tuple[Tensor, Tensor]:
        out = self.head(self.body(image)).flatten(2).transpose(1, 2)  # batch × cells × (score, dx, dy, w, h)
        side = image.shape[-1] // 4
        row, column = torch.meshgrid(*[torch.arange(side, device=image.device)] * 2, indexing="ij")
        cell = torch.stack([column, row], -1).flatten(0, 1) * 4 + 2
        centre, half = cell + out[..., 1:3], 6 * out[..., 3:].exp()
        return torch.cat([centre - half, centre + half], -1), out[..., 0].sigmoid()

    def forward(self, image: Tensor, way: object = nms) -> list[tuple[Tensor, Tensor]]:
        boxes, scores = self.proposals(image)
        found = []
        for b, s in zip(boxes, scores, strict=True):
            b, s = b[s > 0.55], s[s > 0.55]
            keep = way(b, s, 0.3)  # type: ignore[operator]
            found.append((b[keep], s[keep]))
        return found


def detector(device: str) -> tuple[Detector, Tensor]:
    torch.manual_seed(0)
    return Detector().eval().to(device), torch.randn(2, 3, 32, 32).to(device)


def detect(device: str, way: object) -> list[tuple[Tensor, Tensor]]:
    model, image = detector(device)
    with torch.no_grad():
        return [(b.cpu(), s.cpu()) for b, s in model(image, way)]


@pytest.mark.slow
@pytest.mark.parametrize("way", [nms, thin_out], ids=["custom op", "plain PyTorch"])
def test_what_is_found_is_what_the_cpu_finds(way: object) -> None:
    wanted = detect("cpu", way)
    assert all(0 < len(boxes) < 50 for boxes, _ in wanted)
    mlirdev.metrics.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_close(detect("mlirdev", way), wanted, rtol=1e-4, atol=1e-4)
    fallbacks = mlirdev.metrics.snapshot()["fallbacks"]
    # One for each image, where the CPU alone can do it; none behind it.
    assert fallbacks.get("mlirdev_detection.nms.default", 0) == (2 if way is nms else 0)
    # Sizes that depend on values: each is waited for, and counted.
    syncs = mlirdev.metrics.snapshot()["syncs"]
    assert syncs.get("data_dependent", 0) >= 2


def test_the_fallback_may_be_forbidden() -> None:
    boxes, scores = torch.rand(3, 4).to("mlirdev"), torch.rand(3).to("mlirdev")
    with options.override(fallback="error"), pytest.raises(RuntimeError, match=r"nms.*runs on the CPU"):
        nms(boxes, scores, 0.5)


@pytest.mark.slow
def test_training_the_detector() -> None:
    def losses(device: str) -> list[float]:
        model, image = detector(device)
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        target = torch.tensor([[8.0, 8.0, 20.0, 20.0]], device=device)
        seen = []
        for _ in range(4):
            boxes, scores = model.proposals(image)
            loss = F.smooth_l1_loss(boxes, target.expand_as(boxes)) + F.binary_cross_entropy(
                scores, torch.zeros_like(scores)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append(loss.detach())
        return [loss.item() for loss in seen]

    with mlirdev.no_fallback():
        ours = losses("mlirdev")
    assert ours == pytest.approx(losses("cpu"), rel=1e-3)


class VisionTransformer(nn.Module):
    """As in the paper: patches, a class token, learned positions, pre-norm blocks."""

    def __init__(self, width: int = 64, depth: int = 2, heads: int = 4, classes: int = 10) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


@pytest.mark.slow
def test_a_vision_transformer_learns_as_on_the_cpu() -> None:
    def run(device: str) -> tuple[Tensor, list[float]]:
        torch.manual_seed(0)
        model, image = VisionTransformer().to(device), torch.randn(4, 3, 32, 32).to(device)
        labels = torch.tensor([1, 3, 5, 7], device=device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        seen = []
        for _ in range(4):
            loss = F.cross_entropy(model(image), labels, label_smoothing=0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            seen.append(loss.detach())
        with torch.no_grad():
            return model.eval()(image).cpu(), [loss.item() for loss in seen]

    with mlirdev.no_fallback():
        logits, losses = run("mlirdev")
    wanted_logits, wanted = run("cpu")
    assert losses == pytest.approx(wanted, rel=1e-3)
    torch.testing.assert_close(logits, wanted_logits, rtol=1e-2, atol=1e-3)
    assert losses[-1] < losses[0]
