from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config.config import SynthesizeConfig
from schemas.errors import InputError
from schemas.progress import silent
from schemas.store.files import read_store
from schemas.tables.prompts import read_prompt_table, read_prompts
from schemas.tables.summaries import PromptsSummary
from schemas.tasks import TASK_NAMES
from tasks.curate.quarantine import drop_schema_failures
from tasks.synthesize import stage
from tasks.synthesize.own.opened import open_own_files
from tasks.synthesize.stage import read_mix, split_count
from tests.schemas.olist_sample import SAMPLE, needs_sample
from tests.tasks.synthesize.own.task_inputs import INPUTS

COUNTS = {"extraction": 12, "sql_qa": 9, "insights": 8, "push": 7, "sentiment": 6, "churn": 5}


def synthesize(output: Path, seed: int = 5, **config: object) -> Path:
    output.mkdir()
    settings = SynthesizeConfig.model_validate({"orders": 150, "counts": COUNTS, **config})
    stage.run(settings, seed, output, silent)
    return output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthesize(tmp_path_factory.mktemp("made") / "prompts")


def test_every_prompt_fits_the_schema_and_none_is_there_twice(made: Path) -> None:
    table = read_prompt_table(made / "prompts.parquet")
    kept, broken = drop_schema_failures(table)
    assert broken["detail"].to_list() == []
    assert kept.select("task", "prompt").n_unique() == table.height == sum(COUNTS.values())


def test_one_tasks_count_moves_no_other_task(made: Path, tmp_path: Path) -> None:
    fewer = read_prompts(synthesize(tmp_path / "fewer", counts={**COUNTS, "extraction": 3}) / "prompts.parquet")
    all_rows = read_prompts(made / "prompts.parquet")
    for task in set(TASK_NAMES) - {"extraction"}:
        assert [row for row in fewer if row.task == task] == [row for row in all_rows if row.task == task]


def test_a_task_too_small_to_be_learnt_is_reported_and_is_no_error(tmp_path: Path) -> None:
    counts = {"push": 20, "insights": 19, "sql_qa": 0}
    output = synthesize(tmp_path / "small", counts=counts, minority_floor=20)
    summary = PromptsSummary.read(output)
    assert summary.minorities == {"insights": 19}
    (warning,) = summary.warnings
    assert "fewer than 20 prompts of insights (19)" in warning
    assert "learned nothing from about 150" in warning
    none = PromptsSummary.read(synthesize(tmp_path / "none", counts=counts, minority_floor=19))
    assert none.warnings == []


@needs_sample
def test_real_reviews_become_prompts(tmp_path: Path) -> None:
    output = synthesize(tmp_path / "real", source="olist", olist_dir=SAMPLE)
    rows = read_prompts(output / "prompts.parquet")
    assert Counter(row.task for row in rows) == {task: count for task, count in COUNTS.items() if task != "churn"}
    reviews = read_store(SAMPLE).reviews
    scores: dict[str | None, int] = dict(zip(reviews["review_id"], reviews["review_score"], strict=True))
    for row in rows:
        assert row.source == "olist"
        if row.task == "extraction":
            assert row.reference["rating"] == scores[row.review_id]
    assert not (output / "store" / "review_causes.csv").exists()


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


def synthesize_files(folder: Path, toml: str = MAP, **config: object) -> PromptsSummary:
    (folder / "notas.jsonl").write_text(REVIEWS, encoding="utf-8")
    (folder / "map.toml").write_text(toml, encoding="utf-8")
    values = {"source": "files", "files": folder / "map.toml", **config}
    own = open_own_files(folder / "map.toml", lambda: bytes(32), INPUTS)
    (folder / "out").mkdir(exist_ok=True)
    settings = SynthesizeConfig.model_validate(values)
    return stage.run(settings, 3, folder / "out", silent, own=own)


def test_a_task_of_which_the_files_have_nothing_is_named(tmp_path: Path) -> None:
    summary = synthesize_files(tmp_path, counts={"sentiment": 9, "push": 5})
    assert summary.origins["sentiment"] == {"files": 3}
    assert summary.origins["push"] == {}
    assert any("the files have nothing of push: map" in warning for warning in summary.warnings)
    assert {row.source for row in read_prompts(tmp_path / "out" / "prompts.parquet")} == {"files"}


def test_settings_that_contradict_each_other_are_refused() -> None:
    for values in ({"source": "files"}, {"files": "map.toml"}):
        with pytest.raises(ValueError, match="a column map belongs to source"):
            SynthesizeConfig.model_validate({"counts": {"push": 1}, **values})


@given(
    st.integers(0, 10**9),
    st.dictionaries(st.sampled_from(TASK_NAMES), st.integers(0, 1000).map(Fraction), min_size=1).filter(
        lambda weights: any(weights.values())
    ),
)
def test_the_parts_sum_up_and_are_within_one_of_their_share(count: int, weights: dict[str, Fraction]) -> None:
    parts = split_count(count, weights)  # type: ignore[arg-type]
    assert sum(parts.values()) == count
    for task, part in parts.items():
        assert abs(part - count * weights[task] / sum(weights.values())) < 1
        assert part == 0 or weights[task] > 0


@pytest.mark.parametrize("text", ["poesia=1", "push", "push=-1", "push=1,push=2", "push=0", "push=1e9", "push=nan"])
def test_a_text_that_is_no_mix_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--mix"):
        read_mix(text)
