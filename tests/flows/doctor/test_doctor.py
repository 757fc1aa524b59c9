"""`tucano doctor`: each fault of a machine or a profile is one line with its remedy, and nothing is left behind."""

import json
import shutil
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock
from huggingface_hub import constants

from flows.doctor import machine, run
from flows.doctor.machine import Finding, Verdict
from flows.doctor.run import examine, require_ready
from flows.runtime.session import LOCK_FILE
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.store.store import FILE_NAMES
from tasks.policy.published import STAND_IN_FOLDER
from tests.answering_server import Reply, answering, playing
from tests.flows.command import in_this_process
from tests.storage_server import storage_server

NOBODY = "http://127.0.0.1:9"
"""The port of the discard service: nothing listens."""
SECRET = "segredo"
Configured = Callable[..., Config]


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_API_KEY", "MLFLOW_TRACKING_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def local(tmp_path: Path) -> Configured:
    return lambda *overrides: load_config("local", [f"state.root={tmp_path / 'state'}", *overrides])


@pytest.fixture
def l4(tmp_path: Path) -> Configured:
    return lambda *overrides: load_config("l4", [f"state.root={tmp_path / 'state'}", *overrides])


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    assert finding.remedy or finding.verdict == "ok"
    assert SECRET not in str(finding)
    return finding


def test_the_laptop_profile_can_run_here_and_nothing_is_made(local: Configured, tmp_path: Path) -> None:
    findings = examine(local())
    assert [finding for finding in findings if finding.verdict == "fault"] == []
    assert {finding.check for finding in findings} >= {*run.CHECKS}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("verdict", "code"), [("ok", 0), ("warning", 0), ("fault", 2)])
def test_only_a_fault_is_an_error(monkeypatch: pytest.MonkeyPatch, verdict: Verdict, code: int) -> None:
    unused = Finding("b", "ok", "fine", unused=True)
    checks = {"a": lambda _: [Finding("a", verdict, "odd", "mend it")], "b": lambda _: [unused]}
    monkeypatch.setattr(run, "CHECKS", checks)
    ended = in_this_process("doctor", "--json")
    document = json.loads(ended.stdout)
    assert (ended.returncode, document["ready"]) == (code, code == 0)
    assert document["findings"][-1] == {"check": "b", "verdict": "ok", "found": "fine", "remedy": "", "unused": True}


def test_one_check_that_fails_or_hangs_hides_no_other(local: Configured, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def slips(_: Config) -> list[Finding]:
        raise ZeroDivisionError("by nought")

    def refuses(_: Config) -> list[Finding]:
        raise InputError("the place is shut; open it")

    def hangs(_: Config) -> list[Finding]:
        released.wait()
        return []

    checks = {"a": slips, "b": refuses, "c": lambda _: [Finding("c", "ok", "fine")], "d": hangs}
    monkeypatch.setattr(run, "CHECKS", checks)
    monkeypatch.setattr(run, "SECONDS_FOR_ALL", 1.0)
    found = {finding.check: finding for finding in examine(local())}
    released.set()
    assert found["a"].verdict == "fault"
    assert "ZeroDivisionError: by nought" in found["a"].found
    assert found["b"] == Finding("b", "fault", "the place is shut", "open it")
    assert found["c"].verdict == "ok"
    assert found["d"].found == "no answer within 1 s"


def install_nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


REMOTE = ("workers.training=training/train", "state.artifacts=gs://shop/a", "state.mirror=gs://shop/m")
SERVED = (*REMOTE, "state.mlflow=http://mlflow:5000")


def test_a_gpu_is_a_fault_only_where_the_training_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Configured, l4: Configured
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"profile l4 cannot run here: GPU: there is none.*; train on a machine with"):
        require_ready(l4(), "l4")
    assert list(tmp_path.iterdir()) == []
    require_ready(local(), "local")
    assert only(machine.check_gpu(local("policy.stand_in=false", "policy.name=shop/m"))).verdict == "warning"
    small = local("policy.stand_in=false", f"policy.name={STAND_IN_FOLDER}")
    assert "5 million weights need none" in only(machine.check_gpu(small)).found
    monkeypatch.setattr(machine, "host_memory", lambda: 100_000_000)
    assert only(machine.check_gpu(small)).verdict == "fault"
    install_nvidia_smi(tmp_path, monkeypatch, "echo 'NVIDIA L4, 23034 MiB, 580.82.07'")
    assert only(machine.check_gpu(local())).found == "NVIDIA L4, 23034 MiB, 580.82.07"
    assert only(machine.check_gpu(l4())).verdict == "ok"
    install_nvidia_smi(tmp_path, monkeypatch, "echo 'Driver/library version mismatch'; exit 18")
    assert only(machine.check_gpu(local())).verdict == "warning"
    assert "Driver/library version mismatch" in only(machine.check_gpu(l4())).found


def test_disk_is_compared_with_what_the_model_takes(
    monkeypatch: pytest.MonkeyPatch, local: Configured, l4: Configured, tmp_path: Path
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=20e9))
    assert only(machine.check_disk(l4())).verdict == only(machine.check_disk(local())).verdict == "ok"
    larger = only(machine.check_disk(load_config("l4-3.7b", [f"state.root={tmp_path}"])))
    assert (larger.verdict, "takes some 38" in larger.found) == ("warning", True)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1e6))
    assert only(machine.check_disk(local())).verdict == "fault"


def test_a_state_folder_in_use_half_forgotten_or_closed_is_reported(local: Configured, tmp_path: Path) -> None:
    root = local().state.root
    root.mkdir()
    assert only(machine.check_state(local())).verdict == "ok"
    assert list(root.iterdir()) == []
    with FileLock(root / LOCK_FILE):
        assert only(machine.check_state(local())).remedy == "wait for its end, or use --set state.root=FOLDER"
    journal = root / "forgetting" / "subject.json"
    journal.parent.mkdir()
    journal.write_text("{", encoding="utf-8")
    assert "tucano forget ID --apply" in only(machine.check_state(local())).remedy
    (tmp_path / "file").touch()
    assert only(machine.check_state(local(f"state.root={tmp_path / 'file' / 'state'}"))).verdict == "fault"


def test_libraries_are_compared_with_pins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Configured, l4: Configured
) -> None:
    assert [finding.check for finding in machine.check_libraries(l4(*SERVED))] == ["libraries"]
    monkeypatch.setattr(machine, "LAPTOP", tmp_path / "laptop.txt")
    pins = "# pinned\nrich==0.1\nnever-heard-of==1.0\ntyper==0.1; python_version<'3'\n"
    (tmp_path / "laptop.txt").write_text(pins, encoding="utf-8")
    differing = only(machine.check_libraries(local()))
    assert (differing.verdict, differing.found.count("needed ==0.1")) == ("warning", 1)
    assert "never-heard-of" not in differing.found
    assert only(machine.gpu_packages(l4(), {"torch": "2.13.0+cpu", "unsloth": "1"})).check == "GPU libraries"
    assert machine.gpu_packages(l4(), {"torch": "2.13.0+cu128", "unsloth": "1"}) == []


def test_the_trainers_environment_is_asked_by_its_own_python(tmp_path: Path, l4: Configured) -> None:
    lacking = machine.check_trainer(l4(f"train.interpreter={sys.executable}"))
    assert [finding.verdict for finding in lacking] == ["fault", "fault"]
    assert "unsloth is not installed" in lacking[0].found
    assert only(machine.check_trainer(l4())).verdict == "ok"
    assert only(machine.check_trainer(l4(*SERVED, "train.interpreter=/nowhere/python"))).verdict == "ok"
    (tmp_path / "python").write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    for name in ("none", "python"):
        found = only(machine.check_trainer(l4(f"train.interpreter={tmp_path / name}"))).found
        assert "does not run as a Python" in found


def test_a_run_hands_its_training_only_to_a_server_that_is_there(
    local: Configured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    handing = local("workers.training=training/train", f"state.artifacts={tmp_path}")
    assert only(run.check_prefect(local())).verdict == "ok"
    assert "PREFECT_API_URL is not set" in only(run.check_prefect(handing)).found
    for address in (f"http://ana:{SECRET}@127.0.0.1:9/api", "http://", "nonsense"):
        monkeypatch.setenv("PREFECT_API_URL", address)
        assert only(run.check_prefect(local())).verdict == "fault"
    for status in (401, 404, 500):
        with answering({"/api/health": (200, "true"), "/api/admin/version": (status, "{}")}) as server:
            monkeypatch.setenv("PREFECT_API_URL", f"{server.url}/api")
            with pytest.raises(InputError, match=f"the Prefect server at {server.url}/api"):
                run.check_prefect(local())


def test_mlflows_server_and_store_are_read_and_not_made(
    local: Configured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert only(run.check_mlflow(local())).verdict == "ok"
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "state" / "mlflow" / "mlflow.db"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match="damaged"):
        run.check_mlflow(local())
    monkeypatch.setattr("flows.doctor.run.open_client", lambda _: None)
    assert only(run.check_mlflow(local("state.mlflow=http://mlflow:5000"))).verdict == "ok"


@pytest.mark.integration
def test_buckets_are_tried_and_left_empty(monkeypatch: pytest.MonkeyPatch, local: Configured, tmp_path: Path) -> None:
    with storage_server() as service:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", service.url)
        mirror = local(f"state.mirror=gs://{service.bucket}/m")
        assert only(run.CHECKS["mirror"](mirror)).verdict == "ok"
        assert service.keys() == []
        service.refusal = HTTPStatus.FORBIDDEN
        finding = only(run.CHECKS["mirror"](mirror))
        assert (finding.check, finding.verdict) == ("mirror", "fault")
        assert "the role Storage Object User" in finding.remedy
    assert only(run.CHECKS["artifacts"](local())).unused
    (tmp_path / "file").touch()
    assert only(run.CHECKS["artifacts"](local(f"state.artifacts={tmp_path / 'file' / 'a'}"))).verdict == "fault"


WARNED: dict[str, Verdict] = {"europe-west2-b": "warning", "us-central1-a": "warning"}


@pytest.mark.parametrize("zone", ["europe-west4-a", "southamerica-east1-a", *WARNED])
def test_a_machine_to_which_lgpd_lets_no_data_go_without_further_ground_is_named(
    local: Configured, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    with playing(lambda *_: Reply(f"projects/7/zones/{zone}".encode())) as url:
        monkeypatch.setattr(run, "ZONE", url)
        in_a_bucket = local("state.artifacts=gs://b/artifacts")
        assert only(run.check_region(in_a_bucket)).verdict == WARNED.get(zone, "ok")
    assert only(run.check_region(in_a_bucket)).unused
    assert only(run.check_region(local())).unused


def test_the_model_is_looked_for_in_its_folder_the_cache_and_the_hub(
    monkeypatch: pytest.MonkeyPatch, local: Configured, l4: Configured, tmp_path: Path
) -> None:
    hub = tmp_path / "hub"
    for name, value in {"HF_HUB_CACHE": str(hub), "HF_HUB_OFFLINE": False, "ENDPOINT": NOBODY}.items():
        monkeypatch.setattr(constants, name, value)
    assert only(run.check_model(local())).verdict == "ok"
    folder = Path(shutil.copytree(STAND_IN_FOLDER, tmp_path / "model"))
    template = "{% for m in messages if m.role != 'system' %}{{ m.content }}{{ eos_token }}{% endfor %}"
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    with pytest.raises(InputError, match="chat_template: it does not show the system text"):
        require_ready(local("policy.stand_in=false", f"policy.name={folder}"), "local")
    assert only(run.check_model(l4(f"policy.name={STAND_IN_FOLDER}"))).verdict == "ok"
    monkeypatch.chdir(tmp_path)
    real = load_config("real", [f"state.root={tmp_path / 'state'}"])
    assert "make real-model" in only(run.check_model(real)).remedy
    with pytest.raises(InputError, match="make real-model"):
        require_ready(real, "real")
    shop = l4("policy.name=shop/model")
    assert "does not answer" in only(run.check_model(shop)).found
    with answering({"/shop/model/resolve/main/config.json": (200, "{}")}) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        assert only(run.check_model(shop)).verdict == "ok"
        assert only(run.check_model(l4("policy.name=shop/other"))).verdict == "fault"
    snapshot = hub / "models--shop--model" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("1", encoding="utf-8")
    (snapshot / "model.safetensors").touch()
    assert only(run.check_model(shop)).found == "shop/model, downloaded already"
    assert only(run.check_model(l4("policy.name=./not/a/folder"))).verdict == "fault"


def test_files_that_are_not_there_are_named_with_their_setting(tmp_path: Path, local: Configured) -> None:
    assert only(run.check_files(local())).verdict == "ok"
    gone = local("synthesize.source=olist", f"synthesize.olist_dir={tmp_path / 'olist'}", f"monitor.logs={tmp_path}/l")
    assert {finding.found: finding.verdict for finding in run.check_files(gone)} == {
        f"synthesize.olist_dir {tmp_path}/olist is not there": "fault",
        f"monitor.logs {tmp_path}/l is not there": "warning",
    }
    (tmp_path / "olist").mkdir()
    (tmp_path / "l").touch()
    with pytest.raises(InputError, match=r"lacks olist_orders_dataset.csv.*tucano doctor --profile local$"):
        require_ready(gone, "local")
    for name in FILE_NAMES.values():
        (tmp_path / "olist" / name).write_text("header\n", encoding="utf-8")
    assert only(run.check_files(gone)).verdict == "ok"
