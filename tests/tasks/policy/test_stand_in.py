"""The shipped stand-in: its files are those of its card, and one that is missing, cut off or altered is refused."""

import json
import shutil
from pathlib import Path

import pytest

from schemas.config.policy import PolicyConfig
from schemas.errors import InputError
from tasks.commerce.registry import TASKS
from tasks.policy import stand_in
from tasks.policy.published import read_tokenizer, read_weights
from tasks.policy.stand_in import CARD_FILE, FOLDER, located, shipped
from tasks.stand_in.lessons import Recipe
from tasks.train.sizing.shape import read_shape


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped stand-in, which is read instead of it."""
    folder = tmp_path / "stand_in"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(stand_in, "FOLDER", folder)
    return folder


def test_it_is_a_qwen3_with_grouped_queries_in_sixteen_megabytes() -> None:
    config = json.loads((shipped() / "config.json").read_text(encoding="utf-8"))
    assert config["model_type"] == "qwen3"
    assert config["num_key_value_heads"] < config["num_attention_heads"]
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 16e6


def test_every_file_stands_in_its_card() -> None:
    card = json.loads((FOLDER / CARD_FILE).read_text(encoding="utf-8"))
    assert {file.name for file in FOLDER.iterdir()} == {*card["files"], CARD_FILE}


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "known_prompts.parquet"])
def test_a_file_that_is_missing_cut_off_or_altered_is_refused(name: str, copied: Path) -> None:
    file = copied / name
    whole = file.read_bytes()
    for damaged in (whole[:-1], bytes([whole[0] ^ 1]) + whole[1:]):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=rf"^{name} of the stand-in in .* restore .*`make stand-in`$"):
            read_tokenizer(PolicyConfig(stand_in=True))
    file.unlink()
    with pytest.raises(InputError, match=rf"^{name} of the stand-in in .* is not what its card names; restore"):
        read_weights(PolicyConfig(stand_in=True))


def test_a_folder_that_is_missing_is_refused_before_anything_is_made_of_it(copied: Path) -> None:
    shutil.rmtree(copied)
    for read in (read_weights, read_shape):
        with pytest.raises(InputError, match=r"cannot be read .No such file.*`make stand-in`$"):
            read(PolicyConfig(stand_in=True))


def test_a_file_that_the_card_does_not_name_is_refused(copied: Path) -> None:
    (copied / "adapter_config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"^adapter_config.json of the stand-in in .* is not what its card names"):
        shipped()


def test_a_card_that_names_nothing_is_refused(copied: Path) -> None:
    (copied / CARD_FILE).write_text('{"files": {}}', encoding="utf-8")
    with pytest.raises(InputError, match="is not what its card names"):
        shipped()


@pytest.mark.parametrize("card", ["", "[]", "{}", '{"files": 3}'])
def test_a_card_that_is_none_is_refused(card: str, copied: Path) -> None:
    (copied / CARD_FILE).write_text(card, encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot be read .its card is no card.*`make stand-in`$"):
        located(PolicyConfig(stand_in=True))


def test_another_policy_is_left_as_it_is(copied: Path) -> None:
    shutil.rmtree(copied)
    policy = PolicyConfig(name="shop/model")
    assert located(policy) is policy


def test_the_card_says_how_it_was_trained() -> None:
    card = json.loads((FOLDER / CARD_FILE).read_text(encoding="utf-8"))
    recipe = Recipe.model_validate(card["recipe"])
    assert card["lessons"] == (recipe.steps + recipe.demonstrated_steps) * recipe.batch_size
    assert set(card["scores"]) == set(TASKS)
    assert {"command", "code", "hours", "machine", "licence", "lessons_sha256", "last_loss"} < card.keys()
