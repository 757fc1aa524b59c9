"""`tucano curate`: one dataset from a folder, a table or lines; a mistake is a sentence, exit code 2, no folder."""

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import psutil
import pyarrow.parquet as pq
import pytest

from schemas.tables.prompts import read_prompts
from tests.flows.command import Ended, in_a_process, in_this_process
from tests.prompt_tables import prompt_table, write_prompts
from tests.tasks.curate.prompt_rows import independent_rows, prompt_row

pytestmark = pytest.mark.integration

SIZES = {"test_per_task": 3, "validation_per_task": 2, "held_out_share": 0.5}
SMALL = tuple(part for name, value in SIZES.items() for part in ("--set", f"curate.{name}={value}"))
SPLITS = ("train", "validation", "test")
MIX = "extraction=1,sql_qa=1,insights=1,push=1,sentiment=1,churn=1"
CPF = "529.982.247-25"
LINE = {"task": "churn", "prompt": "Vai voltar?", "reference": {"churn": True}, "customer_id": "c1"}


def refused(folder: Path, prompts: Path, *arguments: str, run: Callable[..., Ended] = in_this_process) -> str:
    """Run a command that must refuse, and return its one sentence."""
    before = sorted(folder.rglob("*"))
    ended = run("curate", prompts, "--out", folder / "made" / "out", *SMALL, *arguments, "--json")
    assert ended.returncode == 2, ended.text
    assert ended.stdout == ""
    assert sorted(folder.rglob("*")) == before
    # On a busy machine a line of progress may stand before it.
    sentence = ended.stderr.strip().splitlines()[-1]
    assert sentence.startswith("tucano: ")
    return sentence


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    prompts = str(folder / "prompts")
    ended = in_this_process(
        "synthesize", "--count", "240", "--orders", "300", "--seed", "3", "--mix", MIX, "--out", prompts
    )
    assert ended.returncode == 0, ended.text
    ended = in_a_process("curate", prompts, "--out", folder / "out", *SMALL, "--json")
    assert ended.returncode == 0, ended.text
    (folder / "summary.json").write_text(ended.stdout, encoding="utf-8")
    return folder


def test_a_folder_of_synthesis_becomes_a_dataset(made: Path) -> None:
    tables = (f"data/{split}.parquet" for split in sorted(["general", *SPLITS]))
    assert sorted(contents(made / "out")) == ["README.md", *tables, "quarantine.parquet", "summary.json"]
    assert "Tucano2-Commerce general demonstrations" in (made / "out" / "README.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in made.iterdir()) == ["out", "prompts", "summary.json"]
    tasks = [row.task for row in read_prompts(made / "out" / "data" / "test.parquet")]
    assert {task: tasks.count(task) for task in tasks} == dict.fromkeys(
        (part.split("=")[0] for part in MIX.split(",")), 3
    )


def test_the_summary_is_one_document_on_stdout(made: Path) -> None:
    summary = json.loads((made / "summary.json").read_text(encoding="utf-8"))
    written = json.loads((made / "out" / "summary.json").read_text(encoding="utf-8"))
    assert {name: summary[name] for name in written} == written
    assert summary["out"] == str(made / "out")
    assert summary["seconds"] > 0
    assert summary["train"] + summary["validation"] + summary["test"] + summary["quarantined"] == 240


def test_the_card_tells_the_rows_the_sources_and_the_files(made: Path) -> None:
    summary = json.loads((made / "summary.json").read_text(encoding="utf-8"))
    card = (made / "out" / "README.md").read_text(encoding="utf-8")
    assert f"| all | {summary['train']} | 12 | 18 |" in card
    assert "| simulated |" in card
    for split in SPLITS:
        digest = hashlib.sha256((made / "out" / "data" / f"{split}.parquet").read_bytes()).hexdigest()
        assert f"| data/{split}.parquet | {digest} |" in card


def test_the_same_bytes_from_the_table_itself_and_with_other_workers(made: Path, tmp_path: Path) -> None:
    table = made / "prompts" / "prompts.parquet"
    ended = in_this_process("curate", table, "--out", tmp_path / "out", *SMALL, "--set", "curate.workers=1")
    assert ended.returncode == 0, ended.text
    assert "in quarantine" in ended.stdout
    assert contents(tmp_path / "out") == contents(made / "out")


def _spoil(path: Path, column: str) -> None:
    group = pq.ParquetFile(path).metadata.row_group(0)
    (chunk,) = (part for part in map(group.column, range(group.num_columns)) if part.path_in_schema == column)
    start, size = chunk.dictionary_page_offset or chunk.data_page_offset, chunk.total_compressed_size
    content = bytearray(path.read_bytes())
    content[start : start + size] = b"\xff" * size
    path.write_bytes(content)


def test_lines_of_a_shops_own_become_a_dataset_without_personal_data(tmp_path: Path) -> None:
    own = [{**LINE, "prompt": f"Pedidos: {number}. Vai voltar?", "customer_id": f"c{number}"} for number in range(80)]
    own += [{**LINE, "prompt": f"{CPF} pergunta: {number}?", "customer_id": f"d{number}"} for number in range(9)]
    own += [{**LINE, "prompt": "De quem?", "customer_id": CPF}, {**LINE, "reference": {"churn": True, CPF: [CPF]}}]
    own += [
        {**LINE, "prompt": f"{CPF} {'x' * 9000}"},
        {**LINE, "system": f"Fale com {CPF}.", "reference": {"churn": CPF}},
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, own)), encoding="utf-8")
    ended = in_a_process("curate", tmp_path / "own.jsonl", "--out", tmp_path / "out", *SMALL, "--json")
    assert ended.returncode == 0, ended.text
    summary = json.loads(ended.stdout)
    assert (
        summary["reasons"]["schema"]
        == summary["reasons"]["personal id"]
        == summary["reasons"]["too long"]
        == {"churn": 1}
    )
    assert summary["scrubbed"]["CPF"] == 9 + 2 + 1 + 2
    assert "| own |" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "[CPF]" in ended.text
    _holds_no_cpf(tmp_path / "out", ended)


def test_a_broken_row_is_kept_out_with_its_reason_and_without_personal_data(tmp_path: Path) -> None:
    good = list(independent_rows(churn=60))
    columns = ("prompt_id", "system", "source", "parent_id", "customer_id")
    broken = prompt_table(prompt_row("churn", f"De {CPF}? {column}") for column in columns)
    # Each holds the number in its prompt, whose id was not made again, and in a column where none may be.
    broken = broken.with_columns(prompt=pl.format("{}!", "prompt")).with_row_index()
    broken = broken.with_columns(
        pl.when(pl.col("index") == place).then(pl.lit(CPF)).otherwise(column).alias(column)
        for place, column in enumerate(columns)
    )
    path = _table(pl.concat([prompt_table(good), broken.drop("index")]))(tmp_path)
    ended = in_this_process("curate", path, "--out", tmp_path / "out", *SMALL, "--json")
    assert ended.returncode == 0, ended.text
    quarantine = pl.read_parquet(tmp_path / "out" / "quarantine.parquet").filter(reason="schema")
    assert quarantine["row"].to_list() == [61, 62, 63, 64, 65]
    assert not set(quarantine["prompt_id"]) & set(broken["prompt_id"])
    _holds_no_cpf(tmp_path / "out", ended)


def _holds_no_cpf(dataset: Path, ended: Ended) -> None:
    tables = [pl.read_parquet(path).write_csv() for path in dataset.rglob("*.parquet")]
    texts = [path.read_text(encoding="utf-8") for path in dataset.iterdir() if path.suffix in {".md", ".json"}]
    for text in (*tables, *texts, ended.stdout, ended.text):
        assert "529.982" not in text
        assert "247-25" not in text
        assert "52998224725" not in text


def _bytes(content: bytes, name: str = "own.jsonl") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def _table(table: pl.DataFrame) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        table.write_parquet(folder / "own.parquet")
        return folder / "own.parquet"

    return write


GOOD = prompt_table(independent_rows(push=60))
ONE, TWO = independent_rows(push=2)
LATIN = json.dumps({**LINE, "prompt": "Não?"}, ensure_ascii=False).encode("latin-1")
SECRET_KEY = json.dumps({**LINE, CPF: 1, "prompt": CPF}).encode()
SECRET_ID = json.dumps({**LINE, "prompt_id": [CPF]}).encode()


@pytest.mark.parametrize(
    ("prompts", "sentence"),
    [
        (lambda folder: folder / "absent.parquet", "absent.parquet does not exist; make it with `tucano synthesize`"),
        (_bytes(b""), "own.jsonl is empty"),
        (_table(GOOD.head(0)), "own.parquet has no prompts"),
        (_table(GOOD.drop("task")), "own.parquet has the columns prompt_id String, system String"),
        (_table(GOOD.with_columns(order_id=pl.lit(3))), "order_id Int32"),
        (_bytes(json.dumps(LINE).encode() + b"\n" + LATIN), "line 2: byte 31 is not UTF-8"),
        (
            _bytes(SECRET_KEY),
            "line 1: (a key) is no key of it; the keys are task, prompt, reference, system, source, customer_id",
        ),
        (_bytes(SECRET_ID), "line 1: prompt_id: Input should be a valid string"),
        (_table(prompt_table([ONE, replace(TWO, prompt_id=ONE.prompt_id)])), "name different prompts each (rows 1, 2)"),
        (_table(prompt_table(independent_rows(push=60, churn=4))), "too few prompts are held out"),
        (_table(GOOD.with_columns(source=pl.lit(CPF))), "not one of 60 prompts can be used (schema 60): row 1: source"),
        (
            _table(prompt_table(prompt_row("push", f"{number} {CPF} {'x' * 9000}") for number in range(7))),
            "not one of 7 prompts can be used (too long 7): row 1: ",
        ),
    ],
)
def test_prompts_that_cannot_be_used_are_named(tmp_path: Path, prompts: Callable[[Path], Path], sentence: str) -> None:
    said = refused(tmp_path, prompts(tmp_path))
    assert sentence in said
    assert "247-25" not in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--set", "curate.dask_address=tcp://127.0.0.1:9"], "Dask was removed; leave curate.dask_address out"),
        (
            ["--set", 'curate.general={path="absent.jsonl", share=0.2, name="Instruções", licence="CC BY 4.0"}'],
            "curate.general.path absent.jsonl is no file; correct it",
        ),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in refused(tmp_path, _table(GOOD)(tmp_path), *arguments)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "made" / "out").mkdir(parents=True)
    (tmp_path / "made" / "out" / "mine").touch()
    assert "no empty folder" in refused(tmp_path, _table(GOOD)(tmp_path))


def test_neither_prefect_nor_torch_is_loaded(tmp_path: Path) -> None:
    arguments = ["curate", str(_table(GOOD)(tmp_path)), "--out", str(tmp_path / "out"), *SMALL]
    program = (
        f"import sys; from flows.cli.tucano import app; app({arguments!r}, standalone_mode=False);"
        "print([name for name in ('prefect', 'torch', 'mlflow', 'transformers', 'distributed') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.endswith("\n[]\n")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_neither_files_nor_workers(tmp_path: Path, ending: signal.Signals) -> None:
    path = write_prompts(independent_rows(push=20_000), tmp_path / "prompts.parquet")
    settings = ["curate.shard_rows=1000", "curate.workers=2"]
    arguments = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, "-m", "flows", "curate", str(path), "--out", str(tmp_path / "made" / "out"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.rglob("kept-*.parquet")):
            assert process.poll() is None
            time.sleep(0.02)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(ending)
        out, said = process.communicate()
    assert process.returncode == 4, said
    assert out == ""
    (sentence,) = (line for line in said.strip().splitlines() if not line.startswith("curate: "))
    assert sentence.startswith("tucano: interrupted, and nothing ")
    assert list(tmp_path.rglob("*")) == [path]
    assert len(children) > 2
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
