"""What a retraining promoted is served as it was evaluated, and monitoring reads what was answered."""

import json
import shutil
from pathlib import Path

import httpx
import pytest

from schemas.tables.prompts import TEST_FILE, read_prompts
from tests.flows.command import in_this_process
from tests.serving import SECONDS, free_port, serving
from tests.small_pipeline import PROFILE, Pipeline

pytestmark = pytest.mark.e2e


def test_a_champion_is_served_with_its_own_answers_and_monitored_by_its_log(pipeline: Pipeline, tmp_path: Path) -> None:
    root = tmp_path / "state"
    shutil.copytree(pipeline.root, root)
    state = ("--profile", PROFILE, "--set", f"state.root={root}")
    decision = pipeline.resumed.document["decision"]
    if decision["verdict"] != "promote":
        # As chance would have it.
        promoted = in_this_process("promote", decision["version"], "--force", "to be served", *state)
        assert promoted.returncode == 0, promoted.stderr
    dataset = pipeline.resumed.document["stages"]["curate"]["sha256"]
    rows = read_prompts(root / "artifacts" / "dataset" / dataset / "content" / TEST_FILE)
    port = free_port()
    with serving(root, port, ["serve", *map(str, state), "--set", f"serve.port={port}"]) as served:
        assert any("20 golden answers are those of the evaluation" in line for line in served.said)
        for row in rows:
            messages = [{"role": "system", "content": row.system}, {"role": "user", "content": row.prompt}]
            sent = {"model": f"champion/{row.task}", "messages": messages, "response_format": {"type": "text"}}
            answer = httpx.post(f"{served.url}/v1/chat/completions", json=sent, timeout=SECONDS)
            assert answer.is_success, answer.text
            known = {"request_id": answer.json()["id"], "reference": dict(row.reference)}
            assert httpx.post(f"{served.url}/v1/feedback", json=known, timeout=SECONDS).is_success
    monitored = in_this_process("monitor", *state, "--json")
    assert monitored.returncode in {0, 3}, monitored.stderr
    found = json.loads(monitored.stdout)
    assert found["logs"]["answers"] == len(rows)
    assert found["logs"]["feedback"]["references"] == len(rows)
