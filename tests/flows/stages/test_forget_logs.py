"""Lines of a person leave the logs and the sheets of a state folder; a log that is being written is named."""

import json
import random
from pathlib import Path

import pytest
from filelock import FileLock

from flows.stages import forget_logs
from flows.stages.forget_logs import CleanedLogs, clean_logs, require_logs
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.store.files import read_store, write_store
from schemas.tables.person import Person
from tasks.audit.sheet import COLUMNS, read_rows, write_rows
from tasks.audit.stage import files_of
from tasks.lineage.erase.traces import Traces
from tasks.synthesize.simulated import simulate_store

THEIRS, OTHERS = "p" * 64, "q" * 64
TRACES = Traces(frozenset({"o que é meu"}), (), ())


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A state folder with a log, whose MLflow has no traces."""

    class NoTraces:
        def __init__(self, *_: object) -> None: ...

        def traces(self, _: object) -> int:
            return 0

    monkeypatch.setattr(forget_logs, "Removal", NoTraces)
    (tmp_path / "logs" / "feedback").mkdir(parents=True)
    lines = [{"request_id": str(number), "prompt": prompt} for number, prompt in enumerate(("o que é meu", "outro"))]
    (tmp_path / "logs" / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return load_config("local", [f"state.root={tmp_path}"])


def clean(config: Config, person: Person | None = None) -> CleanedLogs:
    nobody = Person(frozenset(), frozenset(), frozenset(), frozenset({THEIRS}))
    return clean_logs(config, person or nobody, TRACES, b"secret")


def test_lines_leave_the_log(config: Config) -> None:
    cleaned = clean(config)
    assert (cleaned.lines, cleaned.by_text, cleaned.unreached) == ({"logs": 1, "traces": 0}, 1, ())
    assert "meu" not in (config.state.root / "logs" / "a.jsonl").read_text(encoding="utf-8")
    assert clean(config).lines["logs"] == 0


@pytest.mark.parametrize("place", ["logs", "logs/feedback"])
def test_a_log_that_a_gateway_writes_is_named_and_left(config: Config, place: str) -> None:
    with FileLock(config.state.root / place / ".lock"):
        cleaned = clean(config)
    assert cleaned.lines == {}
    (sentence,) = cleaned.unreached
    assert "a gateway writes to the logs" in sentence
    assert "meu" in (config.state.root / "logs" / "a.jsonl").read_text(encoding="utf-8")


def test_the_sheets_that_people_score_are_without_them_and_keep_the_scores_of_others(config: Config) -> None:
    files = files_of(config.state.root / "scores" / "grounded-1")
    store = simulate_store(60, random.Random("1"))
    write_store(store, files.store)
    empty = dict.fromkeys(COLUMNS, "")
    rows = [
        {**empty, "audit_id": each[0], "task": "push", "prompt_id": each, "human_score": "4"}
        for each in (THEIRS, OTHERS)
    ]
    write_rows(files.sheet, rows)
    rollouts = [{"prompt_id": THEIRS, "prompt": "o que é meu"}, {"prompt_id": OTHERS, "prompt": "outro"}]
    files.rollouts.write_text("".join(json.dumps(each) + "\n" for each in rollouts), encoding="utf-8")
    order = store.orders["order_id"][0]
    cleaned = clean(config, Person(frozenset(), frozenset({order}), frozenset(), frozenset({THEIRS})))
    assert cleaned.lines["scores"] == 2
    assert [(row["prompt_id"], row["human_score"]) for row in read_rows(files.sheet)] == [(OTHERS, "4")]
    assert THEIRS not in files.rollouts.read_text(encoding="utf-8")
    assert order not in read_store(files.store).orders["order_id"]


@pytest.mark.parametrize("setting", ["monitor.logs", "synthesize.logs"])
@pytest.mark.parametrize("place", ["old/served", "old/served/b.jsonl", "logs"])
def test_logs_elsewhere_in_the_state_folder_are_searched_once(config: Config, setting: str, place: str) -> None:
    root = config.state.root
    (root / "old" / "served").mkdir(parents=True)
    line = json.dumps({"request_id": "1", "prompt": "o que é meu"})
    (root / "old" / "served" / "b.jsonl").write_text(line + "\n", encoding="utf-8")
    cleaned = clean(load_config("local", [f"state.root={root}", f"{setting}={root / place}"]))
    elsewhere = {} if place == "logs" else {place: 1}
    assert cleaned.lines == {"logs": 1, **elsewhere, "traces": 0}


def test_where_one_log_cannot_be_read_nothing_leaves_another(config: Config) -> None:
    root = config.state.root
    (root / "logs" / "feedback" / "a.jsonl").mkdir()
    cleaned = clean(config)
    assert (cleaned.lines, len(cleaned.unreached)) == ({}, 1)
    assert "meu" in (root / "logs" / "a.jsonl").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"feedback/a\.jsonl cannot be read.*nothing was removed yet"):
        require_logs(config)


@pytest.mark.parametrize("name", ["scores/grounded-1/sheet.csv", "references.jsonl", "absent.jsonl"])
def test_where_a_sheet_or_the_references_cannot_be_read_nothing_leaves_a_log(config: Config, name: str) -> None:
    file = config.state.root / name
    if not name.startswith("absent"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("no line\nof it\n", encoding="utf-8")
    if file.suffix == ".jsonl":
        config = load_config("local", [f"state.root={config.state.root}", f"curate.references={file}"])
    with pytest.raises(InputError, match=rf"(sheet|references) .*{file.name}.*nothing was removed yet"):
        require_logs(config)
    assert clean(config).lines == {}
    assert "meu" in (config.state.root / "logs" / "a.jsonl").read_text(encoding="utf-8")
