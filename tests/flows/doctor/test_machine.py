"""What this machine has is compared with what the profile needs."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock

from flows.doctor import libraries, machine
from flows.doctor.finding import CheckOutcome, Finding
from flows.doctor.libraries import check_libraries, check_python, check_trainer
from flows.doctor.machine import check_disk, check_gpu, check_state, check_torch
from flows.runtime.session import LOCK_FILE
from schemas.config.config import Config
from schemas.config.profiles import load_config

REMOTE = [
    "workers.training=training/train",
    "state.artifacts=gs://shop/artifacts",
    "state.mirror=gs://shop/mirror",
    "state.mlflow=http://mlflow:5000",
]


@pytest.fixture
def local(tmp_path: Path) -> Config:
    return load_config("local", [f"state.root={tmp_path / 'state'}"])


@pytest.fixture
def l4(tmp_path: Path) -> Config:
    return load_config("l4", [f"state.root={tmp_path / 'state'}"])


def only(outcome: CheckOutcome) -> Finding:
    (finding,) = outcome.findings
    return finding


def install_nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_cards_are_named_with_memory_and_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Config) -> None:
    install_nvidia_smi(tmp_path, monkeypatch, "echo 'NVIDIA L4, 23034, 580.82.07'; echo 'A, B, [N/A], 570'")
    assert only(check_gpu(local)).found == "NVIDIA L4, 22.5 GiB, driver 580.82.07; A, B, memory unknown, driver 570"


def test_fewer_cards_than_processes_are_a_fault_where_the_training_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_nvidia_smi(tmp_path, monkeypatch, "echo 'NVIDIA L4, 23034, 580.82.07'")
    two = ["train.backend=transformers", "train.processes=2"]
    found = only(check_gpu(load_config("l4", two)))
    assert (found.verdict, found.remedy) == (
        "fault",
        "set train.processes=1, or train where there are as many GPUs",
    )
    assert only(check_gpu(load_config("l4", [*two, *REMOTE]))).verdict == "ok"


def test_a_driver_that_fails_is_reported_by_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Config, l4: Config
) -> None:
    install_nvidia_smi(tmp_path, monkeypatch, "echo 'Failed to initialize NVML: Driver/library mismatch'; exit 18")
    assert "Driver/library mismatch" in only(check_gpu(l4)).found
    assert (only(check_gpu(local)).verdict, only(check_gpu(l4)).verdict) == ("warning", "fault")


def test_no_gpu_is_fine_for_the_stand_in_and_not_for_unsloth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Config, l4: Config
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert only(check_gpu(local)).verdict == "ok"
    assert only(check_gpu(l4)).verdict == "fault"
    assert only(check_gpu(load_config("l4", ["train.backend=transformers"]))).verdict == "warning"
    assert only(check_gpu(load_config("l4", REMOTE))).verdict == "ok"


def test_a_torch_that_cannot_compute_is_reported(monkeypatch: pytest.MonkeyPatch, local: Config) -> None:
    monkeypatch.setattr(machine, "_USE_TORCH", "assert False, 'torch 2 finds no GPU that it can use'")
    assert only(check_torch(local)).found == "torch 2 finds no GPU that it can use"
    assert only(check_torch(local)).verdict == "warning"
    monkeypatch.setattr(machine, "_USE_TORCH", "print('torch 2 computes on NVIDIA L4')")
    assert only(check_torch(local)) == Finding("torch", "ok", "torch 2 computes on NVIDIA L4")


def test_a_disk_is_compared_with_what_a_run_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Config, l4: Config
) -> None:
    monkeypatch.setattr(machine, "BYTES_NEEDED", 0)
    monkeypatch.setattr(machine, "BYTES_FOR_A_MODEL", 10**18)
    assert (only(check_disk(local)).verdict, only(check_disk(l4)).verdict) == ("ok", "warning")
    monkeypatch.setattr(machine, "BYTES_NEEDED", 10**18)
    assert only(check_disk(local)).verdict == "fault"
    assert list(tmp_path.iterdir()) == []


def test_a_larger_model_needs_more_of_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=20e9))
    root = f"state.root={tmp_path}"
    assert only(check_disk(load_config("l4", [root]))).verdict == "ok"
    larger = only(check_disk(load_config("l4-3.7b", [root])))
    assert larger.verdict == "warning"
    assert "takes some 38" in larger.found


def test_a_state_folder_that_another_run_holds_is_reported(local: Config) -> None:
    root = local.state.root
    root.mkdir()
    assert only(check_state(local)).verdict == "ok"
    assert list(root.iterdir()) == []
    with FileLock(root / LOCK_FILE):
        held = only(check_state(local))
    assert (held.verdict, held.remedy) == ("warning", "wait for its end, or use --set state.root=FOLDER")
    assert only(check_state(local)).verdict == "ok"


def test_a_forgetting_that_was_interrupted_is_reported(local: Config) -> None:
    journal = local.state.root / "forgetting" / "subject.json"
    journal.parent.mkdir(parents=True)
    journal.write_text("{", encoding="utf-8")
    finding = only(check_state(local))
    assert finding.verdict == "warning"
    assert str(journal) in finding.found
    assert "tucano forget ID --apply" in finding.remedy


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs a folder that nobody may write")
def test_a_state_folder_that_cannot_be_made_is_a_fault() -> None:
    finding = only(check_state(load_config("local", ["state.root=/proc/tucano"])))
    assert finding.verdict == "fault"
    assert finding.found.startswith("/proc cannot be written")


def test_a_state_folder_below_a_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert only(check_state(load_config("local", [f"state.root={tmp_path / 'file' / 'state'}"]))).verdict == "fault"


def test_this_python_and_its_libraries_are_as_needed(local: Config) -> None:
    assert only(check_python(local)).verdict == "ok"
    assert only(check_libraries(local)).verdict != "fault"


def test_packages_that_differ_from_the_constraints_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Config
) -> None:
    monkeypatch.setattr(libraries, "LAPTOP", tmp_path / "laptop.txt")
    (tmp_path / "laptop.txt").write_text("# pinned\nrich==0.1\nnever-heard-of==1.0\n", encoding="utf-8")
    finding = only(check_libraries(local))
    assert finding.verdict == "warning"
    assert "rich" in finding.found
    assert "pinned ==0.1" in finding.found
    assert "never-heard-of" not in finding.found
    assert finding.remedy == "run `make setup`"


def test_a_missing_requirement_is_a_fault(monkeypatch: pytest.MonkeyPatch, local: Config) -> None:
    needed = {"requires-python": ">=99", "dependencies": ["never-heard-of>=1", "rich>=99", "x>1; python_version<'3'"]}
    monkeypatch.setattr(libraries, "_project", lambda: needed)
    finding = only(check_libraries(local))
    assert finding.verdict == "fault"
    assert finding.found.startswith("never-heard-of is not installed; rich is ")
    assert "x" not in finding.found.replace("rich", "").split()
    assert only(check_python(local)).verdict == "fault"


def test_the_trainers_environment_is_asked_by_its_own_python(tmp_path: Path, l4: Config) -> None:
    lacking = load_config("l4", [f"train.interpreter={sys.executable}"])
    findings = check_trainer(lacking).findings
    assert [finding.verdict for finding in findings] == ["fault", "fault"]
    assert "unsloth is not installed" in findings[0].found
    assert only(check_trainer(l4)).verdict == "ok"
    (tmp_path / "python").write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    for name in ("none", "python"):
        finding = only(check_trainer(load_config("l4", [f"train.interpreter={tmp_path / name}"])))
        assert finding.verdict == "fault"
        assert "does not run as a Python" in finding.found


def test_a_machine_that_hands_training_over_needs_nothing_to_train(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config("l4", [*REMOTE, "train.interpreter=/nowhere/python"])
    assert only(check_trainer(config)).verdict == "ok"
    assert [finding.check for finding in check_libraries(config).findings] == ["libraries"]


def test_the_build_of_torch_for_a_gpu_is_asked_for(l4: Config) -> None:
    lacking = libraries._gpu_packages(l4, {"torch": "2.13.0+cpu", "unsloth": "1"})
    assert [finding.found for finding in lacking] == ["torch 2.13.0+cpu is the build without GPU"]
    assert libraries._gpu_packages(l4, {"torch": "2.13.0+cu128", "unsloth": "1"}) == []
