"""The path from the flow `retrain` to the first rollout of a training step is short, and is the one that docs name."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from flows import retrain as chain
from flows.stages.runner import StageResult
from schemas.artifact import ArtifactKind
from schemas.config.profiles import load_config
from schemas.source import REPOSITORY
from tasks.policy import child
from tests.call_path import Hop, hops
from tests.flows.prefect_state import prefect_state
from tests.flows.promotable import commit, store_of
from tests.small_pipeline import PROFILE
from tests.tasks.train.small_child import make_request

MOST_HOPS = 12
MOST_LINES = 4_000
CHILD = """
import json, os, runpy, sys
from pathlib import Path
from tasks.train.grpo.generator import RolloutGenerator
from tests.call_path import hops

sample = RolloutGenerator.sample

def sample_and_record(*arguments):
    found = hops()
    if ["transformers.trainer", "train"] in map(list, found):
        # The generator's own frame is not there yet.
        Path(os.environ["HOPS"]).write_text(json.dumps([*found, ["tasks/train/grpo/generator.py", "sample"]]))
        os._exit(0)
    return sample(*arguments)

RolloutGenerator.sample = sample_and_record
runpy.run_module("tasks.train.children.grpo", run_name="__main__", alter_sys=True)
"""
"""The train stage's real child, which ends where a training step samples; the preflight samples before it."""


class _Spawned(Exception):
    """Stands for the start of the child."""


@pytest.fixture
def state(prefect_server: str, tmp_path: Path) -> Iterator[Path]:
    with prefect_state(prefect_server, tmp_path):
        yield tmp_path


def _to_the_child(state: Path, monkeypatch: pytest.MonkeyPatch) -> list[Hop]:
    """Return the hops from the flow to the start of the child that trains."""
    found: list[Hop] = []

    def spawn(work: Sequence[str], *_: Any) -> None:
        assert work[0] == "tasks.train.children.grpo"
        found.extend(hops())
        raise _Spawned

    def make(kind: ArtifactKind) -> StageResult:
        record = commit(state, kind, lambda folder: (folder / "file").write_text(kind, encoding="utf-8"))
        return StageResult(record, store_of(state).path(record.sha256), 0.0, reused=True)

    kinds: dict[str, ArtifactKind] = {"synthesize": "prompts", "curate": "dataset", "audit": "audit", "base": "base"}
    made = {name: make(kind) for name, kind in kinds.items()}
    monkeypatch.setattr(chain, "_given_to_training", lambda *_, **__: made)
    monkeypatch.setattr(child, "_start", spawn)
    with pytest.raises(_Spawned):
        chain.retrain(load_config(str(PROFILE), [f"state.root={state}"]), until="train")
    return found


def _from_the_child(folder: Path) -> list[Hop]:
    """Return the hops from the start of the child to the rollouts of the first step."""
    folder.mkdir()
    request_file, file = folder / "grpo.request.json", folder / "hops.json"
    request_file.write_text(make_request(folder).model_dump_json(), encoding="utf-8")
    log = folder / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(request_file)],
            cwd=REPOSITORY,
            env={**os.environ, "HOPS": str(file)},
            # It would take the end of its stdin for the end of its parent.
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
        )
        exit_code = process.wait()
    process.communicate()
    assert exit_code == 0, log.read_text(encoding="utf-8")
    return [(file, name) for file, name in json.loads(file.read_text(encoding="utf-8"))]


@pytest.mark.integration
@pytest.mark.long
def test_the_first_rollout_is_at_most_twelve_named_calls_away_and_the_docs_name_them(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that only passes on its arguments would be one more, and the page another's path."""
    found = _from_the_child(state / "child")
    found = [*_to_the_child(state, monkeypatch), *found]
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \d+ \| `(\S+)` \| `(\S+)` \|", page, flags=re.MULTILINE) == found
    assert len(found) <= MOST_HOPS


def test_an_evening_suffices_for_the_pages_first_reading() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    start = page[page.index("## Where to start reading") : page.index("## The journey of a prompt row")]
    named = [REPOSITORY / name for name in re.findall(r"`(\w+/[\w/.]+)`", start)]
    files = [file for path in named for file in (path.glob("*.py") if path.is_dir() else [path])]
    assert len(files) > 20
    assert sum(len(file.read_bytes().splitlines()) for file in files) <= MOST_LINES
