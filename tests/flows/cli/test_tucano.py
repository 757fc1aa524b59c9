"""The command: a user's mistake is one sentence on stderr and exit code 2, and never a traceback."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

SMALL = Path(__file__).parents[2] / "e2e" / "small.toml"


def _tucano(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "flows", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _says(ended: "subprocess.CompletedProcess[str]", sentence: str) -> None:
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("tucano: ")
    assert sentence in last


def test_the_version_and_quiet_are_options_of_the_whole(tmp_path: Path) -> None:
    assert _tucano("--version").stdout.startswith("tucano ")
    rollouts = tmp_path / "rollouts.jsonl"
    completion = '{"polarity": "positive", "score": 5}'
    row = {"prompt_id": "a" * 64, "task": "sentiment", "prompt": "Oi", "completion": completion, "reference": None}
    rollouts.write_text(json.dumps(row), encoding="utf-8")
    score = ("score", str(rollouts))
    said, before, after = (_tucano(*words).stderr for words in (score, ("--quiet", *score), (*score, "--quiet")))
    assert "1 rollouts" in before
    assert set(before.splitlines()) <= set(said.splitlines())
    assert after == before


def test_help_lists_the_commands() -> None:
    assert "retrain" in _tucano("--help").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--profile", "nowhere"], "there is no profile 'nowhere'"),
        (["--set", "train.steps=1"], "train.steps: unknown key"),
        (["--set", "seed=one"], "seed: must be a valid integer, unable to parse string as an integer (it is 'one')"),
    ],
)
def test_a_wrong_configuration_is_named(arguments: list[str], sentence: str) -> None:
    _says(_tucano("retrain", *arguments), sentence)


@pytest.mark.skipif(os.geteuid() != 0 and not Path("/proc").exists(), reason="needs a folder that nobody may write")
def test_a_state_folder_that_cannot_be_written_is_named() -> None:
    _says(_tucano("retrain", "--set", "state.root=/proc/tucano"), "the state folder /proc/tucano cannot be written")


@pytest.mark.integration
def test_an_olist_folder_without_its_tables_is_named(
    tmp_path: Path, prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", prefect_server)
    olist = tmp_path / "olist"
    olist.mkdir()
    overrides = [f"state.root={tmp_path / 'state'}", "synthesize.source=olist", f"synthesize.olist_dir={olist}"]
    arguments = [part for override in overrides for part in ("--set", override)]
    _says(_tucano("retrain", "--profile", str(SMALL), *arguments), "olist_orders_dataset.csv")


def test_pages_without_a_state_folder_are_refused(tmp_path: Path) -> None:
    _says(_tucano("ui", "--root", str(tmp_path / "none")), "run `tucano retrain` first")


def test_a_busy_port_is_named_with_its_option(tmp_path: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = str(busy.getsockname()[1])
        _says(_tucano("ui", "--root", str(tmp_path), "--prefect-port", port), f"port {port} cannot be used")


ANSWER = {"prompt_id": "a", "task": "churn", "prompt": "Pedidos: 3", "completion": '{"churn":true}'}
ROLLOUT = json.dumps(ANSWER | {"reference": {"churn": True}}) + "\n"


def test_score_prints_one_document_and_writes_the_scored_rollouts(tmp_path: Path) -> None:
    rollouts, scored = tmp_path / "rollouts.jsonl", tmp_path / "scored.jsonl"
    rollouts.write_text(ROLLOUT, encoding="utf-8")
    ended = _tucano("score", str(rollouts), "--out", str(scored), "--metrics", "--json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["tasks"]["churn"]["metrics"]["accuracy"] == 1.0
    assert json.loads(scored.read_text(encoding="utf-8"))["spec"] == "grounded"


def test_score_names_the_bad_line_and_writes_nothing(tmp_path: Path) -> None:
    rollouts, scored = tmp_path / "rollouts.jsonl", tmp_path / "scored.jsonl"
    rollouts.write_text(ROLLOUT + ROLLOUT.replace("churn", "poetry", 1), encoding="utf-8")
    _says(_tucano("score", str(rollouts), "--out", str(scored)), "line 2: task: Input should be 'extraction'")
    assert not scored.exists()
    _says(_tucano("score", str(tmp_path / "absent.jsonl"), "--out", str(scored)), "absent.jsonl cannot be read")


def test_scoring_needs_neither_torch_nor_prefect_nor_mlflow() -> None:
    heavy = "{'torch', 'prefect', 'mlflow', 'transformers', 'datasets', 'pandera', 'polars'}"
    code = f"import sys; import flows.cli.tucano; import tasks.commerce.score_file; print({heavy} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "set()"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_score_leaves_nothing_and_says_so(tmp_path: Path, ending: signal.Signals) -> None:
    rollouts, scored = tmp_path / "rollouts.jsonl", tmp_path / "scored.jsonl"
    rollouts.write_text(ROLLOUT * 400_000, encoding="utf-8")
    command = [sys.executable, "-m", "flows", "score", str(rollouts), "--out", str(scored)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.glob(".*")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(ending)
        said = process.communicate()[1]
    assert process.returncode == 4, said
    assert "interrupted, and nothing was written" in said
    assert [file.name for file in tmp_path.iterdir()] == ["rollouts.jsonl"]
