"""An adapter by TRL's own GRPOTrainer, without any of our modules: a process given PACKAGE, BASE and OUTPUT."""

import importlib
import sys
from typing import Any


def main() -> None:
    """Train for two steps on the package's prompts, with its functions as rewards."""
    package, base, output = sys.argv[1:]
    sys.path.insert(0, package)

    from datasets import load_dataset
    from peft import LoraConfig
    from trl import GRPOConfig, GRPOTrainer

    commerce = importlib.import_module("tucano_commerce")
    functions, weights = zip(*commerce.trl_rewards(), strict=True)
    rows = load_dataset("json", data_files=f"{package}/tucano_commerce/environment/train.jsonl", cache_dir=output)
    arguments = GRPOConfig(
        output_dir=output,
        max_steps=2,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=16,
        reward_weights=list(weights),
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
    )

    class OnCpu(GRPOTrainer):  # type: ignore[misc]
        """TRL's trainer without its fused kernel, which needs Triton, and so a GPU."""

        def _get_per_token_logps_and_entropies(
            self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *_: Any, **__: Any
        ) -> tuple[Any, Any, None]:
            logits = model(input_ids=input_ids, attention_mask=attention_mask).logits[:, -logits_to_keep - 1 : -1]
            scores = (logits / self.temperature).log_softmax(dim=-1)
            found = scores.gather(-1, input_ids[:, -logits_to_keep:, None]).squeeze(-1)
            return found, -(scores.exp() * scores).sum(dim=-1), None

    trainer = OnCpu(
        model=base,
        args=arguments,
        reward_funcs=list(functions),
        train_dataset=rows["train"],
        peft_config=LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM"),
    )
    trainer.train()
    trainer.save_model(f"{output}/adapter")


if __name__ == "__main__":
    main()
