"""What another trainer made is a policy of ours: written, trained by plain TRL, adopted, gated; and what is refused."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.source import REPOSITORY
from schemas.tables.prompts import TRAIN_FILE, read_prompt_table
from tasks.lineage.store.artifacts import ArtifactStore
from tests.flows.command import in_this_process
from tests.small_base import save_base
from tests.small_pipeline import PROFILE, VERDICT_CODES, retrain, retrain_here
from tests.tasks.policy.test_adapters import save_adapter

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Path:
    """A state folder with prompts, a dataset and an audit that passed."""
    root = tmp_path_factory.mktemp("state")
    ended = retrain(root, stage="train", server=prefect_server)
    assert ended.returncode == 0, ended.stderr
    return root


def _artifact(root: Path, kind: str) -> Path:
    (found,) = (root / "artifacts" / kind).iterdir()
    return found


@pytest.fixture(scope="module")
def written(root: Path) -> Any:
    """The document of the package that is beside the state folder."""
    given = ("--profile", PROFILE, "--state", root, "--out", root.parent / "package", "--json")
    reference = _artifact(root, "policy").name[:12]
    return in_this_process("environment", "write", reference, "--engine", "verl", *given).document()


def _adopt(root: Path, folder: Path, sha256: str, server: str, by: str = "trl@1.15.0") -> Any:
    given = (str(folder), "--trained-by", by, "--environment", sha256)
    return retrain_here(root, *given, server=server, stage="adopt")


def test_an_adapter_by_plain_trl_is_adopted_and_gated(root: Path, written: Any, prefect_server: str) -> None:
    assert written["made_of"]["dataset"] == _artifact(root, "dataset").name
    trained, base = root.parent / "trained", _artifact(root, "base") / "content"
    command = [sys.executable, "-m", "tests.tasks.environment.plain_trl"]
    arguments = [str(root.parent / "package"), str(base), str(trained)]
    ended = subprocess.run([*command, *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-4_000:]
    found = _adopt(root, trained / "adapter", written["sha256"], prefect_server).document(*VERDICT_CODES)
    assert found["decision"]["verdict"] in {"hold", "promote"}
    store = ArtifactStore(root / "artifacts")
    policy = store.record(found["policy"])
    assert policy.inputs["environment"] == written["sha256"]
    assert policy.inputs["dataset"] == written["made_of"]["dataset"]
    summary = json.loads((store.path(policy.sha256) / "training.json").read_bytes())
    assert (summary["algorithm"], len(summary["validation"])) == ("trl@1.15.0", 2)
    walked = in_this_process("lineage", found["policy"], "--state", root, "--json").document()
    sides = {node["key"]: node["side"] for node in walked["nodes"]}
    assert sides[written["sha256"]] == sides[written["made_of"]["prompts"]] == "before"
    # It would go with a person of one of its prompts.
    person = read_prompt_table(store.path(policy.inputs["dataset"]) / TRAIN_FILE)["customer_id"].drop_nulls()[0]
    places = in_this_process("forget", person, "--profile", PROFILE, "--state", root, "--json").document()["places"]
    assert {written["sha256"], found["policy"]} <= {place["sha256"] for place in places}
    # Nothing is made again.
    again = _adopt(root, trained / "adapter", written["sha256"], prefect_server)
    assert again.document(*VERDICT_CODES)["policy"] == found["policy"]
    assert "nothing was made again" in again.stderr


def test_a_whole_model_is_adopted_and_answers_as_it_is(root: Path, written: Any, prefect_server: str) -> None:
    from peft import PeftModel

    from tasks.policy.load import load_base

    base = _artifact(root, "base") / "content"
    adapter = save_adapter(base, root.parent / "random", 5)
    merged: Any = PeftModel.from_pretrained(load_base(base, four_bit=False), adapter)
    merged.merge_and_unload().save_pretrained(root.parent / "whole")
    found = _adopt(root, root.parent / "whole", written["sha256"], prefect_server, "verl@0.9.0")
    document = found.document(*VERDICT_CODES)
    store = ArtifactStore(root / "artifacts")
    assert (store.path(document["policy"]) / "model" / "model.safetensors").is_file()
    (merged_from,) = [each for each in store.records("merged") if each.inputs["policy"] == document["policy"]]
    check = json.loads((store.path(merged_from.sha256) / "merge.json").read_bytes())
    assert check["tokens"] == check["tokens_same_as_written"] > 0
    exported = ("export", document["decision"]["version"], "--profile", PROFILE, "--state", root, "--format", "peft")
    refused = in_this_process(*exported, "--out", root.parent / "exported").refusal()
    assert "is a whole model, which has no adapter; export it in another format" in refused


def test_what_is_no_policy_of_this_base_and_package_is_refused(
    root: Path, written: Any, prefect_server: str, tmp_path: Path
) -> None:
    sha256, base = written["sha256"], _artifact(root, "base") / "content"
    adapter = save_adapter(base, tmp_path / "adapter", 3)
    refused = _adopt(root, tmp_path / "nothing", sha256, prefect_server).refusal()
    assert "is neither an adapter of PEFT nor a whole model: it has no config.json and no model.safetensors" in refused
    refused = _adopt(root, adapter, "f" * 64, prefect_server).refusal()
    assert f"has no artifact {'f' * 64}" in refused
    assert (
        "is no environment of this profile's dataset"
        in _adopt(root, adapter, base.parent.name, prefect_server).refusal()
    )
    assert "trained_by" in _adopt(root, adapter, sha256, prefect_server, "trl").refusal()
    other = save_base(tmp_path / "other")
    assert "is of another base" in _adopt(root, other, sha256, prefect_server).refusal()
    assert (
        "is of another base" in _adopt(root, save_adapter(other, tmp_path / "its", 3), sha256, prefect_server).refusal()
    )


def test_rewards_that_an_audit_refused_are_not_written(root: Path, tmp_path: Path) -> None:
    reference = _artifact(root, "dataset").name
    store, audit = ArtifactStore(root / "artifacts"), _artifact(root, "audit")
    known = json.loads((audit / "content" / "audit.json").read_bytes())
    with store.draft() as draft:
        changed = known | {"verdict": "refused", "reasons": ["push: rho .1"]}
        (draft / "audit.json").write_text(json.dumps(changed), encoding="utf-8")
        store.commit(draft, kind="audit", stage="audit", code_version="c", config_digest="d", inputs={})
    given = ("--profile", PROFILE, "--state", root, "--out", tmp_path / "package")
    refused = in_this_process("environment", "write", reference, *given).refusal(3)
    assert "it refused: push: rho .1" in refused
    assert not (tmp_path / "package").exists()
