"""A configuration's fault says what was meant and what a value must be, in the words of a profile."""

import pytest

from schemas.config.profiles import load_config
from schemas.config.train import TrainConfig
from schemas.errors import InputError


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("train.max_step=5", "train.max_step: unknown key, did you mean 'max_steps'?"),
        ("max_steps=5", "max_steps: unknown key, did you mean 'train.max_steps'?"),
        ("train.lora={ranks=4}", "train.lora.ranks: unknown key, did you mean 'rank'?"),
        ("train.seeds=1,2", "train.seeds: must be a list, such as [1, 2] (it is '1,2')"),
        ("train.load_in_4bit=perhaps", "train.load_in_4bit: must be true or false (it is 'perhaps')"),
        ("train.loss=dr_grop", "did you mean 'dr_grpo'? (it is 'dr_grop')"),
        ("lineage.openlineage=x", "lineage: OpenLineage events were removed; leave it out"),
        ("train.sql_turns=2", "train.sql_turns: second turns of SQL were removed; leave it out"),
        ("evaluate.prompt_search.budget=12", "use MLflow's optimize_prompts or GEPA"),
        ("evaluate.rungs=['base-prompt']", "evaluate.rungs.0: this rung was removed; leave it out"),
        ("curate.general=3", "curate.general: must be a table, such as { name = 1 } (it is 3)"),
    ],
)
def test_what_was_meant_is_said(override: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_config("local", [override])
    assert said in str(caught.value)
    assert "Input should" not in str(caught.value)


def test_a_record_of_an_earlier_policy_is_read() -> None:
    assert TrainConfig.model_validate({"sql_turns": 1}) == TrainConfig()


def test_a_key_that_is_like_no_other_has_no_suggestion() -> None:
    with pytest.raises(InputError, match=r"train.zzz: unknown key$"):
        load_config("local", ["train.zzz=1"])


def test_the_name_of_a_model_beside_the_stand_in_is_refused() -> None:
    with pytest.raises(InputError, match=r"policy.name is set, and policy.stand_in is true.*policy.stand_in=false"):
        load_config("local", ["policy.name=Qwen/Qwen3-0.6B"])
    assert load_config("local", ["policy.name=Qwen/Qwen3-0.6B", "policy.stand_in=false"]).policy.name.startswith("Qwen")
    # To try the pipeline of a profile without its model is what the doctor advises.
    assert load_config("l4", ["policy.stand_in=true"]).policy.stand_in
