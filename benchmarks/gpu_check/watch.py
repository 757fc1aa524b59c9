"""Observations of a training from inside its process, written next to its request as they are made."""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file
from transformers import TrainerCallback, TrainerState, TrainingArguments

from benchmarks.gpu_check.child import BEGINS
from schemas.disk import write_whole
from schemas.tables.prompts import VALIDATION_FILE, read_prompts
from tasks.policy.generate import as_messages, generate
from tasks.train.preflight.step import unchanged
from tasks.train.resume.adapter_files import WEIGHTS_FILE, adapter_weights
from tasks.train.resume.resumable import OPTIMIZER
from tasks.train.resume.state_files import read_state
from tasks.train.stage import TrainingInputs

PROMPTS: Final = 8
ANSWER_TOKENS: Final = 16
GREEDY: Final = 1e-3  # A temperature at which only the most likely token is drawn.


class Watch(TrainerCallback):  # type: ignore[misc]
    """Observer of the policy before the first step and at the end, and of memory after each part of a step."""

    def __init__(self, trainer: Any, inputs: TrainingInputs, file: Path) -> None:
        """Begin with nothing observed."""
        self._trainer = trainer
        self._model = trainer.model
        self._inputs = inputs
        self._file = file
        self._observed: dict[str, Any] = {"peaks": {}}

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Record what the preflight or the resume has left."""
        self._note_peak("preflight")
        adapter = [values.dtype for values in self._model.parameters() if values.requires_grad]
        self._note(
            padding=self._inputs.trainable.tokenizer.padding_side,
            adapter_types=sorted({str(dtype).removeprefix("torch.") for dtype in adapter}),
        )
        if self._inputs.checkpoint is not None:
            self._note(restored=restored(self._trainer, self._inputs.checkpoint))
        else:
            self._note(**single_and_batched(self._trainer, self._inputs))
        self._note_base("base_before")

    def on_step_begin(self, _: TrainingArguments, state: TrainerState, *__: Any, **___: Any) -> None:
        """Record which step begins; what came since the last one was a validation and a checkpoint."""
        self._note_peak("validation")
        self._inputs.channel.progress(state.global_step, state.max_steps, f"{BEGINS}{state.global_step + 1}")

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Record the step's peak."""
        self._note_peak("step")

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Record the GPU memory that is held."""
        self._note_peak("validation")
        self._note_base("base_after")
        if torch.cuda.is_available():
            free, total = torch.cuda.mem_get_info()
            self._note(held_bytes=total - free)

    def _note_base(self, name: str) -> None:
        # Quantized weights are never written to; those that vLLM receives are merged and restored each step.
        if self._inputs.request.config.vllm.enabled:
            self._note(**{name: base_digest(self._model)})

    def _note_peak(self, part: str) -> None:
        if torch.cuda.is_available():
            peaks = self._observed["peaks"]
            self._note(peaks={**peaks, part: max(torch.cuda.max_memory_allocated(), peaks.get(part, 0))})
            torch.cuda.reset_peak_memory_stats()

    def _note(self, **values: Any) -> None:
        self._observed.update(values)
        write_whole(self._file, json.dumps(self._observed))


def single_and_batched(trainer: Any, inputs: Any) -> dict[str, Any]:
    """Answer prompts greedily, all at once and one by one, as validation does; count the equal answers."""
    rows = read_prompts(inputs.request.dataset / VALIDATION_FILE)
    asked = [as_messages(row.system, row.prompt) for row in (*rows[: PROMPTS // 2], *rows[-PROMPTS // 2 :])]

    def answers(batch_size: int, tokens: int) -> list[str]:
        completions = generate(
            trainer.model,
            inputs.trainable.tokenizer,
            asked,
            temperature=GREEDY,
            max_tokens=tokens,
            batch_size=batch_size,
            seed=0,
        )
        return [completion.text for completion in completions]

    with unchanged(trainer):
        trainer.model.eval()
        same = {
            tokens: sum(
                batched == alone for batched, alone in zip(answers(PROMPTS, tokens), answers(1, tokens), strict=True)
            )
            for tokens in (1, ANSWER_TOKENS)
        }
    return {"asked": len(asked), "same_first_token": same[1], "same_answer": same[ANSWER_TOKENS]}


def restored(trainer: Any, checkpoint: Path) -> dict[str, bool]:
    """Return whether optimizer and adapter are, bit for bit, those of the checkpoint that is resumed."""
    kept = read_state(checkpoint, OPTIMIZER)["optimizer"]["state"]
    now = trainer.optimizer_state()["optimizer"]["state"]
    same = {str(number) for number in now} == set(kept) and all(
        torch.equal(values[name], kept[str(number)][name])
        for number, values in now.items()
        for name in values
        if isinstance(values[name], torch.Tensor)
    )
    weights, file = adapter_weights(trainer.model), load_file(checkpoint / WEIGHTS_FILE)
    adapter = weights.keys() == file.keys() and all(torch.equal(weights[name], file[name]) for name in file)
    return {"optimizer": same, "adapter": adapter}


def base_digest(model: Any) -> str:
    """Return the sha256 of all frozen weights, as on the device."""
    digest = hashlib.sha256()
    for weights in model.parameters():
        if not weights.requires_grad:
            digest.update(weights.detach().contiguous().view(torch.uint8).cpu().numpy())
    return digest.hexdigest()
