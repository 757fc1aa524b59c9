"""What a run learns from logs is fixed until it came to its end: a gateway logs on while a model is trained."""

import os
import time
from pathlib import Path

from flows.stages.prompts_from_logs import SECONDS_KEPT, release_served_prompts, served_prompts
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.tables.prompts import read_prompts
from tests.tasks.monitor.logged import PUSH_PROMPT, answer, write_log


def config_of(root: Path, *settings: str) -> Config:
    return load_config("local", [f"state.root={root / 'state'}", f"synthesize.logs={root / 'logs'}", *settings])


def log(root: Path, number: int) -> None:
    (root / "logs").mkdir(exist_ok=True)
    known = {"product": "vaso de cerâmica", "offer": "20% de desconto"}
    asked = [answer(prompt=f"{PUSH_PROMPT} {each}", reference=known) for each in range(number)]
    write_log(root / "logs" / "2026-03-10.jsonl", asked)


def found(config: Config, *, fresh: bool = False) -> int:
    table = served_prompts(config, fresh=fresh)
    assert table is not None
    return len(read_prompts(table))


def test_without_logs_there_is_no_table(tmp_path: Path) -> None:
    assert served_prompts(load_config("local", [f"state.root={tmp_path}"]), fresh=False) is None
    assert list(tmp_path.iterdir()) == []


def test_before_anything_was_served_there_is_nothing_to_learn_and_no_error(tmp_path: Path) -> None:
    assert found(config_of(tmp_path)) == 0


def test_a_resumed_run_learns_from_what_it_began_with(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    log(tmp_path, 2)
    assert found(config) == 2
    log(tmp_path, 3)
    assert found(config) == 2
    release_served_prompts(config)
    assert found(config) == 3


def test_a_run_of_another_configuration_that_ends_leaves_it_alone(tmp_path: Path) -> None:
    log(tmp_path, 2)
    assert found(config_of(tmp_path)) == 2
    log(tmp_path, 3)
    other = config_of(tmp_path, "synthesize.counts.push=100")
    assert found(other) == 3
    release_served_prompts(other)
    assert found(config_of(tmp_path)) == 2


def test_a_fresh_run_and_one_that_asks_for_other_prompts_read_the_logs_again(tmp_path: Path) -> None:
    log(tmp_path, 2)
    assert found(config_of(tmp_path)) == 2
    log(tmp_path, 3)
    assert found(config_of(tmp_path, "synthesize.counts.push=100")) == 3
    assert found(config_of(tmp_path), fresh=True) == 3


def test_it_is_kept_for_a_week_after_its_last_use(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    log(tmp_path, 2)
    table = served_prompts(config, fresh=False)
    assert table is not None
    log(tmp_path, 3)
    for days in (6, 6):
        before = time.time() - days * 24 * 3600
        os.utime(table, (before, before))
        assert found(config) == 2
    before = time.time() - SECONDS_KEPT - 60
    os.utime(table, (before, before))
    assert found(config) == 3


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    log(tmp_path, 2)
    table = served_prompts(config_of(tmp_path), fresh=False)
    assert table is not None
    assert table.parent.stat().st_mode & 0o077 == 0
