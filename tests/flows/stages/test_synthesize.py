"""The synthesize flow's edges: what makes it run again, and what its page shows."""

import json
from pathlib import Path

from flows.stages.synthesize import _figures, _key_inputs
from schemas.config.config import SynthesizeConfig
from schemas.tables.prompts_summary import ParaphraseCounts
from tests.summaries import PROMPTS_SUMMARY

ENDPOINT = {"url": "http://127.0.0.1:8000/v1", "model": "tucano"}


def decides(served: Path | None = None, **values: object) -> str:
    config = SynthesizeConfig.model_validate({"counts": {"push": 3}, **values})
    return json.dumps(_key_inputs(config, served, None), sort_keys=True)


def test_how_an_endpoint_is_reached_makes_nothing_again() -> None:
    ways = {"key_variable": "SHOP_KEY", "concurrency": 9, "timeout_seconds": 3.0, "max_attempts": 1}
    assert decides(paraphrase=ENDPOINT) == decides(paraphrase={**ENDPOINT, **ways})


def test_what_the_model_is_and_is_asked_does() -> None:
    others = ({"model": "other"}, {"share": 0.5}, {"variants": 2}, {"temperature": 0.1}, {"max_asks": 1})
    made = {decides(), decides(paraphrase=ENDPOINT), *(decides(paraphrase={**ENDPOINT, **other}) for other in others)}
    assert len(made) == 2 + len(others)


def test_olists_files_decide_and_their_folder_does_not(tmp_path: Path) -> None:
    for name, content in (("one", "a"), ("same", "a"), ("other", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "olist_orders_dataset.csv").write_text(content)
    one, same, other = (decides(source="olist", olist_dir=tmp_path / name) for name in ("one", "same", "other"))
    assert one == same != other


def test_the_prompts_of_logs_decide_and_the_folder_of_the_logs_does_not(tmp_path: Path) -> None:
    table = tmp_path / "served.parquet"
    table.write_bytes(b"one")
    one, same = (decides(table, logs=tmp_path / folder) for folder in ("logs", "elsewhere"))
    table.write_bytes(b"other")
    assert one == same != decides(table, logs=tmp_path / "logs")


def test_the_page_tells_counts_paraphrases_and_warnings(tmp_path: Path) -> None:
    paraphrases = ParaphraseCounts(made={"push": 2}, dropped={}, refused_answers={}, failure=None)
    PROMPTS_SUMMARY.model_copy(update={"paraphrases": paraphrases}).write(tmp_path)
    assert _figures(tmp_path) == {
        "prompts push": 3,
        "prompts churn": 0,
        "paraphrases push": 2,
        "warning 1": "fewer than 500 prompts of push (3)",
    }
