"""Runs of the scoreboard: the answers that were kept of each, and what they were answers of."""

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter

from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.disk import file_sha256, scratch_folder
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.progress import silent
from schemas.tables.prompts import read_prompts
from schemas.tasks import TaskName
from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.demo.recording import rows_of
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.ground_truth import truth_of
from tasks.policy.published import digests
from tasks.real_model.convert import MEMBERS
from tasks.synthesize import stage as synthesize
from tasks.synthesize.forget import PROMPTS_FILE

RUNS_FILE: Final = Path(__file__).with_name("runs.json")
REAL_MODEL: Final = ".cache/real-model"
WEIGHTS_FILE: Final = "model.safetensors"


class Run(BaseModel):
    """A run whose answers were kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    overrides: tuple[str, ...]
    """Settings over the profile, such as `train.max_steps=10`."""
    answers_sha256: str
    """Digest of the file with the rows of its page of completions."""
    weights: str
    """The published model's identity."""
    settings: str
    """Digest of what the profile and the overrides set."""


class Means(NamedTuple):
    """Means over the test prompts of a task, in [0, 1]."""

    reward: float
    truth: float


ByRung = Mapping[str, Mapping[TaskName, Means]]


def read_runs() -> dict[str, Run]:
    """Return the kept runs by profile."""
    return TypeAdapter(dict[str, Run]).validate_json(RUNS_FILE.read_bytes())


def rows_of_state(state: Path) -> dict[str, Any]:
    """Return the rows of the newest evaluation in a state folder; InputError where there is none."""
    pages = sorted(state.glob(f"artifacts/evaluation/*/content/{PAGE_FILE}"), key=lambda page: page.stat().st_mtime)
    if not pages:
        raise InputError(f"{state} has no evaluation; run `tucano retrain`, or give the folder of its state")
    return rows_of(pages[-1])


def keep(profile: str, overrides: Sequence[str], rows: Mapping[str, Any]) -> None:
    """Keep the answers of a run that just ended on this code, in place of the profile's earlier ones."""
    config, file = load_config(profile, overrides), answers_file(profile)
    text = json.dumps({**rows, "rollouts": {}}, ensure_ascii=False, separators=(",", ":"))
    file.write_bytes(gzip.compress(text.encode(), mtime=0))
    run = Run(
        overrides=tuple(overrides),
        answers_sha256=file_sha256(file),
        weights=weights_of(config),
        settings=settings_of(config),
    )
    kept = {name: each.model_dump() for name, each in sorted({**read_runs(), profile: run}.items())}
    RUNS_FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def kept_rows(profile: str, run: Run) -> dict[str, Any]:
    """Return the rows of a kept run; InputError where what it is of is no longer what is shipped."""
    config, file = load_config(profile, run.overrides), answers_file(profile)
    shipped = {"answers_sha256": file_sha256(file), "weights": weights_of(config), "settings": settings_of(config)}
    for name, digest in shipped.items():
        if digest != (of_run := getattr(run, name)):
            raise InputError(
                f"{name} of the kept run of {profile} is {of_run[:12]}, and today's is {digest[:12]}; run it anew, and "
                f"then `python -m benchmarks.scoreboard --state .tucano --profile {profile} --keep`"
            )
    rows: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return rows


def answers_file(profile: str) -> Path:
    """Return the file of a kept run's answers."""
    return RUNS_FILE.with_name(f"{profile}.json.gz")


def weights_of(config: Config) -> str:
    """Return the identity of the published weights: a sha256, or a hub's name with its revision."""
    policy = config.policy
    if policy.stand_in:
        return digests()[WEIGHTS_FILE]
    if policy.name == REAL_MODEL:
        return next(iter(MEMBERS.values()))
    file = Path(policy.name) / WEIGHTS_FILE
    return file_sha256(file) if file.is_file() else f"{policy.name}@{policy.revision or 'main'}"


def settings_of(config: Config) -> str:
    """Return the sha256 of what a profile and those that it extends set, without comments and defaults."""
    return hashlib.sha256(config.model_dump_json(exclude_unset=True).encode()).hexdigest()


def rescored(config: Config, rows: Mapping[str, Any]) -> ByRung:
    """Score a run's answers by the rewards of this code, by rung and task.

    Raises:
        InputError: This code makes other prompts, or an answer was too long to be kept whole.
    """
    if config.synthesize.source != "simulated":
        raise InputError("the run is of a shop's own data, which cannot be made again here; use `tucano compare`")
    answers, texts = rows["answers"], rows["texts"]
    with scratch_folder() as folder:
        synthesize.run(config.synthesize, config.seed, folder, silent)
        known = {row.prompt_id: row for row in read_prompts(folder / PROMPTS_FILE)}
        databases = Databases.open(folder / "store")
        by_rung: dict[str, list[Rollout]] = defaultdict(list)
        for model, prompt, text in zip(answers["model"], answers["prompt"], answers["text"], strict=True):
            row = known.get(rows["prompts"]["id"][prompt])
            if row is None or str(text) in texts["cut"]:
                raise InputError("the run's prompts are no longer made, or an answer was cut; run it anew")
            by_rung[rows["models"][model]].append(row.answered(texts["text"][text]))
        return {rung: _means(rollouts, databases) for rung, rollouts in by_rung.items()}


def _means(rollouts: list[Rollout], databases: Databases) -> dict[TaskName, Means]:
    scored = registry.score_beside([registry.score_rollout(rollout, databases) for rollout in rollouts])
    found: dict[TaskName, list[tuple[float, float]]] = defaultdict(list)
    for each in scored:
        found[each.task].append((each.reward, truth_of(each, databases) or 0.0))
    return {
        task: Means(fmean(reward for reward, _ in pairs), fmean(truth for _, truth in pairs))
        for task, pairs in found.items()
    }
