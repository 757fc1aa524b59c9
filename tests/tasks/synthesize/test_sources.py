"""Prompts of a shop's own files, end to end in the stage: what is simulated, what is told, and by which reference."""

from pathlib import Path

import pytest

from schemas.config.config import SynthesizeConfig
from schemas.progress import silent
from schemas.tables.prompts import read_prompts
from schemas.tables.summaries import PromptsSummary
from tasks.synthesize import stage
from tasks.synthesize.own.opened import open_own_files
from tests.tasks.synthesize.own.task_inputs import INPUTS

REVIEWS = '{"texto": "Chegou quebrado", "nota": 1}\n{"texto": "Adorei", "nota": 5}\n{"texto": "Sem nota"}\n'
MAP = """
[[prompts]]
path = "notas.jsonl"
task = "sentiment"
[prompts.columns]
review = "texto"
[prompts.reference]
score = "nota"
"""


def synthesize(folder: Path, toml: str = MAP, **config: object) -> PromptsSummary:
    (folder / "notas.jsonl").write_text(REVIEWS, encoding="utf-8")
    (folder / "map.toml").write_text(toml, encoding="utf-8")
    values = {"source": "files", "files": folder / "map.toml", **config}
    own = open_own_files(folder / "map.toml", lambda: bytes(32), INPUTS)
    (folder / "out").mkdir(exist_ok=True)
    settings = SynthesizeConfig.model_validate(values)
    return stage.run(settings, 3, folder / "out", silent, own=own)


def test_a_task_of_which_the_files_have_nothing_is_named(tmp_path: Path) -> None:
    summary = synthesize(tmp_path, counts={"sentiment": 9, "push": 5})
    assert summary.origins["sentiment"] == {"files": 3}
    assert summary.origins["push"] == {}
    assert any("the files have nothing of push: map" in warning for warning in summary.warnings)
    assert {row.source for row in read_prompts(tmp_path / "out" / "prompts.parquet")} == {"files"}


def test_settings_that_contradict_each_other_are_refused() -> None:
    for values in ({"source": "files"}, {"files": "map.toml"}):
        with pytest.raises(ValueError, match="a column map belongs to source"):
            SynthesizeConfig.model_validate({"counts": {"push": 1}, **values})
