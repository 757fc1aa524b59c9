"""The installed wheel does in an empty folder what the clone does: commands read its files, and it retrains."""

import json
import shutil

import pytest

from schemas.source import REPOSITORY
from schemas.tasks import TASK_NAMES
from tests.packaging.test_wheel import Installed, installed
from tests.small_pipeline import PROFILE, VERDICT_CODES

__all__ = ["installed"]

pytestmark = [pytest.mark.integration, pytest.mark.long]


def test_commands_find_what_they_read(installed: Installed) -> None:
    shipped = REPOSITORY / "data" / "audit"
    lines = (shipped / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    one_each = [next(line for line in lines if json.loads(line)["task"] == task) for task in TASK_NAMES]
    (installed.folder / "one_each.jsonl").write_text("\n".join(one_each) + "\n", encoding="utf-8")
    shutil.copytree(shipped / "store", installed.folder / "store")
    ends = {
        ("--version",): {0},
        ("doctor",): {0},
        ("score", "one_each.jsonl", "--store", "store", "--metrics"): {0},
        ("init", "store", "--out", "shop"): {0},
        ("audit", "attack", "--task", "sentiment", "--evaluations", "5", "--store", "store"): {0, 3},
        ("benchmark", "write", "--out", "benchmark", "--per-task", "1", "--orders", "200"): {0},
    }
    for command, codes in ends.items():
        ended = installed.tucano(*command)
        assert ended.returncode in codes, (command, ended.stderr)
        assert "Traceback" not in ended.stderr, (command, ended.stderr)


def test_it_retrains_in_an_empty_folder(installed: Installed) -> None:
    shutil.copy(PROFILE, installed.folder / "small.toml")
    ended = installed.tucano("retrain", "--profile", "small.toml", "--set", "train.max_steps=2", "--json")
    assert ended.returncode in VERDICT_CODES, ended.stderr
    assert set(json.loads(ended.stdout)) >= {"stages"}
    assert str(REPOSITORY) not in ended.stderr
