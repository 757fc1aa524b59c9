"""Logits of a policy in one of its forms, in a process of its own: Unsloth changes the models that it loads."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu_check.scale import SEED, Scale

ARMS: Final = {"unsloth": "Unsloth NF4", "nf4": "transformers NF4", "merged": "merged bf16"}
PROMPTS: Final = 20
TOKENS: Final = 16
"""Last tokens of a prompt whose logits are compared."""


def main(arm: str, base: str, adapter: str, merged: str, dataset: str, output: str) -> None:
    """Write the logits of the last tokens of some prompts: (prompts, tokens, vocabulary), in float32.

    Args:
        arm: One of `ARMS`.
        base: Folder of the base model.
        adapter: Folder of the adapter.
        merged: Folder of the merged model.
        dataset: Folder of the dataset.
        output: File of the logits.
    """
    model = _load(arm, base, adapter, merged)

    import torch

    from schemas.tables.prompts import VALIDATION_FILE, read_prompts
    from tasks.policy.generate import as_messages
    from tasks.policy.load import load_tokenizer

    tokenizer = load_tokenizer(Path(base))
    found = []
    # As Unsloth's own generation calls its kernels.
    autocast = torch.autocast(model.device.type, torch.bfloat16, enabled=arm == "unsloth")
    with torch.inference_mode(), autocast:
        for row in read_prompts(Path(dataset) / VALIDATION_FILE)[:PROMPTS]:
            ids = tokenizer.apply_chat_template(
                as_messages(row.system, row.prompt), add_generation_prompt=True, return_tensors="pt", return_dict=True
            )["input_ids"]
            found.append(model(input_ids=ids.to(model.device)).logits[0, -TOKENS:].float().cpu())
    torch.save(torch.stack(found), output)


def _load(arm: str, base: str, adapter: str, merged: str) -> Any:
    if arm == "unsloth":
        from benchmarks.gpu_check.inputs import recipe_of
        from tasks.train.backend.trainable import load_trainable
        from tasks.train.resume.adapter_files import load_adapter_weights

        recipe = recipe_of(Scale(), "l4", backend="unsloth")
        work = Path(adapter).parent / "unsloth"
        model = load_trainable(Path(base), recipe, seed=SEED, max_prompt_tokens=1024, work=work).model
        load_adapter_weights(model, Path(adapter))
        return model.eval()
    from tasks.policy.load import load_policy

    if arm == "nf4":
        return load_policy(Path(base), Path(adapter), four_bit=True)
    return load_policy(Path(merged), None, four_bit=False)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
