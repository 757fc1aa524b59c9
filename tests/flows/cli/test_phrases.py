"""`tucano phrases`: a model proposes, a person approves, and the shop's own file grows."""

import csv
import json
from pathlib import Path

import pytest

from tests.chat_server import Reply, says, serve
from tests.flows.command import in_a_process, in_this_process

pytestmark = pytest.mark.integration
ANSWER = "Cheirinho de bolo\nPanela no fogo!\n5 bolos.\nHora de cozinhar."


def rival(url: str) -> str:
    return f'evaluate.rivals=[{{ name = "large", url = "{url}", model = "m" }}]'


def test_what_a_model_proposes_and_a_person_approves_becomes_the_shops_own(tmp_path: Path) -> None:
    sheet, own = tmp_path / "sheet.csv", tmp_path / "frases.toml"
    with serve(lambda *_: says(ANSWER)) as server:
        options = ("--set", rival(server.url))
        asked = ("phrases", "propose", "cozinha", "--count", "2", "--output", str(sheet), "--json", *options)
        ended = in_this_process(*asked)
        again = in_this_process(*asked)
    assert (ended.returncode, again.returncode) == (0, 2), ended.text
    assert "exists and may be filled in" in again.text
    assert json.loads(ended.stdout)["proposed"] == ["Cheirinho de bolo.", "Panela no fogo!"]
    assert "2 were dropped: digits 1" in " ".join(ended.text.split())
    rows = list(csv.DictReader(sheet.read_text(encoding="utf-8-sig").splitlines()))
    assert [set(row.items()) >= {("approved", ""), ("by", "")} for row in rows] == [True, True]
    sheet.write_text(sheet.read_text(encoding="utf-8").replace("bolo.,,", "bolo.,sim,Ana"), encoding="utf-8")
    add = ("phrases", "add", sheet)
    unnamed = in_this_process(*add)
    assert unnamed.returncode == 2
    assert "rewards.phrases" in unnamed.stderr
    added = in_this_process(*add, "--set", f"rewards.phrases={own}")
    assert added.returncode == 0, added.stderr
    assert own.read_text(encoding="utf-8").count("Cheirinho de bolo.") == 1
    once_more = in_a_process(*add, "--set", f"rewards.phrases={own}")
    assert once_more.returncode == 2
    assert "approves nothing new" in once_more.stderr


def test_an_endpoint_that_fails_and_an_unknown_group_are_one_sentence_and_leave_no_sheet(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    with serve(lambda *_: Reply(b"", 404)) as server:
        options = ("--set", rival(server.url))
        failed = in_this_process("phrases", "propose", "cozinha", "--output", sheet, *options)
        unknown = in_this_process("phrases", "propose", "cozinhas", "--output", sheet, *options)
    unnamed = in_this_process("phrases", "propose", "cozinha", "--output", sheet)
    assert (failed.returncode, unknown.returncode, unnamed.returncode) == (2, 2, 2)
    assert "no model is named that could propose" in unnamed.stderr
    assert "the proposing endpoint" in failed.stderr
    assert "no group 'cozinhas'" in unknown.stderr
    assert len(server.requests) == 1
    assert not sheet.exists()
