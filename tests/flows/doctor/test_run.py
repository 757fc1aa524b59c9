"""The doctor as a whole: every check is heard, none hides another, and nothing is left behind."""

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.doctor import machine, run
from flows.doctor.finding import CheckOutcome, ClockReading, Finding, refused, single
from flows.doctor.run import SECONDS_ASTRAY, SECONDS_REFUSED, examine, judge_clock
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return load_config("local", [f"state.root={tmp_path / 'state'}"])


def test_the_laptop_profile_can_run_here_and_nothing_is_made(config: Config, tmp_path: Path) -> None:
    findings = examine(config)
    assert [finding for finding in findings if finding.verdict == "fault"] == []
    assert {finding.check for finding in findings} >= {*run.CHECKS, "clock"} - {"GPU libraries"}
    assert list(tmp_path.iterdir()) == []


def test_one_check_that_fails_hides_no_other(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    def slips(_: Config) -> CheckOutcome:
        raise ZeroDivisionError("by nought")

    def refuses(_: Config) -> CheckOutcome:
        raise InputError("the place is shut; open it")

    def forbidden(_: Config) -> CheckOutcome:
        raise PermissionError(13, "Permission denied", "/root/sheet.csv")

    checks = {"a": slips, "b": refuses, "c": lambda _: single("c", "ok", "fine"), "d": forbidden}
    monkeypatch.setattr(run, "CHECKS", checks)
    found = {finding.check: finding for finding in examine(config)}
    assert found["a"].verdict == "fault"
    assert "ZeroDivisionError: by nought" in found["a"].found
    assert found["b"] == Finding("b", "fault", "the place is shut", "open it")
    assert found["c"].verdict == "ok"
    assert found["d"].found == "/root/sheet.csv cannot be looked at (Permission denied)"


def test_a_check_without_an_answer_is_a_fault_and_is_not_waited_for(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def hangs(_: Config) -> CheckOutcome:
        released.wait()
        return single("a", "ok", "late")

    monkeypatch.setattr(run, "CHECKS", {"a": hangs, "b": lambda _: single("b", "ok", "fine")})
    monkeypatch.setattr(run, "SECONDS_FOR_ALL", 1.0)
    first, second, _ = examine(config)
    released.set()
    assert first.verdict == "fault"
    assert first.found == "no answer within 1 s"
    assert second.verdict == "ok"


def test_a_check_that_may_take_longer_is_a_fault_by_its_own_limit(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def hangs(_: Config) -> CheckOutcome:
        released.wait()
        return single("torch", "ok", "late")

    monkeypatch.setattr(run, "CHECKS", {})
    monkeypatch.setattr(machine, "check_torch", hangs)
    monkeypatch.setattr(machine, "SECONDS_FOR_TORCH", 0.5)
    torch, _ = examine(config, load_torch=True)
    released.set()
    assert (torch.verdict, torch.found) == ("fault", "no answer within 1.5 s")


@given(st.floats(min_value=-1e6, max_value=1e6))
def test_the_clock_is_judged_by_how_far_it_is_off(seconds: float) -> None:
    verdict = judge_clock([ClockReading("a", 0.0), ClockReading("b", seconds)]).verdict
    off = abs(seconds)
    assert verdict == ("fault" if off > SECONDS_REFUSED else "warning" if off > SECONDS_ASTRAY else "ok")
    assert judge_clock([ClockReading("b", -seconds)]).verdict == verdict


def test_a_clock_that_is_off_is_reported() -> None:
    assert judge_clock([ClockReading("the bucket", 60.0)]).found == "60 s behind that of the bucket"
    assert judge_clock([ClockReading("the bucket", -60.0)]).found == "60 s ahead of that of the bucket"
    assert judge_clock([]).verdict == "ok"


def test_a_sentence_without_a_remedy_stays_whole() -> None:
    assert refused("a", "it broke") == Finding("a", "fault", "it broke", "")
