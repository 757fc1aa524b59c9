"""The loop, closed on real parts: what is served drifts, is retrained by itself on what was asked, and switched.

It takes some 20 minutes, so `make test` leaves it out: `make test-deployed` runs it.
"""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any
from uuid import UUID

import httpx
import pytest

from flows.monitor import ALARMS_FOLDER
from flows.runtime.stores import open_registry, open_store
from flows.stages.promote import read_decision
from schemas.tables.prompts import TRAIN_FILE, PromptRow, read_prompts
from schemas.tasks import TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import score_rollout
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store
from tests.e2e.test_deployment import PATIENCE, Team
from tests.gateway import wait_for
from tests.house import Run, free_port, open_house
from tests.serving import SECONDS, Served, serving

pytestmark = pytest.mark.deployed

MODEL = "tucano2-commerce"
DIGITS = str.maketrans("AEIOST", "431057")
USUAL, DRIFTED = 60, 400
"""Requests before and after the shoppers change their manners."""
REVIEWED: tuple[TaskName, ...] = ("extraction", "sentiment")
"""Tasks that read what a shopper wrote."""


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    root = tmp_path / "state"
    with open_house(tmp_path, {}) as house:
        yield Team(house, (f"state.root={root}", f"synthesize.logs={root / 'logs'}"))


def rows_of(seed: int, each: int) -> list[PromptRow]:
    """Return what shoppers of another store ask, with the right answers."""
    store = simulate_store(1_500, random.Random(f"{seed}:store"))
    return [
        as_prompt_row(example)
        for task in REVIEWED
        for example in EXAMPLE_MAKERS[task](store, random.Random(f"{seed}:{task}"), each)
    ]


def in_digits(row: PromptRow) -> str:
    """Return a prompt whose shopper shouts and writes digits for letters: `N4O G05731`."""
    head, mark, review = row.prompt.partition("Avaliação: ")
    assert review
    return f"{head}{mark}{review.upper().translate(DIGITS)}"


class Shoppers:
    """Clients of the gateway; every answer must come."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.answered: dict[str, tuple[PromptRow, str, str]] = {}
        """The row, the prompt and the answer of each request."""
        self.refused: list[str] = []
        self._ended = threading.Event()

    def ask(self, row: PromptRow, prompt: str) -> None:
        """Ask, and say later what the right answer was."""
        try:
            self._ask(row, prompt)
        except (httpx.HTTPError, ValueError) as error:
            self.refused.append(repr(error))

    def _ask(self, row: PromptRow, prompt: str) -> None:
        messages = [{"role": "system", "content": row.system}, {"role": "user", "content": prompt}]
        sent = {"model": f"champion/{row.task}", "messages": messages}
        answer = httpx.post(f"{self.served.url}/v1/chat/completions", json=sent, timeout=SECONDS)
        document = answer.raise_for_status().json()
        self.answered[document["id"]] = (row, prompt, document["choices"][0]["message"]["content"] or "")
        known = {"request_id": document["id"], "reference": dict(row.reference)}
        httpx.post(f"{self.served.url}/v1/feedback", json=known, timeout=SECONDS).raise_for_status()

    def ask_all(self, rows: Sequence[PromptRow], prompts: Sequence[str]) -> None:
        def ask(part: int) -> None:
            for row, prompt in list(zip(rows, prompts, strict=True))[part::8]:
                self.ask(row, prompt)

        threads = [threading.Thread(target=ask, args=[part]) for part in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    @contextmanager
    def asking_on(self, rows: Sequence[PromptRow]) -> Iterator[None]:
        """Ask a request a second while the block runs."""

        def ask() -> None:
            turn = 0
            while not self._ended.wait(1):
                self.ask(rows[turn % len(rows)], in_digits(rows[turn % len(rows)]))
                turn += 1

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def reward(self, version: str, logged: dict[str, str]) -> float:
        """Return the mean reward of a version's answers to reviews in digits."""
        mine = [
            (row, text)
            for request, (row, prompt, text) in self.answered.items()
            if logged[request] == version and prompt != row.prompt
        ]
        return fmean(score_rollout(row.answered(text), None, "grounded").reward for row, text in mine)


def started(team: Team, deployment: str) -> Run:
    found = team.house.client.read_deployment_by_name(deployment)
    run = team.house.client.create_flow_run_from_deployment(found.id)
    return Run(team.house, run.id, team.config, PATIENCE)


def completed(run: Run) -> None:
    run.wait_for("the run is completed", lambda: run.times("Completed") == 1)


def champion(team: Team) -> str | None:
    holder = open_registry(team.config).holder(MODEL, "champion")
    return None if holder is None else holder.version


def test_drift_of_what_is_served_is_retrained_on_what_was_asked_and_switched_without_a_lost_request(team: Team) -> None:
    house, root = team.house, team.config.state.root
    applied = team.tucano("infra", "apply")
    assert applied.returncode == 0, applied.stderr
    house.worker("cpu")
    first = started(team, "retrain/retrain")
    completed(first)
    assert champion(team) == "1"

    port = free_port()
    settings = [part for each in team.settings for part in ("--set", each)]
    settings += ["--set", f"serve.port={port}", "--set", "serve.follow_seconds=1", "--set", "serve.answer_all=true"]
    with serving(root, port, ["serve", "--profile", "local", *settings], house.environment) as served:
        shoppers = Shoppers(served)
        usual = rows_of(71, USUAL // len(REVIEWED))
        shoppers.ask_all(usual, [row.prompt for row in usual])
        quiet = started(team, "monitor/monitor")
        completed(quiet)
        assert not list((root / ALARMS_FOLDER).glob("*"))

        changed = rows_of(72, DRIFTED // len(REVIEWED))
        shoppers.ask_all(changed, [in_digits(row) for row in changed])
        before = set(shoppers.answered)
        drifted = started(team, "monitor/monitor")
        completed(drifted)
        assert list((root / ALARMS_FOLDER).glob("*"))
        with shoppers.asking_on(rows_of(73, 30)):
            # Nobody lends a hand: the automation starts the retraining, and the gateway finds its champion.
            wait_for(lambda: len(_retrainings(team)) == 2, SECONDS)
            (second,) = [each for each in _retrainings(team) if each != first.id]
            completed(Run(house, second, team.config, PATIENCE))
            assert champion(team) == "2", _decision(team)
            wait_for(lambda: any("version 2 takes over" in line for line in served.said), SECONDS)
            switched = set(shoppers.answered)
            wait_for(lambda: len(shoppers.answered) > len(switched) + 20, SECONDS)

        logged = {request: str(line["model_version"]) for request, line in served.logged().items()}
        assert shoppers.refused == []
        assert logged.keys() == shoppers.answered.keys()
        # What was answered while the versions changed is of one of them, and of the second in the end.
        assert {logged[request] for request in before} == {f"{MODEL}/1"}
        assert Counter(logged.values())[f"{MODEL}/2"] >= 20
        assert _events(house.address, "tucano.serving.switched") == ["2"]

    learned = _sources(team)
    assert learned["logs"] > DRIFTED / 2
    rewards = {version: shoppers.reward(f"{MODEL}/{version}", logged) for version in ("1", "2")}
    print(f"reviews in digits: rewards by version {rewards}; prompts learned from: {learned}")
    assert rewards["2"] > rewards["1"]


def _retrainings(team: Team) -> list[UUID]:
    deployment = team.house.client.read_deployment_by_name("retrain/retrain")
    runs = team.house.client.read_flow_runs()
    return [run.id for run in runs if run.deployment_id == deployment.id and not run.auto_scheduled]


def _decision(team: Team) -> Mapping[str, Any]:
    """Return the newest decision of the gate."""
    store = open_store(team.config)
    return read_decision(store.path(store.records("promotion")[0].sha256))


def _events(address: str, name: str) -> list[str]:
    """Return the versions that events of a name are about."""
    found = httpx.post(f"{address}/events/filter", json={"filter": {"event": {"name": [name]}}}).json()["events"]
    return [str(each["resource"]["tucano.version"]) for each in found]


def _sources(team: Team) -> Mapping[str, int]:
    """Count the training prompts of the newest dataset by their sources."""
    store = open_store(team.config)
    return Counter(row.source for row in read_prompts(store.path(store.records("dataset")[0].sha256) / TRAIN_FILE))
