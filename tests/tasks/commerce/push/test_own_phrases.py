"""A shop's own openers: every process has them beside the shipped ones, and no other has."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.commerce.push.phrases import VARIABLE, own_openers, use_own

OWN: Final = '\n[[aberturas]]\ngrupo = "cozinha"\ntexto = "Cheirinho de bolo."\npor = "Ana"\n'
PUSH: Final = "Cheirinho de bolo. {produto} com {oferta}. Toque e veja."
CHILD: Final = f"""
import json
from tasks.commerce.push.scorer import PushCampaign, fault_of
from tasks.commerce.push.prompts import PushInputs
from tasks.commerce.push.truth import claims_kept
from tasks.commerce.registry import TASKS, grammar_of, joint_version, reward_version
from schemas.source import source_digest, source_files
given = {{"product": "panelas", "offer": "20% de desconto"}}
prompt = PushInputs(**given, segment="todos").prompt("Crie.")
print(json.dumps({{
    "sent": fault_of({PUSH!r}, PushCampaign(*given.values())) is None,
    "other product": fault_of({PUSH!r}, PushCampaign("tablets", "20% de desconto")) is None,
    "true": all(claims_kept({PUSH!r}, given).values()),
    "guided": "Cheirinho" in grammar_of("push", prompt, "all"),
    "served": TASKS["push"].serve({PUSH!r}, prompt, None).text,
    "push": reward_version("push"),
    "churn": reward_version("churn"),
    "stage": source_digest("tasks.evaluate.stage"),
    "synthesize": source_digest("tasks.synthesize.stage"),
    "sources": source_files("tasks.evaluate.stage").get("${VARIABLE}"),
}}))
"""


@pytest.fixture(autouse=True)
def _variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    os.environ.pop(VARIABLE)


def child(file: Path | None) -> dict[str, Any]:
    """Return what a process sees that is started after `use_own`."""
    use_own(file)
    ended = subprocess.run([sys.executable, "-c", CHILD], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def write(folder: Path, text: str) -> Path:
    file = folder / "frases.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.integration
def test_a_child_checks_guides_serves_and_judges_by_the_shops_openers_too(tmp_path: Path) -> None:
    without, own = child(None), child(write(tmp_path, OWN))
    assert [without[name] for name in ("sent", "true", "guided", "sources")] == [False, False, False, None]
    assert [own[name] for name in ("sent", "other product", "true", "guided")] == [True, False, True, True]
    assert own["served"] == "Cheirinho de bolo. Panelas com 20% de desconto. Toque e veja."
    assert own["sources"] == hashlib.sha256(OWN.encode()).hexdigest()
    moved = {name for name in ("push", "churn", "stage", "synthesize") if own[name] != without[name]}
    assert moved == {"push", "stage"}
    (tmp_path / "other").mkdir()
    assert child(write(tmp_path / "other", OWN)) == own
    assert child(write(tmp_path, OWN + OWN.replace("bolo", "festa")))["push"] != own["push"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (OWN.replace("cozinha", "cozinhas"), "group 'cozinhas'; there are: geral"),
        (OWN.replace("bolo", "{oferta}"), r"aberturas\.0\.texto"),
        (OWN.replace("bolo", "bolo " * 9), r"aberturas\.0\.texto"),
        ("aberturas = ", "cannot be read"),
        ("", "aberturas is missing"),
    ],
)
def test_a_broken_file_is_refused_where_it_is_taken_into_account(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        use_own(write(tmp_path, text))


def test_a_file_that_is_not_there_is_refused_and_none_is_no_phrases(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.toml cannot be read"):
        use_own(tmp_path / "absent.toml")
    use_own(None)
    assert own_openers(()) == ()
