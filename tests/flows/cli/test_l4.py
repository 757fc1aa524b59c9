"""`tucano l4` as a person uses it: refusals, a dry run, and a job that is ended or goes on."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from flows.cli.l4 import _train
from flows.l4 import waiting
from flows.retrain import TRAINED_FROM
from flows.stages.runner import Results
from schemas.errors import GateRefused, InputError, Interrupted, TucanoError
from tests.flows.command import in_this_process
from tests.flows.l4.test_job import given, rented
from tests.small_pipeline import PROFILE

__all__ = ["given"]


@pytest.mark.parametrize(("error", "ends"), [(InputError("no"), 1), (GateRefused("no"), 1), (Interrupted("later"), 0)])
def test_only_an_interruption_leaves_the_job_at_work(
    error: TucanoError, ends: int, given: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Mock(until_done=Mock(side_effect=error))
    monkeypatch.setattr(waiting, "Waiting", lambda *_: wait)
    laptop = rented(tmp_path, places={"mirror": str(tmp_path / "mirror"), "artifacts": str(tmp_path / "shared")})
    service: Any = SimpleNamespace(folder=Path("/state"), interpreter=None)
    with pytest.raises(type(error)):
        _train(laptop, service, {name: given[role] for role, name in TRAINED_FROM.items()}, None, yes=True)
    assert wait.end.call_count == ends


def test_nothing_is_rented_for_a_training_without_a_step(given: Results, tmp_path: Path) -> None:
    laptop = rented(tmp_path, places={"mirror": str(tmp_path / "mirror"), "artifacts": str(tmp_path / "shared")})
    laptop = laptop.model_copy(update={"train": laptop.train.model_copy(update={"max_steps": 0})})
    with pytest.raises(InputError, match="nothing is rented"):
        _train(laptop, Mock(), {name: given[role] for role, name in TRAINED_FROM.items()}, None, yes=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--on", "vertex"], "state.mirror is not set, which a rented machine does not reach"),
        (
            ["--on", "this", "--set", "policy.stand_in=false", "--set", "policy.name=loja/modelo"],
            "policy.revision is not set",
        ),
        (["--on", "skypilot", "--bucket", "s3://loja"], "state.mirror is s3://loja/mirror, which a rented"),
        (["--on", "vertex", "--bucket", "gs://loja"], "no Google credentials are found for the bucket loja; run"),
    ],
)
def test_bad_input_is_one_sentence(
    options: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")
    ended = in_this_process("l4", "--profile", str(PROFILE), "--state", tmp_path / "state", *options)
    assert sentence in ended.refusal()
    assert not (tmp_path / "state").exists()


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    options = ["--bucket", "gs://loja/p", "--project", "shop", "--region", "europe-west1", "--json", "--dry-run"]
    options += ["--set", "state.mirror=gs://another/mirror"]
    for on, command in (("vertex", "POST https://europe-west1-aiplatform.googleapis.com/v1/projects/shop"),
                        ("skypilot", "sky jobs launch --yes --detach-run --name tucano-JOB"),
                        ("this", "-m flows.l4.work gs://loja/p/artifacts JOB")):  # fmt: skip
        ended = in_this_process("l4", "--profile", str(PROFILE), "--state", tmp_path / "state", "--on", on, *options)
        steps = "\n".join(ended.document()["steps"])
        assert command in steps
        # An option goes before the profile.
        assert ("gs://loja/p/mirror" in steps, "another" in steps) == (True, False)
    assert not (tmp_path / "state").exists()
