"""Verifiers' own client on the gateway before the laptop's engine: a thousand rollouts with the pipeline's rewards."""

import asyncio
import json
import random
import subprocess
from pathlib import Path
from typing import Final

import pytest

from schemas.config.serve import ServeConfig
from schemas.source import REPOSITORY
from schemas.store.files import write_store
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.environment.write import write_environment
from tasks.policy.published import STAND_IN_FOLDER
from tasks.serve.deployment import DeployedVersion
from tasks.serve.gateway.answer_log import DailyFile
from tasks.serve.gateway.answering import AnswerService, Metrics
from tasks.serve.gateway.app import build_app
from tasks.serve.local_engine import LocalEngine
from tasks.synthesize.simulated import as_prompt_row, simulate_store
from tests.gateway import listening, served_model
from tests.prompt_tables import write_prompts

pytestmark = [pytest.mark.verifiers, pytest.mark.timeout(1800)]

INTERPRETER: Final = REPOSITORY / ".venv-verifiers" / "bin" / "python"
ROLLOUTS: Final = 1_000
PER_TASK: Final = 24


def test_a_thousand_rollouts_have_equal_rewards(tmp_path: Path) -> None:
    store = simulate_store(600, random.Random("contract:store"))
    write_store(store, tmp_path / "store")
    rows: list[PromptRow] = []
    for task in TASK_NAMES:
        rows += map(as_prompt_row, EXAMPLE_MAKERS[task](store, random.Random(f"contract:{task}"), PER_TASK))
    for split in ("train", "validation"):
        write_prompts(rows, tmp_path / "dataset" / "data" / f"{split}.parquet")
    package = tmp_path / "package"
    package.mkdir()
    write_environment(tmp_path / "dataset", tmp_path / "store", "grounded", {}, package)
    engine = LocalEngine(STAND_IN_FOLDER, {}, rows=32)
    asyncio.run(engine.start())
    log, config, metrics = DailyFile(tmp_path / "logs", days=1), ServeConfig(concurrency=32, guided=False), Metrics()
    answering = AnswerService(
        DeployedVersion(served_model(), engine), config, log=log, scrub=lambda text: text, metrics=metrics
    )
    app = build_app(
        answering, config, "shop", tokens=(), metrics=metrics, feedback=log, scrub_reference=lambda known: known
    )
    with listening(app) as port:
        command = [str(INTERPRETER), "-m", "tests.contracts.environment.client", str(package)]
        arguments = [f"http://127.0.0.1:{port}/v1", str(ROLLOUTS)]
        ended = subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert ended.returncode == 0, ended.stderr[-4_000:]
    found = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    known, databases = {row.prompt_id: row for row in rows}, Databases.open(tmp_path / "store")
    differences: list[float] = []
    for each in found:
        row = known[each["prompt_id"]]
        scored = score_rollout(row.answered(each["completion"]), databases)
        differences += [abs(each[name] - scored.reward) for name in ("reward", "of_task")]
        own = {f"{row.task}_{name}": value for name, value in scored.components.items()}
        assert {name: each["metrics"][name] for name in own} == pytest.approx(own)
    rewards = [each["reward"] for each in found]
    largest = max(differences)
    print(f"{len(found)} rollouts, rewards {min(rewards):.3f} to {max(rewards):.3f}, largest difference {largest:.1e}")
    assert len(found) == ROLLOUTS
    assert largest <= 1e-9
    # The gateway sends the others as sentences, which earn little.
    as_written = {"extraction", "sentiment", "sql_qa"}
    assert {known[each["prompt_id"]].task for each in found if each["reward"] > 0.5} >= as_written
