"""What OpenLineage hears of a stage, and that nobody who listens can make a stage fail."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.artifact import ArtifactRecord
from schemas.config.workers import LineageConfig
from schemas.errors import GateRefused, InputError, Interrupted
from tasks.lineage.openlineage import Emitter, LineageRun, open_emitter
from tasks.lineage.store.artifacts import ArtifactStore
from tests.tasks.lineage.made import commit

RUN, PIPELINE = "0123456789abcdef0123456789abcdef", "f" * 32
NAMESPACE = "loja/retreino"


@pytest.fixture
def dataset(tmp_path: Path) -> ArtifactRecord:
    rows = pl.DataFrame({"prompt_id": ["maria@example.com"], "step": [1]})
    return commit(ArtifactStore(tmp_path / "artifacts"), "dataset", {"data/train.parquet": rows})


@pytest.fixture
def policy(tmp_path: Path) -> ArtifactRecord:
    return commit(ArtifactStore(tmp_path / "artifacts"), "policy", {"weights": b"w"})


@pytest.fixture
def warnings() -> list[str]:
    return []


def emitter_to(address: str, warnings: list[str]) -> Emitter:
    def warn(text: str) -> None:
        warnings.append(text)

    emitter = open_emitter(LineageConfig(openlineage=address, namespace=NAMESPACE), warn)
    assert emitter is not None
    return emitter


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_finished_stage_is_reported_with_what_it_read_and_made(
    tmp_path: Path, dataset: ArtifactRecord, policy: ArtifactRecord, warnings: list[str]
) -> None:
    file = tmp_path / "new folder" / "events.jsonl"
    emitter, run = emitter_to(str(file), warnings), LineageRun("train", RUN, PIPELINE, (dataset,), "monitor")
    emitter.started(run)
    emitter.completed(run, policy)
    start, end = read(file)
    assert [event["eventType"] for event in (start, end)] == ["START", "COMPLETE"]
    for event in (start, end):
        assert event["job"]["name"] == "train"
        assert event["job"]["namespace"] == NAMESPACE
        assert UUID(event["run"]["runId"]).hex == RUN
        parent = event["run"]["facets"]["parent"]
        assert (UUID(parent["run"]["runId"]).hex, parent["job"]) == (
            PIPELINE,
            {"namespace": NAMESPACE, "name": "monitor", "facets": {}},
        )
        assert datetime.fromisoformat(event["eventTime"]).utcoffset() is not None
        assert [given["name"] for given in event["inputs"]] == [f"dataset/{dataset.sha256}"]
    facets = end["inputs"][0]["facets"]
    assert facets["version"]["datasetVersion"] == dataset.sha256
    (table,) = facets["schema"]["fields"]
    assert (table["name"], [(column["name"], column["type"]) for column in table["fields"]]) == (
        "data/train.parquet",
        [("prompt_id", "String"), ("step", "Int64")],
    )
    assert start["outputs"] == []
    assert [made["name"] for made in end["outputs"]] == [f"policy/{policy.sha256}"]
    assert "schema" not in end["outputs"][0]["facets"]
    assert warnings == []


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (GateRefused("the audit says no"), "FAIL", "the audit says no"),
        (ValueError("row 7: maria@example.com"), "FAIL", "ValueError"),
        (Interrupted("killed; run again"), "ABORT", "killed; run again"),
        (KeyboardInterrupt(), "ABORT", "KeyboardInterrupt"),
    ],
)
def test_how_a_stage_failed_is_reported_without_any_row(
    tmp_path: Path, dataset: ArtifactRecord, warnings: list[str], error: BaseException, state: str, message: str
) -> None:
    file = tmp_path / "events.jsonl"
    emitter_to(file.as_uri(), warnings).failed(LineageRun("train", RUN, PIPELINE, (dataset,), "retrain"), error)
    (event,) = read(file)
    assert (event["eventType"], event["run"]["facets"]["errorMessage"]["message"]) == (state, message)
    assert "maria" not in file.read_text(encoding="utf-8")


def test_stages_that_end_at_once_do_not_mix_their_lines(
    tmp_path: Path, dataset: ArtifactRecord, warnings: list[str]
) -> None:
    file = tmp_path / "events.jsonl"
    emitter = emitter_to(str(file), warnings)
    with ThreadPoolExecutor(8) as threads:
        for number in range(100):
            threads.submit(emitter.started, LineageRun(f"train-{number}", RUN, PIPELINE, (dataset,) * 40, "retrain"))
    assert {event["job"]["name"] for event in read(file)} == {f"train-{number}" for number in range(100)}


@settings(max_examples=60, deadline=None)
@given(host=st.text(alphabet="a1.:[]/ @%-?#|\t", max_size=12), scheme=st.sampled_from(["http", "https", "HTTP"]))
def test_an_address_that_the_configuration_accepts_is_one_that_events_can_be_sent_to(host: str, scheme: str) -> None:
    try:
        config = LineageConfig(openlineage=f"{scheme}://{host}")
    except ValidationError as error:
        assert "correct the address" in str(error) or "holds a password" in str(error)
    else:
        assert open_emitter(config, print) is not None


def test_nothing_is_reported_where_no_address_is_set() -> None:
    assert open_emitter(LineageConfig(), print) is None


def test_an_address_that_nobody_can_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"correct lineage\.openlineage"):
        open_emitter(LineageConfig(openlineage=str(tmp_path / "file" / "events.jsonl")), print)


@dataclass
class Endpoint:
    """An OpenLineage endpoint on loopback, and what it was sent."""

    url: str
    requests: list[tuple[str, str | None, dict[str, Any]]] = field(default_factory=list)
    """Path, key and event of each."""


@contextmanager
def serve(status: int) -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.requests.append((self.path, self.headers.get("Authorization"), event))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint = Endpoint(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield endpoint
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("path", "asked"),
    [("", "/api/v1/lineage"), ("/api/v1/lineage", "/api/v1/lineage"), ("/events?kind=run", "/events?kind=run")],
)
def test_an_endpoint_gets_the_events_with_its_key(
    dataset: ArtifactRecord, warnings: list[str], monkeypatch: pytest.MonkeyPatch, path: str, asked: str
) -> None:
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "chave")
    with serve(201) as endpoint:
        emitter_to(endpoint.url + path, warnings).started(LineageRun("curate", RUN, PIPELINE, (dataset,), "retrain"))
    ((path, key, event),) = endpoint.requests
    assert (path, key, event["job"]["name"], warnings) == (asked, "Bearer chave", "curate", [])


def test_an_endpoint_that_refuses_is_warned_of_once_asked_no_more_and_fails_nothing(
    dataset: ArtifactRecord, policy: ArtifactRecord, warnings: list[str]
) -> None:
    run = LineageRun("curate", RUN, PIPELINE, (dataset,), "retrain")
    with serve(503) as endpoint:
        emitter = emitter_to(endpoint.url, warnings)
        emitter.started(run)
        emitter.completed(run, policy)
    assert len(endpoint.requests) == 1
    (warning,) = warnings
    assert f"{endpoint.url} (it answered 503)" in warning


def test_an_endpoint_that_is_not_there_fails_nothing(dataset: ArtifactRecord, warnings: list[str]) -> None:
    emitter_to("http://127.0.0.1:9", warnings).started(LineageRun("curate", RUN, PIPELINE, (dataset,), "retrain"))
    assert "http://127.0.0.1:9 (nothing answers)" in warnings[0]


def test_a_file_that_cannot_be_written_fails_nothing(
    tmp_path: Path, dataset: ArtifactRecord, warnings: list[str]
) -> None:
    emitter_to(str(tmp_path), warnings).started(LineageRun("curate", RUN, PIPELINE, (dataset,), "retrain"))
    assert f"{tmp_path} (Is a directory)" in warnings[0]
