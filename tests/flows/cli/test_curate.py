"""`tucano curate`: one dataset from a folder, a table or lines; a mistake is a sentence, exit code 2, no folder."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import psutil
import pytest

from tests.flows.command import Ended, in_this_process
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import independent_rows

pytestmark = pytest.mark.integration

SIZES = {"test_per_task": 3, "validation_per_task": 2, "held_out_share": 0.5}
SMALL = tuple(part for name, value in SIZES.items() for part in ("--set", f"curate.{name}={value}"))
MIX = "extraction=1,sql_qa=1,insights=1,push=1,sentiment=1,churn=1"
CPF = "529.982.247-25"
LINE = {"task": "churn", "prompt": "Vai voltar?", "reference": {"churn": True}, "customer_id": "c1"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    prompts = str(folder / "prompts")
    ended = in_this_process(
        "synthesize", "--count", "240", "--orders", "300", "--seed", "3", "--mix", MIX, "--out", prompts
    )
    assert ended.returncode == 0, ended.text
    ended = in_this_process("curate", prompts, "--out", folder / "out", *SMALL, "--json")
    assert ended.returncode == 0, ended.text
    (folder / "summary.json").write_text(ended.stdout, encoding="utf-8")
    return folder


def test_the_summary_is_one_document_on_stdout(made: Path) -> None:
    summary = json.loads((made / "summary.json").read_text(encoding="utf-8"))
    written = json.loads((made / "out" / "summary.json").read_text(encoding="utf-8"))
    assert {name: summary[name] for name in written} == written
    assert summary["out"] == str(made / "out")
    assert summary["seconds"] > 0
    assert sorted(path.name for path in made.iterdir()) == ["out", "prompts", "summary.json"]
    assert "Tucano2-Commerce" in (made / "out" / "README.md").read_text(encoding="utf-8")
    assert set(summary["tasks"]) == {part.split("=")[0] for part in MIX.split(",")}
    assert summary["train"] + summary["validation"] + summary["test"] + summary["quarantined"] == 240


def test_lines_of_a_shops_own_become_a_dataset_without_personal_data(tmp_path: Path) -> None:
    own = [{**LINE, "prompt": f"Pedidos: {number}. Vai voltar?", "customer_id": f"c{number}"} for number in range(80)]
    own += [{**LINE, "prompt": f"{CPF} pergunta: {number}?", "customer_id": f"d{number}"} for number in range(9)]
    own += [{**LINE, "prompt": "De quem?", "customer_id": CPF}, {**LINE, "reference": {"churn": True, CPF: [CPF]}}]
    own += [
        {**LINE, "prompt": f"{CPF} {'x' * 9000}"},
        {**LINE, "system": f"Fale com {CPF}.", "reference": {"churn": CPF}},
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, own)), encoding="utf-8")
    ended = in_this_process("curate", tmp_path / "own.jsonl", "--out", tmp_path / "out", *SMALL, "--json")
    assert ended.returncode == 0, ended.text
    summary = json.loads(ended.stdout)
    reasons = summary["reasons"]
    assert reasons["schema"] == reasons["personal id"] == reasons["too long"] == {"churn": 1}
    assert summary["scrubbed"]["CPF"] == 9 + 2 + 1 + 2
    assert "| own |" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "[CPF]" in ended.text
    _holds_no_cpf(tmp_path / "out", ended)


def _holds_no_cpf(dataset: Path, ended: Ended) -> None:
    tables = [pl.read_parquet(path).write_csv() for path in dataset.rglob("*.parquet")]
    texts = [path.read_text(encoding="utf-8") for path in dataset.iterdir() if path.suffix in {".md", ".json"}]
    for text in (*tables, *texts, ended.stdout, ended.text):
        assert "529.982" not in text
        assert "247-25" not in text
        assert "52998224725" not in text


def test_an_interruption_leaves_neither_files_nor_workers(tmp_path: Path) -> None:
    path = write_prompts(independent_rows(push=8_000), tmp_path / "prompts.parquet")
    settings = ["curate.shard_rows=1000", "curate.workers=2"]
    arguments = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, "-m", "flows", "curate", str(path), "--out", str(tmp_path / "made" / "out"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.rglob("kept-*.parquet")):
            assert process.poll() is None
            time.sleep(0.02)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate()
    assert process.returncode == 4, said
    assert out == ""
    (sentence,) = (line for line in said.strip().splitlines() if not line.startswith("curate: "))
    assert sentence.startswith("tucano: interrupted, and nothing ")
    assert list(tmp_path.rglob("*")) == [path]
    assert len(children) > 2
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
