"""`tucano doctor` as a person uses it: a table within 100 columns, one JSON document, and an exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from flows.cli.infra import doctor
from flows.doctor import machine
from flows.doctor import run as examination
from flows.doctor.finding import CheckOutcome, Verdict, single
from schemas.config.config import Config
from schemas.errors import InputError


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(doctor)
    return CliRunner().invoke(app, arguments)


def let_checks_say(monkeypatch: pytest.MonkeyPatch, *verdicts: Verdict) -> None:
    def say(number: int, verdict: Verdict) -> CheckOutcome:
        return single(f"check {number}", verdict, f"something [{number}] " * 12, "" if verdict == "ok" else "mend it")

    checks = {
        str(number): lambda _, number=number, verdict=verdict: say(number, verdict)
        for number, verdict in enumerate(verdicts)
    }
    monkeypatch.setattr(examination, "CHECKS", checks)


@pytest.mark.parametrize(
    ("verdicts", "code", "last"),
    [
        (("ok", "ok"), 0, "all is well"),
        (("ok", "warning"), 0, "1 warning: a run can begin"),
        (("warning", "fault", "fault"), 2, "2 faults, 1 warning: a run would fail"),
    ],
)
def test_only_a_fault_is_an_error(
    monkeypatch: pytest.MonkeyPatch, verdicts: tuple[Verdict, ...], code: int, last: str
) -> None:
    let_checks_say(monkeypatch, *verdicts)
    ended = run()
    assert ended.exit_code == code
    lines = ended.stdout.splitlines()
    assert lines[-1] == last
    assert max(map(len, lines)) <= 100
    assert sum("→ mend it" in line for line in lines) == len(verdicts) - verdicts.count("ok")
    assert "[0]" in ended.stdout


def test_json_is_one_document_and_all_that_is_on_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    let_checks_say(monkeypatch, "ok", "fault")
    ended = run("--json")
    document = json.loads(ended.stdout)
    assert (ended.exit_code, document["ready"]) == (2, False)
    assert [finding["verdict"] for finding in document["findings"]] == ["ok", "fault", "ok"]
    assert document["findings"][1].keys() == {"check", "verdict", "found", "remedy", "unused"}


def test_torch_is_loaded_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    let_checks_say(monkeypatch, "ok")
    asked: list[Config] = []

    def use_torch(config: Config) -> CheckOutcome:
        asked.append(config)
        return single("torch", "ok", "computes")

    monkeypatch.setattr(machine, "check_torch", use_torch)
    assert run().exit_code == 0
    assert asked == []
    assert "torch" in run("--torch").stdout
    assert len(asked) == 1


def test_a_profile_that_does_not_exist_is_one_sentence() -> None:
    ended = run("--profile", "nowhere")
    assert isinstance(ended.exception, InputError)
    assert "there is no profile 'nowhere'" in str(ended.exception)


def test_the_doctor_loads_neither_torch_nor_prefect_nor_mlflow(tmp_path: Path) -> None:
    heavy = "{'torch', 'prefect', 'mlflow', 'transformers', 'polars'}"
    code = (
        "import sys; from flows.doctor.run import examine; from schemas.config.profiles import load_config; "
        f"examine(load_config('local', ['state.root={tmp_path / 'state'}'])); print({heavy} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "set()"
