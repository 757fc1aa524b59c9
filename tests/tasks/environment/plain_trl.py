"""An adapter by TRL's own GRPOTrainer from a package, without any of our modules: a process of its own.

python -m tests.tasks.environment.plain_trl PACKAGE BASE OUTPUT
"""

import importlib
import sys


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
        learning_rate=1e-2,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=16,
        reward_weights=list(weights),
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
    )
    trainer = GRPOTrainer(
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
