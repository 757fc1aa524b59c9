"""The same job on real reviews, where the sample of Olist's data is at hand."""

from pathlib import Path

import pytest

from schemas.tables.prompts_summary import PromptsSummary
from tests.schemas.olist_sample import SAMPLE, needs_sample
from tests.small_pipeline import VERDICT_CODES, retrain_here


@pytest.mark.e2e
@needs_sample
def test_real_reviews_become_extraction_and_sentiment_prompts(tmp_path: Path, prefect_server: str) -> None:
    ended = retrain_here(
        tmp_path,
        *("--set", "synthesize.source=olist", "--set", f"synthesize.olist_dir={SAMPLE}"),
        *("--set", "train.max_steps=2", "--set", "warm_start.steps=2"),
        server=prefect_server,
    )
    assert ended.exit_code in VERDICT_CODES, ended.said
    prompts = Path(ended.document["stages"]["synthesize"]["path"])
    made = PromptsSummary.read(prompts).made
    assert made["extraction"] == 40
    assert made["sentiment"] == 32
    assert made["churn"] == 0
    assert set(ended.document["evaluation"]["tasks"]) == {"extraction", "sql_qa", "insights", "push", "sentiment"}
