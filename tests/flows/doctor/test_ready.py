"""What would end a run after minutes is one sentence before anything is started or made."""

from pathlib import Path

import pytest

from flows.doctor import libraries, machine, profile
from flows.doctor.finding import CheckOutcome, single
from flows.doctor.run import require_ready
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tasks.lineage.store.artifacts import ArtifactStore


def fine(_: Config) -> CheckOutcome:
    return CheckOutcome(())


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "check_gpu", fine)
    monkeypatch.setattr(libraries, "check_gpu_packages", fine)


def test_a_gpu_profile_without_a_gpu_is_refused_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    state = tmp_path / "state"
    with pytest.raises(InputError, match=r"profile l4 cannot run here: GPU: there is none.*; train on a machine with"):
        require_ready(load_config("l4", [f"state.root={state}"]), "l4")
    assert not state.exists()


def test_the_stand_in_runs_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    require_ready(load_config("local", [f"state.root={tmp_path / 'state'}"]), "local")


def test_inputs_that_are_missing_are_named_with_the_way_to_all_faults(tmp_path: Path) -> None:
    olist = ["synthesize.source=olist", f"synthesize.olist_dir={tmp_path}", f"state.root={tmp_path / 'state'}"]
    with pytest.raises(InputError, match=r"lacks olist_orders_dataset.csv.*tucano doctor --profile local$"):
        require_ready(load_config("local", olist), "local")


@pytest.mark.usefixtures("with_gpu")
def test_a_model_that_cannot_be_had_is_refused_unless_a_base_was_made_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "check_model", lambda _: single("model", "fault", "the hub is silent", "reach it"))
    config = load_config("l4", [f"state.root={tmp_path}"])
    with pytest.raises(InputError, match="model: the hub is silent; reach it"):
        require_ready(config, "l4")
    store = ArtifactStore(tmp_path / "artifacts")
    with store.draft() as draft:
        (draft / "config.json").write_text("{}", encoding="utf-8")
        store.commit(
            draft, kind="base", stage="base", code_version="c", config_digest="d", inputs={},
            config=config.model_dump(mode="json"),
        )  # fmt: skip
    require_ready(config, "l4")
    with pytest.raises(InputError, match="the hub is silent"):
        require_ready(load_config("l4", [f"state.root={tmp_path}", "policy.name=shop/other"]), "l4")
