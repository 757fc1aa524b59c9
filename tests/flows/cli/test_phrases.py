"""`tucano phrases`: a model proposes, a person approves, and the shop's own file grows."""

import csv
from pathlib import Path

import pytest

from tests.chat_server import says, serve
from tests.flows.command import in_a_process, in_this_process

pytestmark = pytest.mark.integration
ANSWER = "Cheirinho de bolo\nPanela no fogo!\n5 bolos.\nHora de cozinhar."


def test_approved_phrases_that_a_model_proposed_become_the_shops_own(tmp_path: Path) -> None:
    sheet, own = tmp_path / "sheet.csv", tmp_path / "frases.toml"
    with serve(lambda *_: says(ANSWER)) as server:
        rival = f'evaluate.rivals=[{{ name = "large", url = "{server.url}", model = "m" }}]'
        asked = ("phrases", "propose", "cozinha", "--count", "2", "--output", sheet, "--json", "--set", rival)
        ended, again = in_this_process(*asked), in_this_process(*asked)
    assert "exists and may be filled in" in again.refusal()
    assert ended.document()["proposed"] == ["Cheirinho de bolo.", "Panela no fogo!"]
    assert "2 were dropped: digits 1" in ended.words
    rows = list(csv.DictReader(sheet.read_text(encoding="utf-8-sig").splitlines()))
    assert [set(row.items()) >= {("approved", ""), ("by", "")} for row in rows] == [True, True]
    sheet.write_text(sheet.read_text(encoding="utf-8").replace("bolo.,,", "bolo.,sim,Ana"), encoding="utf-8")
    add = ("phrases", "add", sheet)
    assert "rewards.phrases" in in_this_process(*add).refusal()
    added = in_this_process(*add, "--set", f"rewards.phrases={own}")
    assert added.returncode == 0, added.stderr
    assert own.read_text(encoding="utf-8").count("Cheirinho de bolo.") == 1
    assert "approves nothing new" in in_a_process(*add, "--set", f"rewards.phrases={own}").refusal()
