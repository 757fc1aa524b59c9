"""Steps of a forgetting: trainings that never ended are found, lines leave logs and sheets, versions are removed."""

import json
import random
from datetime import timedelta
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from filelock import FileLock

from flows.runtime.session import EXPERIMENT, artifacts_folder, mlflow_store
from flows.stages import forget, forget_places
from flows.stages.forget_places import FoundPerson, has_drawn, trainings_where
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.store.files import read_store, write_store
from schemas.store.store import Person
from tasks.audit.sheet import COLUMNS, read_rows, write_rows
from tasks.audit.stage import files_of
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.shared_artifacts import SharedArtifacts
from tasks.lineage.erase.find import reached
from tasks.lineage.erase.plan import Forgetting, planned
from tasks.lineage.erase.traces import Traces
from tasks.lineage.mlflow.client import open_client
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import read_inventory
from tasks.synthesize.simulated import simulate_store
from tasks.train.children.dpo import PreferencePair, Preferences
from tasks.train.resume.state_files import PREFERENCES
from tests.storage_server import storage_server
from tests.tasks.checkpoints.checkpoint_folders import sealed_folder
from tests.tasks.lineage.made import commit, register_policy
from tests.tasks.lineage.small_world import ANA, MODEL, World, make_world

THEIRS, OTHERS = "p" * 64, "q" * 64
PERSON: Final = Person(frozenset(), frozenset(), frozenset(), frozenset({THEIRS}))


def pairs_of(prompt: str) -> dict[str, bytes]:
    preferences = Preferences()
    preferences.pairs = [PreferencePair(prompt, "push", "s", "p", "boa", "ruim", 0.5)]
    return {f"{PREFERENCES}.json": json.dumps(preferences.state_dict()).encode()}


def rollouts_of(prompt: str) -> dict[str, bytes]:
    written = BytesIO()
    pl.DataFrame({"prompt_id": [prompt], "completion": ["boa"]}).write_parquet(written)
    return {"rollouts/step-1.parquet": written.getvalue()}


def test_the_pairs_and_rollouts_of_trainings_that_never_ended_are_found(tmp_path: Path) -> None:
    made = {
        "dpo-theirs": pairs_of(THEIRS),
        "dpo-others": pairs_of(OTHERS),
        "grpo-theirs": rollouts_of(THEIRS),
        "grpo-others": rollouts_of(OTHERS),
    }
    for training, files in made.items():
        open_mirror(str(tmp_path / "mirror"), training).publish(sealed_folder(1, files, training=training))
    config = load_config("local", [f"state.root={tmp_path}"])
    assert trainings_where(config, partial(has_drawn, PERSON)) == (("dpo-theirs", "grpo-theirs"), ())


TRACES = Traces(frozenset({"o que é meu"}), (), ())
NONE: Final[dict[str, Any]] = {"holding": {}, "versions": {}, "identities": {}, "taught": (), "doubts": ()}
STATE: Final = Forgetting(asked="", kind=None, kinds=(), config_digest="", secret="00", prompts=0, **NONE)
"""A forgetting of which nothing is done yet."""


class NoTraces:
    """MLflow without traces."""

    def __init__(self, *_: object) -> None: ...

    def traces(self, _: object) -> int:
        return 0


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A state folder with a log, whose MLflow has no traces."""

    monkeypatch.setattr(forget_places, "Removal", NoTraces)
    (tmp_path / "logs" / "feedback").mkdir(parents=True)
    lines = [{"request_id": str(number), "prompt": prompt} for number, prompt in enumerate(("o que é meu", "outro"))]
    (tmp_path / "logs" / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return load_config("local", [f"state.root={tmp_path}"])


def clean(config: Config, person: Person = PERSON) -> Forgetting:
    found = FoundPerson(reached=None, person=person, traces=TRACES)  # type: ignore[arg-type]
    return forget_places.clean_logs(config, STATE, found)


def test_lines_leave_the_log(logged: Config) -> None:
    cleaned = clean(logged)
    assert (cleaned.log_lines, cleaned.lines_by_text, cleaned.missed["logs"]) == ({"logs": 1, "traces": 0}, 1, ())
    assert "meu" not in (logged.state.root / "logs" / "a.jsonl").read_text(encoding="utf-8")
    assert clean(logged).log_lines["logs"] == 0


@pytest.mark.parametrize("place", ["logs", "logs/feedback"])
def test_a_log_that_a_gateway_writes_is_named_and_left(logged: Config, place: str) -> None:
    with FileLock(logged.state.root / place / ".lock"), pytest.raises(InputError, match="a gateway writes to the logs"):
        clean(logged)
    assert "meu" in (logged.state.root / "logs" / "a.jsonl").read_text(encoding="utf-8")


def test_the_sheets_that_people_score_are_without_them_and_keep_the_scores_of_others(logged: Config) -> None:
    files = files_of(logged.state.root / "scores" / "grounded-1")
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
    cleaned = clean(logged, Person(frozenset(), frozenset({order}), frozenset(), frozenset({THEIRS})))
    assert cleaned.log_lines["scores"] == 2
    assert [(row["prompt_id"], row["human_score"]) for row in read_rows(files.sheet)] == [(OTHERS, "4")]
    assert THEIRS not in files.rollouts.read_text(encoding="utf-8")
    assert order not in read_store(files.store).orders["order_id"]


@pytest.mark.parametrize(("setting", "place"), [("monitor.logs", "old/served/b.jsonl"), ("synthesize.logs", "logs")])
def test_logs_elsewhere_in_the_state_folder_are_searched_once(logged: Config, setting: str, place: str) -> None:
    root = logged.state.root
    (root / "old" / "served").mkdir(parents=True)
    line = json.dumps({"request_id": "1", "prompt": "o que é meu"})
    (root / "old" / "served" / "b.jsonl").write_text(line + "\n", encoding="utf-8")
    cleaned = clean(load_config("local", [f"state.root={root}", f"{setting}={root / place}"]))
    elsewhere = {} if place == "logs" else {place: 1}
    assert cleaned.log_lines == {"logs": 1, **elsewhere, "traces": 0}


@pytest.mark.parametrize("name", ["logs/feedback/a.jsonl", "scores/grounded-1/sheet.csv", "absent.jsonl"])
def test_an_unreadable_log_sheet_or_file_of_references_keeps_the_lines_of_the_logs(logged: Config, name: str) -> None:
    file = logged.state.root / name
    if name.startswith("logs"):
        file.mkdir()
    elif name.startswith("scores"):
        file.parent.mkdir(parents=True)
        file.write_text("no line\nof it\n", encoding="utf-8")
    else:
        logged = load_config("local", [f"state.root={logged.state.root}", f"curate.references={file}"])
    with pytest.raises(InputError, match=rf"{file.name}.*nothing was removed now"):
        clean(logged)
    assert "meu" in (logged.state.root / "logs" / "a.jsonl").read_text(encoding="utf-8")


OTHER_NAME = "outra-loja"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "artifacts")


@pytest.fixture
def config(world: World) -> Config:
    """A state folder whose registry has the world's policy under two names."""
    config = load_config("local", [f"state.root={world.root.parent}"])
    uri, files = mlflow_store(config.state)
    recorder, registry = Recorder(uri, files, EXPERIMENT), Registry(uri)
    with recorder.pipeline("p", {}) as pipeline, recorder.stage(pipeline, "train", {}, {}) as stage:
        for name in (MODEL, OTHER_NAME):
            register_policy(registry, stage.run_id, name, world.made["train"], world.made["evaluate"])
    return config


def marked(config: Config) -> Forgetting:
    inventory = read_inventory(artifacts_folder(config))
    return forget.mark_removed(config, planned(inventory, reached(inventory, ANA), config.digest(), ANA))


def registered(config: Config) -> set[str]:
    client: Any = open_client(mlflow_store(config.state)[0])
    return {version.name for version in client.search_model_versions()}


@pytest.mark.integration
def test_a_removal_that_mlflow_refuses_is_done_by_the_next_run(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    def refuse(*_: object) -> None:
        raise MlflowException("a row of somebody")

    state = marked(config)
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "delete_model_version", refuse)
        done = forget.remove(config, state)
    assert done.versions_removed == ()
    first, second = done.missed["remove"]
    assert "did not do as asked" in first
    assert "somebody" not in first
    assert f"{MODEL}/1 may still be registered" in second
    # Versions of another name are found, too.
    again = forget.remove(config, done)
    assert again.missed == {"remove": ()}
    assert again.versions_removed == (f"{OTHER_NAME}/1", f"{MODEL}/1")
    assert registered(config) == set()


@pytest.mark.integration
def test_no_generation_of_a_bucket_has_a_byte_of_persons_who_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty, whose artifacts were sent again or pruned since, and whose trainings were begun again."""
    monkeypatch.setattr(forget, "_remove_from_mlflow", lambda *_: None)
    with storage_server() as service:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", service.url)
        service.storage.earlier = {}
        places = {name: f"gs://{service.bucket}/{name}" for name in ("mirror", "artifacts")}
        overrides = [f"state.{name}={place}" for name, place in places.items()]
        config = load_config("local", [f"state.root={tmp_path}", *overrides])
        store, shared = ArtifactStore(artifacts_folder(config)), SharedArtifacts(places["artifacts"])
        records = [commit(store, "policy", {"a.bin": bytes([number]) * 9, "b.bin": b"all"}) for number in range(21)]
        for number, record in enumerate(records):
            mirror = open_mirror(places["mirror"], f"train-{number}")
            mirror.publish(sealed_folder(1, {"rollouts/1": bytes([number]) * 7}, training=mirror.training))
            if number % 2:
                mirror.clear()
            shared.push(record, store.path(record.sha256))
        service.clock_ahead = timedelta(days=40)
        shared.push(records[20], store.path(records[20].sha256))
        shared.prune()
        assert service.storage.earlier
        removed = {record.sha256: record.kind for record in records[:20]}
        # Of one that was begun again, the new checkpoints say nothing of the old ones.
        trainings = tuple(f"train-{number}" for number in range(0, 20, 2))
        done = forget.remove(config, STATE.model_copy(update={"removed": removed, "trainings": trainings}))
        left = [*service.keys(), *(each["name"] for each in service.storage.earlier.values())]
    assert done.missed == {"remove": ()}
    theirs = {digest for record in records[:20] for digest in record.files.values()} - {*records[20].files.values()}
    named = (*theirs, *removed, *(f"/train-{number}/" for number in range(20)))
    assert [key for key in left if any(name in key for name in named)] == []
    # Those of the others stay, also what they have in common with the forgotten.
    assert set(left) >= {f"artifacts/blobs/sha256/{digest}" for digest in records[20].files.values()}


@pytest.mark.integration
def test_a_mirror_and_shared_artifacts_that_are_not_there_are_not_taken_for_empty(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is not mounted, or relative to the folder in which the command was run before."""
    monkeypatch.chdir(tmp_path)
    places = {"mirror": "elsewhere/mirror", "artifacts": "elsewhere/artifacts"}
    away = config.model_copy(update={"state": config.state.model_copy(update=places)})
    state = marked(away)
    assert any("elsewhere/mirror" in sentence for sentence in state.unreached)
    assert any("elsewhere/artifacts" in sentence for sentence in forget.remove(away, state).missed["remove"])
    assert not (tmp_path / "elsewhere").exists()
