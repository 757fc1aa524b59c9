"""What the profile names is looked for: buckets, the model, files, endpoints, the notice of a machine's end."""

import json
from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path

import pytest

from flows.doctor.finding import CheckOutcome
from flows.doctor.profile import check_endpoints, check_files, check_model, check_notice
from flows.doctor.run import judge_clock
from flows.doctor.servers import check_artifacts, check_mirror
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.store.store import FILE_NAMES
from tests.answering_server import answering
from tests.storage_server import StorageServer, storage_server

NOBODY = "http://127.0.0.1:9"
KEY = "segredo"


@pytest.fixture(scope="module")
def _service() -> Iterator[StorageServer]:
    with storage_server() as service:
        yield service


@pytest.fixture
def service(_service: StorageServer, monkeypatch: pytest.MonkeyPatch) -> StorageServer:
    _service.reset()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", _service.url)
    return _service


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the model hub, whose address answers nothing."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", NOBODY)
    return tmp_path / "hub"


def verdict(outcome: CheckOutcome) -> str:
    (finding,) = outcome.findings
    assert finding.remedy or finding.verdict == "ok"
    assert KEY not in str(outcome)
    return finding.verdict


def local(*overrides: str) -> Config:
    return load_config("local", overrides)


def l4(*overrides: str) -> Config:
    return load_config("l4", overrides)


@pytest.mark.integration
def test_both_places_are_tried_and_left_empty(service: StorageServer) -> None:
    assert verdict(check_mirror(local(f"state.mirror=gs://{service.bucket}/m"))) == "ok"
    assert verdict(check_artifacts(local(f"state.artifacts=gs://{service.bucket}/a"))) == "ok"
    assert service.keys() == []


@pytest.mark.integration
def test_a_bucket_that_refuses_is_a_fault_with_the_role(service: StorageServer) -> None:
    service.refusal = HTTPStatus.FORBIDDEN
    outcome = check_mirror(local(f"state.mirror=gs://{service.bucket}"))
    assert verdict(outcome) == "fault"
    assert outcome.findings[0].check == "mirror: create"
    assert "the role Storage Object User" in outcome.findings[0].remedy


@pytest.mark.integration
@pytest.mark.parametrize(("ahead", "said"), [(0.0, "ok"), (60.0, "warning"), (-3600.0, "fault")])
def test_the_buckets_clock_is_compared_with_this_machines(service: StorageServer, ahead: float, said: str) -> None:
    service.clock_ahead = timedelta(seconds=ahead)
    outcome = check_mirror(local(f"state.mirror=gs://{service.bucket}"))
    assert judge_clock(outcome.clocks).verdict == said


def test_a_place_for_artifacts_is_tried_only_where_one_is_named(tmp_path: Path) -> None:
    assert verdict(check_artifacts(local())) == "ok"
    assert verdict(check_artifacts(local(f"state.artifacts={tmp_path / 'a'}"))) == "ok"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    assert verdict(check_artifacts(local(f"state.artifacts={tmp_path / 'file' / 'a'}"))) == "fault"


def test_the_stand_in_needs_no_model() -> None:
    assert verdict(check_model(local())) == "ok"


def test_a_folder_must_hold_the_whole_model(tmp_path: Path) -> None:
    outcome = check_model(l4(f"policy.name={tmp_path}"))
    assert verdict(outcome) == "fault"
    assert outcome.findings[0].found.endswith("lacks config.json, tokenizer_config.json, model.safetensors")
    for name in ("config.json", "tokenizer_config.json", "model.safetensors.index.json"):
        (tmp_path / name).touch()
    assert verdict(check_model(l4(f"policy.name={tmp_path}"))) == "ok"


def test_a_model_in_the_cache_needs_no_hub(hub: Path) -> None:
    assert verdict(check_model(l4("policy.name=shop/model"))) == "fault"
    snapshot = hub / "models--shop--model" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("1", encoding="utf-8")
    (snapshot / "config.json").touch()
    assert verdict(check_model(l4("policy.name=shop/model"))) == "fault"
    (snapshot / "model.safetensors").touch()
    assert verdict(check_model(l4("policy.name=shop/model"))) == "ok"


def test_a_model_that_the_hub_has_not_is_reported(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    with answering({"/shop/model/resolve/main/config.json": (200, "{}")}) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        assert verdict(check_model(l4("policy.name=shop/model"))) == "ok"
        assert verdict(check_model(l4("policy.name=shop/other"))) == "fault"
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        assert verdict(check_model(l4("policy.name=shop/model"))) == "fault"
    assert verdict(check_model(l4("policy.name=./not/a/folder"))) == "fault"


def test_files_that_are_not_there_are_named_with_their_setting(tmp_path: Path) -> None:
    assert verdict(check_files(local())) == "ok"
    gone = local("synthesize.source=olist", f"synthesize.olist_dir={tmp_path / 'olist'}", f"monitor.logs={tmp_path}/l")
    found = {finding.found: finding.verdict for finding in check_files(gone).findings}
    assert found == {
        f"synthesize.olist_dir {tmp_path}/olist is not there": "fault",
        f"monitor.logs {tmp_path}/l is not there": "warning",
    }
    (tmp_path / "olist").mkdir()
    (tmp_path / "l").touch()
    (finding,) = check_files(gone).findings
    assert "lacks olist_orders_dataset.csv" in finding.found
    for name in FILE_NAMES.values():
        (tmp_path / "olist" / name).write_text("header\n", encoding="utf-8")
    assert verdict(check_files(gone)) == "ok"
    (tmp_path / "olist" / FILE_NAMES["reviews"]).write_text("", encoding="utf-8")
    (finding,) = check_files(gone).findings
    assert (finding.verdict, finding.remedy) == ("fault", "export it again")


@pytest.mark.parametrize(("status", "said"), [(200, "ok"), (404, "ok"), (401, "fault"), (403, "fault"), (503, "fault")])
def test_an_endpoint_is_asked_with_its_key(monkeypatch: pytest.MonkeyPatch, status: int, said: str) -> None:
    with answering({"/v1/models": (status, json.dumps({"data": []}))}) as server:
        fields = f'name = "large", url = "{server.url}/v1", model = "m", key_variable = "RIVAL"'
        rival = (f"evaluate.rivals=[{{ {fields} }}]",)
        monkeypatch.delenv("RIVAL", raising=False)
        unset = check_endpoints(local(*rival))
        assert verdict(unset) == "fault"
        assert unset.findings[0].remedy == "export RIVAL=KEY"
        assert unset.findings[0].check == "evaluate.rivals.large"
        assert server.asked == {}
        monkeypatch.setenv("RIVAL", KEY)
        assert verdict(check_endpoints(local(*rival))) == said
    assert server.asked["/v1/models"]["authorization"] == f"Bearer {KEY}"


def test_a_paraphraser_that_may_be_missing_is_a_warning() -> None:
    paraphraser = (f"synthesize.paraphrase.url={NOBODY}/v1", "synthesize.paraphrase.model=m")
    assert verdict(check_endpoints(local(*paraphraser))) == "fault"
    assert verdict(check_endpoints(local(*paraphraser, "synthesize.paraphrase.mandatory=false"))) == "warning"
    assert verdict(check_endpoints(local())) == "ok"


def test_a_judge_of_insights_that_does_not_answer_is_a_fault() -> None:
    judge = (f"evaluate.judge.url={NOBODY}/v1", "evaluate.judge.model=m")
    assert verdict(check_endpoints(local(*judge))) == "fault"
    with answering({"/v1/models": (200, "{}")}) as server:
        assert verdict(check_endpoints(local(f"evaluate.judge.url={server.url}/v1", "evaluate.judge.model=m"))) == "ok"


def test_the_announcer_of_a_machines_end_is_asked_as_google_wants_it() -> None:
    assert verdict(check_notice(local())) == "ok"
    with answering({"/preempted": (200, "FALSE"), "/gone": (500, "")}) as server:
        assert verdict(check_notice(l4(f"train.preemption.notice_url={server.url}/preempted"))) == "ok"
        assert server.asked["/preempted"]["metadata-flavor"] == "Google"
        assert verdict(check_notice(l4(f"train.preemption.notice_url={server.url}/gone"))) == "warning"
    assert verdict(check_notice(l4(f"train.preemption.notice_url={NOBODY}"))) == "warning"
    remote = ("workers.training=training/train", "state.artifacts=/tmp/a")
    assert verdict(check_notice(l4(f"train.preemption.notice_url={NOBODY}", *remote))) == "ok"
