"""The configuration: every profile loads, nothing unknown is let in, and importing it is cheap."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from schemas.config.evaluate import FLOORS, EvaluateConfig
from schemas.config.page import PAGE_FILE, config_page
from schemas.config.profiles import PROFILES_FOLDER, load_config
from schemas.errors import InputError
from tasks.train.sizing.estimate import expected_prompts
from tasks.train.sizing.memory import fits, memory_limit, read_shape, stage_memory
from tests.cases import cases_of

CASES = cases_of(__file__)


@pytest.mark.parametrize(("override", "said"), CASES["a_wrong_override_is_refused_in_one_sentence_that_names_it"])
def test_a_wrong_override_is_refused_in_one_sentence_that_names_it(override: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_config("local", [override])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://ana:segredo@host:5000", "ftp://host", "segredo"])
def test_an_address_of_mlflow_holds_no_password_and_is_not_repeated(address: str) -> None:
    with pytest.raises(InputError) as caught:
        load_config("local", [f"state.mlflow={address}"])
    assert "segredo" not in str(caught.value)


@pytest.mark.parametrize("fields", CASES["a_secret_in_the_wrong_place_is_refused_unsaid"])
def test_a_secret_in_the_wrong_place_is_refused_unsaid(fields: str) -> None:
    known = {"name": "'large'", "model": "'tucano'", "url": "'http://127.0.0.1:8000/v1'"}
    given = ", ".join([fields, *(f"{name} = {value}" for name, value in known.items() if not fields.startswith(name))])
    with pytest.raises(InputError) as caught:
        load_config("local", [f"evaluate.rivals=[{{ {given} }}]"])
    assert "evaluate.rivals" in str(caught.value)
    assert "secret" not in str(caught.value).lower()


def _write(folder: Path, **profiles: str) -> str:
    """Write profiles by name, and return the path of the first."""
    for name, text in profiles.items():
        (folder / f"{name}.toml").write_text(text.replace("FOLDER", str(folder)), encoding="utf-8")
    return str(folder / f"{next(iter(profiles))}.toml")


def test_a_profile_extends_another_by_key(tmp_path: Path) -> None:
    profile = _write(
        tmp_path,
        mine='extends = "FOLDER/ours.toml"\n[train]\nseeds = [1]\nlora = { rank = 8 }\n[curate]\ntest_per_task = 30\n'
        "[synthesize]\ncounts = { push = 900 }",
        ours='extends = "l4"\nseed = 3\n[train]\nseeds = [1, 2]\nlora = { alpha = 64 }',
    )
    config, extended = load_config(profile), load_config("l4")
    assert (config.seed, config.train.seeds, config.train.lora.rank, config.train.lora.alpha) == (3, (1,), 8, 64)
    assert (config.curate.test_per_task, config.synthesize.counts) == (30, {"push": 900})
    assert config.train.model_dump(exclude={"seeds", "lora"}) == extended.train.model_dump(exclude={"seeds", "lora"})
    assert (config.policy, config.workers) == (extended.policy, extended.workers)


@pytest.mark.parametrize(("override", "said"), CASES["a_misspelt_key_gets_a_question"])
def test_a_misspelt_key_gets_a_question(override: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_config("local", [override])
    assert said in str(caught.value)
    assert "Input should" not in str(caught.value)


def test_the_name_of_a_model_beside_the_stand_in_is_refused() -> None:
    with pytest.raises(InputError, match=r"policy.name is set, and policy.stand_in is true.*policy.stand_in=false"):
        load_config("local", ["policy.name=Qwen/Qwen3-0.6B"])
    assert load_config("local", ["policy.name=Qwen/Qwen3-0.6B", "policy.stand_in=false"]).policy.name.startswith("Qwen")
    # To try the pipeline of a profile without its model is what the doctor advises.
    assert load_config("l4", ["policy.stand_in=true"]).policy.stand_in


def test_a_pinned_commit_and_context_are_of_the_model_that_they_stand_beside(tmp_path: Path) -> None:
    assert re.fullmatch("[0-9a-f]{40}", load_config("l4", ["train.max_steps=20"]).policy.revision or "")
    assert {load_config(profile).policy.context for profile in ON_L4} == {4096}
    extended = _write(tmp_path, mine='extends = "l4"\n[policy]\nname = "other/model"')
    for policy in (load_config(extended).policy, load_config("l4", ["policy.name=other/model"]).policy):
        assert (policy.name, policy.revision, policy.context) == ("other/model", None, None)
    both = load_config("l4", ["policy.revision=v2", "policy.name=other/model"]).policy
    assert (both.name, both.revision) == ("other/model", "v2")


OLIST = ("synthesize.source=olist", "synthesize.olist_dir=somewhere")


def test_reports_of_a_shops_own_data_are_in_portuguese_unless_told_otherwise() -> None:
    for overrides, language in (((), "en"), (OLIST, "pt"), ((*OLIST, "report.language=en"), "en")):
        assert load_config("local", overrides).language == language


def test_the_page_is_what_the_configuration_says() -> None:
    assert PAGE_FILE.read_text(encoding="utf-8") == config_page(), "run python -m schemas.config.page"


PROFILES = sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml"))
ON_L4 = [profile for profile in PROFILES if profile.startswith("l4")]


@pytest.mark.parametrize("profile", ON_L4)
def test_every_stage_at_its_longest_fits_the_card_with_a_margin(profile: str) -> None:
    """Each stage's batch against an L4's memory: training, answers, SFT; a tenth of the allowed share stays free."""
    config = load_config(profile)
    assert config.train.device_memory_gb == 24
    shape = read_shape(config.policy)
    assert shape is not None
    assert fits(config, shape)
    for stage, size in stage_memory(config, shape).items():
        assert size < 0.9 * memory_limit(config), stage


@pytest.mark.parametrize("profile", PROFILES)
def test_no_task_is_too_small_for_its_own_preflight(profile: str) -> None:
    """Duplicates and leakage take up to one in twenty of what is made."""
    config = load_config(profile)
    assert min(expected_prompts(config).values()) * 0.95 >= config.train.preflight.min_prompts_per_task


def test_a_floor_that_is_given_replaces_its_task_alone_and_an_unknown_metric_is_named() -> None:
    config = EvaluateConfig.model_validate({"floors": {"churn": {"auc": 0.7}, "push": {}}})
    assert config.floors == {**FLOORS, "churn": {"auc": 0.7}, "push": {}}
    with pytest.raises(ValidationError, match="churn has no floor of accuracy; it has auc"):
        EvaluateConfig.model_validate({"floors": {"churn": {"accuracy": 0.7}}})
