"""Servers that answer, refuse, are others or are not there: each is one finding, with no secret in it."""

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest

from flows.doctor.finding import CheckOutcome
from flows.doctor.servers import check_mlflow, check_prefect
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tasks.lineage.mlflow.client import local_store
from tests.answering_server import answering

NOBODY = "http://127.0.0.1:9"
"""The port of the discard service: nothing listens."""
VERSION = json.dumps(version("prefect"))
EXPERIMENTS = "/api/2.0/mlflow/experiments/search"
SECRET = "segredo"


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_API_KEY", "MLFLOW_TRACKING_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    yield


def config(root: Path, *overrides: str) -> Config:
    return load_config("local", [f"state.root={root}", *overrides])


def verdicts(outcome: CheckOutcome) -> dict[str, str]:
    assert all(finding.remedy for finding in outcome.findings if finding.verdict != "ok")
    assert SECRET not in str(outcome)
    return {finding.check: finding.verdict for finding in outcome.findings}


def test_without_a_server_a_run_starts_its_own_unless_it_hands_training_over(tmp_path: Path) -> None:
    assert verdicts(check_prefect(config(tmp_path))) == {"Prefect": "ok"}
    handing = config(tmp_path, "workers.training=training/train", f"state.artifacts={tmp_path}")
    outcome = check_prefect(handing)
    assert verdicts(outcome) == {"Prefect": "fault"}
    assert "PREFECT_API_URL is not set" in outcome.findings[0].found


@pytest.mark.parametrize(
    ("variable", "value", "header"),
    [
        ("PREFECT_API_AUTH_STRING", f"ana:{SECRET}", f"Basic {base64.b64encode(f'ana:{SECRET}'.encode()).decode()}"),
        ("PREFECT_API_KEY", SECRET, f"Bearer {SECRET}"),
    ],
)
def test_credentials_are_sent_and_a_refusal_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, header: str
) -> None:
    with answering({"/api/admin/version": (401, "")}) as server:
        monkeypatch.setenv("PREFECT_API_URL", f"{server.url}/api/")
        asked = check_prefect(config(tmp_path))
        monkeypatch.setenv(variable, value)
        refused = check_prefect(config(tmp_path))
    assert server.asked["/api/admin/version"]["authorization"] == header
    assert verdicts(asked) == verdicts(refused) == {"Prefect": "fault"}
    assert "asks for credentials (HTTP 401)" in asked.findings[0].found
    assert "refuses the credentials (HTTP 401)" in refused.findings[0].found


def test_a_password_in_the_address_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", f"http://ana:{SECRET}@127.0.0.1:9/api")
    assert verdicts(check_prefect(config(tmp_path))) == {"Prefect": "fault"}


@pytest.mark.parametrize("address", [NOBODY, "http://", "nonsense", "http://nowhere.invalid/api"])
def test_an_address_where_nobody_answers_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", address)
    assert verdicts(check_prefect(config(tmp_path))) == {"Prefect": "fault"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [((200, "<html>"), "page"), ((404, ""), "is no Prefect server"), ((500, VERSION), "is no Prefect server")],
)
def test_another_server_is_not_taken_for_prefects_or_mlflows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, str], said: str
) -> None:
    with answering({"/api/admin/version": answer, "/version": answer}) as server:
        monkeypatch.setenv("PREFECT_API_URL", f"{server.url}/api")
        prefect = check_prefect(config(tmp_path))
        mlflow = check_mlflow(config(tmp_path, f"state.mlflow={server.url}"))
    assert verdicts(prefect) == {"Prefect": "fault"}
    assert verdicts(mlflow) == {"MLflow": "fault"}
    assert said in prefect.findings[0].found


def test_another_version_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"/admin/version": (200, '"3.0.1"'), "/version": (200, "2.9.0"), EXPERIMENTS: (200, "{}")}
    with answering({**answers, "/deployments/filter": (200, "[]"), "/work_pools/filter": (200, "[]")}) as server:
        monkeypatch.setenv("PREFECT_API_URL", server.url)
        assert verdicts(check_prefect(config(tmp_path))) == {"Prefect": "warning", "deployments": "ok"}
        assert verdicts(check_mlflow(config(tmp_path, f"state.mlflow={server.url}"))) == {"MLflow": "warning"}


def test_a_pool_that_nobody_works_for_and_a_missing_deployment_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = {"a": "cpu", "b": "l4-spot", "c": "shut", "d": None}
    deployments = [{"name": name, "work_pool_name": pool} for name, pool in used.items()]
    pools = [{"name": "cpu", "status": "READY"}, {"name": "l4-spot", "status": "NOT_READY"}]
    pools += [{"name": "shut", "status": "PAUSED"}, {"name": "unused", "status": "NOT_READY"}]
    answers = {
        "/admin/version": (200, VERSION),
        "/deployments/filter": (200, json.dumps(deployments)),
        "/work_pools/filter": (200, json.dumps(pools)),
        "/deployments/name/training/train": (200, "{}"),
        "/deployments/name/inference/inference": (200, "{}"),
    }
    handing = f"state.artifacts={tmp_path}"
    with answering(answers) as server:
        monkeypatch.setenv("PREFECT_API_URL", server.url)
        outcome = check_prefect(config(tmp_path, "workers.training=training/train", handing))
        missing = check_prefect(config(tmp_path, "workers.training=training/gone", handing))
        alone = check_prefect(config(tmp_path, "workers.inference=inference/gone", handing))
    found = [finding.found for finding in outcome.findings if finding.check == "work pool"]
    assert found == ["l4-spot has no worker online", "shut is paused"]
    assert verdicts(outcome)["training"] == "ok"
    assert verdicts(outcome)["inference"] == "ok"
    assert verdicts(missing)["training"] == "fault"
    assert verdicts(alone)["inference"] == "fault"


@pytest.mark.parametrize("answer", [(403, ""), (200, "{}"), (200, "no JSON")])
def test_deployments_that_cannot_be_read_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, str]
) -> None:
    with answering({"/admin/version": (200, VERSION), "/deployments/filter": answer}) as server:
        monkeypatch.setenv("PREFECT_API_URL", server.url)
        assert verdicts(check_prefect(config(tmp_path))) == {"Prefect": "ok", "deployments": "warning"}


@pytest.mark.integration
def test_a_real_server_is_of_this_version(tmp_path: Path, prefect_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", prefect_server)
    outcome = check_prefect(config(tmp_path))
    assert verdicts(outcome)["Prefect"] == "ok"
    assert outcome.findings[0].found == f"{version('prefect')} at {prefect_server}"
    assert verdicts(outcome)["deployments"] == "ok"
    assert abs(outcome.clocks[0].seconds_ahead) < 60


@pytest.mark.parametrize(("status", "said"), [(401, "asks for credentials"), (403, "refuses this machine")])
def test_mlflow_is_sent_the_user_and_reported_where_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, said: str
) -> None:
    with answering({"/version": (status, "You are not authenticated.")}) as server:
        there = config(tmp_path, f"state.mlflow={server.url}")
        asked = check_mlflow(there)
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "ana")
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", SECRET)
        refused = check_mlflow(there)
    sent = server.asked["/version"]["authorization"]
    assert sent == f"Basic {base64.b64encode(f'ana:{SECRET}'.encode()).decode()}"
    assert verdicts(asked) == verdicts(refused) == {"MLflow": "fault"}
    assert f"{said} (HTTP {status})" in asked.findings[0].found
    assert "MLFLOW_TRACKING_USERNAME" in asked.findings[0].remedy
    assert f"refuses this machine (HTTP {status})" in refused.findings[0].found


def test_a_mlflow_server_that_lets_this_machine_in_is_fine_and_tells_its_clock(tmp_path: Path) -> None:
    answers = {"/version": (200, version("mlflow")), EXPERIMENTS: (200, "{}")}
    with answering(answers, seconds_ahead=3600) as server:
        outcome = check_mlflow(config(tmp_path, f"state.mlflow={server.url}"))
    assert verdicts(outcome) == {"MLflow": "ok"}
    assert outcome.clocks[0].seconds_ahead == pytest.approx(3600, abs=60)
    assert verdicts(check_mlflow(config(tmp_path, f"state.mlflow={NOBODY}"))) == {"MLflow": "fault"}


@pytest.mark.parametrize(("status", "said"), [(403, "--allowed-hosts"), (500, "log")])
def test_a_mlflow_server_that_tells_its_version_and_gives_nothing_else_is_a_fault(
    tmp_path: Path, status: int, said: str
) -> None:
    with answering({"/version": (200, version("mlflow")), EXPERIMENTS: (status, "")}) as server:
        outcome = check_mlflow(config(tmp_path, f"state.mlflow={server.url}"))
    assert verdicts(outcome) == {"MLflow": "fault"}
    assert said in outcome.findings[0].remedy


def test_mlflows_own_store_is_read_and_not_made(tmp_path: Path) -> None:
    assert verdicts(check_mlflow(config(tmp_path))) == {"MLflow": "ok"}
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "mlflow" / "mlflow.db"
    file.parent.mkdir()
    schema = local_store(f"sqlite:///{file}").schema
    assert schema is not None
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE runs (run_uuid TEXT)")
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        database.execute("INSERT INTO alembic_version VALUES (?)", [schema.revisions()[0]])
    assert "0 runs in" in check_mlflow(config(tmp_path)).findings[0].found
    file.write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match="damaged"):
        check_mlflow(config(tmp_path))
