"""Models that are loaded, or refused before anybody asks."""

from pathlib import Path

import pytest

from schemas.errors import InputError
from schemas.progress import silent
from tasks.policy import batch
from tasks.serve.local_engine.loaded import load_models
from tests.tasks.serve.local_engine.conftest import request_of


def test_an_adapter_cannot_have_the_name_of_the_weights(base: Path) -> None:
    with pytest.raises(InputError, match="an adapter is named 'champion'"):
        load_models(request_of(base, adapters={"champion": base}), silent)


def test_without_memory_for_one_long_answer_a_row_nothing_is_served(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "host_memory", lambda: 8_000_000)
    with pytest.raises(InputError, match=r"this machine has memory for \d+ tokens in each of 9 answers of 1 models"):
        load_models(request_of(base, rows=9), silent)


def test_a_prompt_may_be_as_long_as_the_model_reads(base: Path) -> None:
    assert load_models(request_of(base), silent).longest == 2_048


def test_a_missing_adapter_is_named(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no LoRA adapter can be read from"):
        load_models(request_of(base, adapters={"push": tmp_path / "none"}), silent)
