"""An adapter as files: nothing in it depends on the machine."""

import json
from pathlib import Path

from peft import LoraConfig, get_peft_model

from tasks.train.resume.adapter_files import CONFIG_FILE, adapter_config, adapter_weights, write_adapter
from tests.tasks.train.small_training import tiny_policy


def test_the_configuration_names_no_path_and_has_the_modules_in_order(tmp_path: Path) -> None:
    """PEFT keeps the modules in a set, whose order is another in each process."""
    base, _ = tiny_policy()
    base.save_pretrained(tmp_path / "base")
    base.config._name_or_path = str(tmp_path / "base")
    modules = ["v_proj", "q_proj", "o_proj", "k_proj"]
    model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=modules, task_type="CAUSAL_LM"))
    write_adapter(tmp_path / "adapter", adapter_weights(model), adapter_config(model))
    written = json.loads((tmp_path / "adapter" / CONFIG_FILE).read_text(encoding="utf-8"))
    assert written["target_modules"] == sorted(modules)
    assert (written["r"], written["lora_alpha"], written["inference_mode"]) == (4, 8, True)
    assert str(tmp_path) not in json.dumps(written)
