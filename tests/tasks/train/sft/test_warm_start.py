"""The warm start: what is shown, general instructions at their share, and a model by name that learns and is merged."""

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from schemas.config.train_sections import PolicyConfig, WarmStartConfig
from schemas.errors import InputError
from schemas.tables.prompts import GENERAL_FILE, INSTRUCTION_COLUMNS
from tasks.commerce.registry import TASKS
from tasks.policy.child import Channel
from tasks.train.sft import warm_start
from tasks.train.sft.warm_start import WarmStartRequest
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.train.small_training import tiny_policy

pytestmark = pytest.mark.slow

TAUGHT = {"steps": 12, "batch_size": 4, "learning_rate": 2e-2, "lora": {"rank": 2, "alpha": 4}}

WITHOUT_SYSTEM = "{% for m in messages if m.role != 'system' %}{{ m.content }}{{ eos_token }}{% endfor %}"
ROWS = [prompt_row("sentiment", f"Avaliação {number}") for number in range(9)]
GENERAL = [{"system": "", "prompt": f"Geral {number}", "completion": f"paralelepípedo {number}"} for number in range(3)]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A model by name: a folder as `save_pretrained` writes it."""
    folder = tmp_path / "published"
    model, tokenizer = tiny_policy()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_base(folder: Path, name: Path, **config: Any) -> Path:
    """Make the base from a model and a dataset in the folder, and return where it is."""
    (folder / "data").mkdir(parents=True)
    prompt_table(ROWS).write_parquet(folder / "data" / "train.parquet")
    pl.DataFrame(GENERAL, INSTRUCTION_COLUMNS).write_parquet(folder / GENERAL_FILE)
    policy, taught = PolicyConfig(name=str(name)), WarmStartConfig.model_validate(TAUGHT | config)
    request = WarmStartRequest(policy=policy, warm_start=taught, seed=1, dataset=folder, output=folder / "output")
    (folder / "request.json").write_text(request.model_dump_json(), encoding="utf-8")
    warm_start.main(folder / "request.json", Channel(io.StringIO()))
    return request.output


def weights_of(folder: Path) -> dict[str, Any]:
    return dict(load_file(folder / "model.safetensors"))


@given(steps=st.integers(1, 40), batch_size=st.integers(1, 8), count=st.integers(1, 9))
def test_general_instructions_have_their_share_in_every_prefix(steps: int, batch_size: int, count: int) -> None:
    general = [{"system": "", "prompt": f"Geral {number}", "completion": "Sim."} for number in range(count)]
    config = WarmStartConfig(steps=steps, batch_size=batch_size)
    shown = list(warm_start._with_general(ROWS, general, config, 1))
    is_general = [each["prompt"][1]["content"].startswith("Geral") for each in shown]
    share = count / (count + len(ROWS))
    assert len(shown) == steps * batch_size
    for length in range(1, len(shown) + 1):
        assert abs(sum(is_general[:length]) - share * length) <= 1.5


@pytest.mark.integration
def test_a_named_model_learns_and_is_merged(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The linear layers alone move, by a change of the adapter's rank."""
    import torch

    seen: set[str] = set()
    texts = {TASKS["sentiment"].answer(ROWS[0].reference), *(row["completion"] for row in GENERAL)}
    shown = warm_start.demonstration

    def noted(system: str, prompt: str, completion: str) -> dict[str, Any]:
        seen.add(completion)
        return shown(system, prompt, completion)

    monkeypatch.setattr(warm_start, "demonstration", noted)
    output = make_base(tmp_path, published)
    assert seen == texts
    before, after = weights_of(published), weights_of(output)
    assert before.keys() == after.keys()
    for name in before:
        change = after[name] - before[name]
        if name.endswith("_proj.weight"):
            assert torch.linalg.matrix_rank(change, rtol=1e-3) == 2, name
        else:
            assert not change.any(), name
        assert after[name].dtype == torch.float32
    assert not list(output.glob("adapter*"))
    losses = [entry["loss"] for entry in json.loads((output / warm_start.SUMMARY_FILE).read_text())["log"]]
    assert losses[-1] < losses[0] - 0.1


@pytest.mark.parametrize(
    ("spoilt", "text", "complaint"),
    [
        (("model.safetensors",), "", "no model can be read from policy.name"),
        (("tokenizer.json", "tokenizer_config.json"), "", "has no tokenizer; add its files"),
        (("chat_template.jinja",), WITHOUT_SYSTEM, "chat_template: it does not show the system text"),
    ],
)
def test_an_unusable_model_is_refused(
    spoilt: tuple[str, ...], text: str, complaint: str, published: Path, tmp_path: Path
) -> None:
    for name in spoilt:
        (published / name).write_text(text, encoding="utf-8") if text else (published / name).unlink()
    with pytest.raises(InputError, match=complaint) as refused:
        make_base(tmp_path, published, steps=0)
    assert str(published) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_adapter_learnt_beside_nf4_is_merged_into_the_published_weights(tmp_path: Path) -> None:
    """Merged into the quantized ones, every weight would be one of NF4's sixteen; in float32, twice as large."""
    import torch

    model, tokenizer = tiny_policy()
    model.to(torch.bfloat16).save_pretrained(tmp_path / "published")
    tokenizer.save_pretrained(tmp_path / "published")
    output = make_base(tmp_path / "run", tmp_path / "published", steps=2, load_in_4bit=True, accumulation=2)
    adapter = load_file(tmp_path / "run" / "warm_start" / "adapter" / "adapter_model.safetensors")
    before, after = weights_of(tmp_path / "published"), weights_of(output)
    assert before.keys() == after.keys()
    for name, weights in before.items():
        own = f"base_model.model.{name.removesuffix('.weight')}.lora_{{}}.weight"
        assert after[name].dtype == torch.bfloat16
        if own.format("A") not in adapter:
            assert after[name].equal(weights), name
            continue
        assert adapter[own.format("A")].dtype == torch.float32
        change = adapter[own.format("B")] @ adapter[own.format("A")] * (4 / 2)
        assert change.any()
        assert after[name].equal((weights.float() + change).to(torch.bfloat16)), name
