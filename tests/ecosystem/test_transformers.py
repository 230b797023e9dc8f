"""transformers: Llama and BERT forward and backward, generation with a KV cache, and its Trainer, as on the CPU."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Trainer,
    TrainingArguments,
)

import mlirdev

pytestmark = [pytest.mark.ecosystem, pytest.mark.slow]

VOCABULARY, LENGTH = 128, 11
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}


def llama() -> PreTrainedModel:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(num_key_value_heads=2, **SIZES)).eval()


def bert() -> PreTrainedModel:
    torch.manual_seed(0)
    return BertForSequenceClassification(BertConfig(**SIZES)).eval()


def tokens() -> Tensor:
    return torch.randint(1, VOCABULARY, (2, LENGTH), generator=torch.Generator().manual_seed(0))


def padded() -> Tensor:
    mask = torch.ones(2, LENGTH, dtype=torch.long)
    mask[1, 8:] = 0
    return mask


CASES: dict[str, tuple[Callable[[], PreTrainedModel], dict[str, Tensor]]] = {
    "llama": (llama, {"labels": tokens()}),
    "llama, padded": (llama, {"labels": tokens(), "attention_mask": padded()}),
    "bert, padded": (bert, {"labels": torch.tensor([0, 1]), "attention_mask": padded()}),
}


@pytest.mark.parametrize("name", CASES)
def test_forward_and_backward(name: str) -> None:
    make, inputs = CASES[name]
    results = []
    for device in ("cpu", "mlirdev"):
        model = make().to(device)
        out = model(input_ids=tokens().to(device), **{k: v.to(device) for k, v in inputs.items()})
        out.loss.backward()
        grads = {n: p.grad.cpu() for n, p in model.named_parameters() if p.grad is not None}
        results.append((out.logits.detach().cpu(), out.loss.detach().cpu(), grads))
    torch.testing.assert_close(results[1], results[0], rtol=1e-3, atol=1e-5)
    assert mlirdev.metrics.snapshot()["fallbacks"] == {}


def generate(model: PreTrainedModel, prompt: Tensor, **options: Any) -> Any:
    prompt = prompt.to(model.device)
    attention = torch.ones_like(prompt)
    return model.generate(prompt, attention_mask=attention, max_new_tokens=6, pad_token_id=0, **options)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"use_cache": False}], ids=str)
def test_greedy_generation(options: dict[str, Any]) -> None:
    cpu = llama()
    device = copy.deepcopy(cpu).to("mlirdev")
    wanted = generate(cpu, tokens()[:, :5], do_sample=False, **options)
    assert torch.equal(generate(device, tokens()[:, :5], do_sample=False, **options).cpu(), wanted)
    # The same lengths again: nothing is compiled, and no token costs more than the two waits of its stopping criteria.
    mlirdev.metrics.reset()
    generate(device, tokens()[:, 5:10], do_sample=False, **options)
    counts = mlirdev.metrics.snapshot()
    assert counts["compiles"] == 0
    assert sum(counts["syncs"].values()) <= 3 * 6 + 2


def test_sampling_is_repeatable_and_likely() -> None:
    model = llama().to("mlirdev")
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        out = generate(
            model, tokens()[:, :5], do_sample=True, top_k=5, output_logits=True, return_dict_in_generate=True
        )
        draws.append(out.sequences)
        for at, logits in enumerate(out.logits):
            chosen = logits.gather(1, out.sequences[:, 5 + at, None])
            assert (chosen >= logits.topk(5).values[:, -1:]).all()
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_a_saved_model_is_anyones(tmp_path: Path) -> None:
    model = llama().to("mlirdev")
    model.save_pretrained(tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    for name, value in llama().state_dict().items():
        assert torch.equal(state[name], value)
    again = LlamaForCausalLM.from_pretrained(tmp_path, device_map="mlirdev")
    assert again.device.type == "mlirdev"
    with torch.no_grad():
        assert torch.equal(again(tokens().to("mlirdev")).logits.cpu(), model(tokens().to("mlirdev")).logits.cpu())


def train(device: str, folder: Path) -> tuple[PreTrainedModel, list[float]]:
    """The losses of some steps, and of the evaluation behind them."""
    config = BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **SIZES)
    ids = torch.randint(1, VOCABULARY, (32, 10), generator=torch.Generator().manual_seed(0))
    data: Any = [{"input_ids": row, "labels": row.sum() % 2} for row in ids]
    torch.manual_seed(0)
    arguments = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=8,
        num_train_epochs=3,
        learning_rate=2e-3,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=device == "cpu",
    )
    trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=data, eval_dataset=data)
    trainer.train()
    losses = [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
    return trainer.model, [*losses, float(trainer.evaluate()["eval_loss"])]


def test_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unchanged but for the variable that accelerate reads."""
    _, wanted = train("cpu", tmp_path)
    monkeypatch.setenv("ACCELERATE_TORCH_DEVICE", "mlirdev")
    model, losses = train("mlirdev", tmp_path)
    assert model.device.type == "mlirdev"
    assert losses == pytest.approx(wanted, rel=1e-3)
    assert losses[-1] < losses[0] - 0.03
    assert mlirdev.metrics.snapshot()["fallbacks"] == {}
