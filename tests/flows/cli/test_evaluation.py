"""`tucano compare` of an evaluation's files says what the evaluation said, and else names what is not examined."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from schemas.config.evaluate import EvaluateConfig
from schemas.config.report import Language
from tasks.evaluate.compare import REPORT_FILE
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.report.language import spoken
from tests.flows.command import Ended, in_this_process
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.evaluate.test_stage import UNLIMITED, follow, run

pytestmark = pytest.mark.slow

TRAINING = [prompt_row("sentiment", f"Avaliação antiga {number}") for number in range(20)]
STRICT = EvaluateConfig(
    resamples=1000, margin=0.1, floors={"sentiment": {"macro_f1": 0.2}}, min_variety=0.1, general="require"
)
SCENARIOS: Mapping[str, dict[str, Any]] = {
    "held for a constant": {"tuned": {1: 12}, "chosen": 1, "training": TRAINING},
    "all that is examined": {
        "tuned": {42: 9, 123: 12},
        "chosen": 123,
        "base": 3,
        "champion": 7,
        "config": STRICT,
        "training": TRAINING,
        "rung": 6,
        "over_rungs": "require",
    },
}


def evaluated(folder: Path, language: Language = "en", **scenario: Any) -> Path:
    """Evaluate a small model, commit the artifact as the stage does, and return its files."""
    config = scenario.setdefault("config", UNLIMITED)
    if config.general != "off":
        for name in ("base", *(f"tuned-{seed}" for seed in scenario["tuned"])):
            follow(folder / name, 2 if name == "base" else 3)
    with spoken(language):
        run(folder, **scenario)
    store = ArtifactStore(folder / "artifacts")
    with store.draft() as draft:
        shutil.copytree(folder / "evaluation", draft, dirs_exist_ok=True)
        settings = {
            "seed": 99,
            "evaluate": config.model_dump(mode="json"),
            "promote": {"over_rungs": scenario.get("over_rungs", "report")},
            "report": {"language": language},
        }
        record = store.commit(
            draft, kind="evaluation", stage="evaluate", code_version="c", config_digest="d", inputs={}, config=settings
        )
    return store.path(record.sha256)


def compared(folder: Path, *more: str, files: tuple[str, str] = ("base", "tuned")) -> tuple[Ended, Any]:
    ended = in_this_process("compare", *(folder / f"{name}.scores.jsonl" for name in files), "--json", *more)
    return ended, json.loads(ended.stdout)


@pytest.mark.parametrize(("scenario", "language"), zip(SCENARIOS, ("en", "pt"), strict=True))
def test_an_evaluations_files_get_its_figures_verdicts_and_reasons(
    scenario: str, language: Language, tmp_path: Path
) -> None:
    """Scores alone promoted what the evaluation held for a constant, a floor or the champion."""
    folder = evaluated(tmp_path, language, **SCENARIOS[scenario])
    ended, found = compared(folder)
    report = json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))
    assert found == {name: report[name] for name in found}
    assert ended.returncode == (0 if report["gate"]["verdict"] == "promote" else 3), ended.text


def test_what_is_not_examined_is_said_of_copies_and_of_other_files_of_an_evaluation(tmp_path: Path) -> None:
    folder = evaluated(tmp_path, **SCENARIOS["all that is examined"])
    other, _ = compared(folder, files=("base", "champion"))
    assert "not examined, for the evaluation has them for base.scores.jsonl and tuned.scores.jsonl alone" in other.text
    copies, found = compared(Path(shutil.copytree(folder, tmp_path / "copies")))
    assert "not examined, for the files are of no evaluation's artifact: floors, baselines" in copies.stderr
    assert found["claims"] == {}
