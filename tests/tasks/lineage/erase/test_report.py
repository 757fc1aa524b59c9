"""Signed reports: whole or refused, of this folder or another, with the proofs that hold."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import GateRefused
from tasks.lineage.erase.find import reached
from tasks.lineage.erase.plan import identities_left, planned
from tasks.lineage.erase.report import KEY_FILE, ROWS_PROOF, as_report, is_own, read_signed, signed
from tests.tasks.lineage.small_world import ANA, World

DOCUMENT = {"subject": "1", "log_lines": {"logs": 2}, "text": "não alcançado"}


def written(folder: Path, document: dict[str, Any]) -> Path:
    file = folder / "report.json"
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return file


def test_a_signed_report_is_read_back_and_a_changed_one_refused(tmp_path: Path) -> None:
    own = signed(tmp_path, DOCUMENT)
    document = read_signed(written(tmp_path, own))
    assert document.items() >= DOCUMENT.items()
    assert is_own(tmp_path, document)
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    for change in ({"log_lines": {"logs": 3}}, {"added": 1}):
        with pytest.raises(GateRefused, match="was changed after it was signed"):
            read_signed(written(tmp_path, {**own, **change}))


def test_one_that_is_signed_again_by_another_is_not_of_this_folder(tmp_path: Path) -> None:
    other = signed(tmp_path / "other", DOCUMENT)
    signed(tmp_path, DOCUMENT)
    assert not is_own(tmp_path, read_signed(written(tmp_path, other)))


def test_the_proof_of_rows_is_given_only_where_nothing_was_left(world: World) -> None:
    inventory = world.inventory
    state = planned(inventory, reached(inventory, ANA), "digest", ANA)
    assert list(identities_left(inventory, state.identities, state.key))
    now = datetime(2026, 11, 27, tzinfo=UTC)
    assert ROWS_PROOF in as_report(state, (), now)["proof"]
    document = as_report(state.model_copy(update={"left": ("a table has them",)}), (), now)
    assert ROWS_PROOF not in document["proof"]
    assert document["not_reached"] == ["a table has them"]
