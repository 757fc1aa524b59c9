from pathlib import Path

import pytest

from tasks.lineage import source
from tasks.lineage.source import source_digest


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(source, "REPOSITORY", tmp_path)
    for name in ("tasks/curate/__init__.py", "tasks/curate/stage.py", "tasks/policy/load.py", "data/audit/sheet.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"this is {name}")
    return tmp_path


@pytest.mark.parametrize(
    ("named", "changed"),
    [
        ("tasks.curate", "tasks/curate/stage.py"),
        ("tasks.policy.load", "tasks/policy/load.py"),
        ("data/audit", "data/audit/sheet.csv"),
        ("tasks/policy/load.py", "tasks/policy/load.py"),
    ],
)
def test_the_digest_changes_with_what_is_named_and_with_nothing_else(
    repository: Path, named: str, changed: str
) -> None:
    before = source_digest(named)
    (repository / "unrelated.py").write_text("new")
    assert source_digest(named) == before
    (repository / changed).write_text("changed")
    assert source_digest(named) != before


def test_a_renamed_an_added_and_a_removed_file_change_the_digest(repository: Path) -> None:
    digests = [source_digest("tasks.curate")]
    (repository / "tasks/curate/stage.py").rename(repository / "tasks/curate/steps.py")
    digests.append(source_digest("tasks.curate"))
    (repository / "tasks/curate/words.jsonl").write_text("{}")
    digests.append(source_digest("tasks.curate"))
    (repository / "tasks/curate/steps.py").unlink()
    digests.append(source_digest("tasks.curate"))
    assert len(set(digests)) == 4


def test_caches_and_hidden_files_do_not_count(repository: Path) -> None:
    before = source_digest("tasks.curate")
    (repository / "tasks/curate/__pycache__").mkdir()
    (repository / "tasks/curate/__pycache__/stage.pyc").write_text("compiled")
    (repository / "tasks/curate/.stage.py.swp").write_text("an editor's")
    assert source_digest("tasks.curate") == before


def test_order_and_repetition_of_the_names_do_not_count(repository: Path) -> None:
    assert source_digest("tasks.curate", "data/audit") == source_digest("data/audit", "tasks.curate", "tasks.curate")


@pytest.mark.parametrize("missing", ["tasks.nothing", "data/nothing", "tasks.curate.nothing", "empty"])
def test_a_source_that_is_not_there_is_refused(repository: Path, missing: str) -> None:
    (repository / "empty").mkdir()
    with pytest.raises(ValueError, match=missing):
        source_digest(missing)


def test_the_real_repository_is_found() -> None:
    assert len(source_digest("schemas", "tasks.lineage.source")) == 64
