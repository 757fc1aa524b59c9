"""Configuration of a pipeline run, by stage; its import pulls in no heavy library."""

import math
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator, model_validator

from schemas.config.evaluate import EvaluateConfig, PromoteConfig, Rung
from schemas.config.section import Language, ReportConfig, Section, language_of
from schemas.config.serve import MonitorConfig, ServeConfig
from schemas.config.train import TrainConfig
from schemas.config.train_sections import PolicyConfig, WarmStartConfig
from schemas.config.workers import WorkersConfig
from schemas.errors import InputError
from schemas.source import REPOSITORY
from schemas.tasks import SpecName, TaskName

AUDIT_FOLDER = REPOSITORY / "data" / "audit"
DEMONSTRATIONS_FILE = REPOSITORY / "data" / "general" / "demonstrations.jsonl"
"""The shipped instructions."""
MOST_ASKED = 10_000_000
"""Prompts, and orders, beyond which a count must be a mistake."""
FEWEST_HELD_OUT = 2
"""Fewest rows of a task in a split: a single one carries no information."""
HeldOutRows = Annotated[int, Field(ge=FEWEST_HELD_OUT, strict=True)]
"""Rows of a task in a split."""
FEWEST_ORDERS = 1_500
MOST_ORDERS = 100_000


class StateConfig(Section):
    """Locations of what the pipeline keeps."""

    root: Path = Path(".tucano")
    """Folder of artifacts and of MLflow's and Prefect's state."""
    mirror: str | None = None
    """Folder or `gs://bucket/prefix` of checkpoints; `mirror` in the root."""
    artifacts: str | None = None
    """Folder or `gs://bucket/prefix` that machines share."""
    mlflow: str | None = None
    """MLflow server, or `sqlite:///FILE`; a store in the root."""

    @field_validator("mirror", "artifacts")
    @classmethod
    def _is_a_folder_or_a_bucket(cls, address: str | None, info: ValidationInfo) -> str | None:
        if address and "://" in address and not address.startswith("gs://"):
            raise ValueError(f"{info.field_name} {address!r} is neither a folder nor gs://bucket/prefix")
        return address

    @field_validator("mlflow")
    @classmethod
    def _is_an_address_without_a_password(cls, address: str | None) -> str | None:
        if address is None or address.startswith("sqlite:///"):
            return address
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("mlflow is neither http(s)://HOST nor sqlite:///FILE; correct the address")
        if parts.password is not None or parts.username is not None:
            raise ValueError(
                "mlflow holds a user or a password; leave them out, and set MLFLOW_TRACKING_USERNAME and "
                "MLFLOW_TRACKING_PASSWORD instead"
            )
        return address


class SynthesizeConfig(Section):
    """The store and its prompts."""

    source: Literal["simulated", "olist", "files"] = "simulated"
    """A simulated store, Olist's CSV files, or [own files](your-data.md)."""
    olist_dir: Path | None = None
    """The folder of Olist's CSV files."""
    files: Path | None = None
    """The column map of own files."""
    orders: int | None = Field(default=None, ge=50, le=MOST_ASKED)
    """Orders to simulate; one a prompt, from 1,500 to 100,000."""
    counts: dict[TaskName, Annotated[int, Field(ge=0)]]
    """Prompts to make, by task."""
    logs: Path | None = None
    """Folder of a served model's logs, whose answered prompts are added."""
    minority_floor: int = Field(default=500, ge=0)
    """Fewer prompts of a task give a warning."""

    @property
    def orders_to_simulate(self) -> int:
        """Return the size of a simulated store."""
        if self.orders is not None:
            return self.orders
        return min(max(sum(self.counts.values()), FEWEST_ORDERS), MOST_ORDERS)

    @model_validator(mode="after")
    def _source_and_counts_are_possible(self) -> "SynthesizeConfig":
        if self.source == "olist" and self.olist_dir is None:
            raise ValueError("source is 'olist' but olist_dir is not set; add --set synthesize.olist_dir=FOLDER")
        if (self.source == "files") != (self.files is not None):
            raise ValueError(
                f"source is {self.source!r} and files is {'not set' if self.files is None else self.files}; a column "
                'map belongs to source = "files": set both or neither'
            )
        if not any(self.counts.values()):
            raise ValueError("counts asks for no prompt at all; give at least one task a count")
        if sum(self.counts.values()) > MOST_ASKED:
            raise ValueError(f"counts asks for {sum(self.counts.values())} prompts; {MOST_ASKED:,} is the most")
        return self


class GeneralConfig(Section):
    """General Portuguese instructions for the warm start (the Cocktail Effect)."""

    path: Path | None = None
    """JSON Lines of `{"system", "prompt", "completion"}`; the shipped ones."""
    share: float = Field(gt=0, lt=1)
    """Share of general instructions in the warm start's rows."""
    name: str = Field(default="Tucano2-Commerce general demonstrations", min_length=1, pattern=r"^[\w .:/()-]+$")
    """Name on the data card; set it for an own file."""
    licence: str = Field(default="Apache-2.0; written by this project", min_length=1)
    """Licence on the data card; set it for an own file."""

    @property
    def file(self) -> Path:
        """Return the file of instructions, the shipped one where none is set."""
        return DEMONSTRATIONS_FILE if self.path is None else self.path

    @model_validator(mode="after")
    def _a_file_of_ones_own_has_its_own_terms(self) -> "GeneralConfig":
        if self.path is not None and not {"name", "licence"} <= self.model_fields_set:
            raise ValueError(
                f"path is {self.path}, and the data card would state name and licence of the shipped instructions; "
                "set general.name and general.licence, too"
            )
        return self


class CurateConfig(Section):
    """Validation, scrubbing, deduplication and split."""

    validation_per_task: HeldOutRows | dict[TaskName, Annotated[int, Field(ge=0)]] = 10
    """Prompts of each task that choose the checkpoint."""
    test_per_task: HeldOutRows | dict[TaskName, Annotated[int, Field(ge=0)]] = 40
    """Prompts of each task for the evaluation only."""
    held_out_share: float = Field(default=0.25, gt=0, lt=1)
    """Share of customers never trained on; never lower it between versions."""
    split_seed: int = Field(default=42, ge=0)
    """Key of the hash that holds customers out; never change it."""
    max_prompt_tokens: int = Field(default=1024, ge=50)
    """Longer prompts go to quarantine."""
    near_duplicate_threshold: float = Field(default=0.7, ge=0.5, lt=1)
    """Jaccard similarity from which prompts are compared as near-duplicates."""
    general: GeneralConfig | None = None
    """General instructions for the warm start."""
    known_to_base: Path | None = None
    """Prompts the base was trained on, which test nothing."""
    references: Path | None = None
    """People's references for validation and test prompts."""
    workers: int = Field(default=2, ge=1, le=256)
    """Shards processed at once."""
    shard_rows: int = Field(default=20_000, ge=1_000)
    """Rows that one worker has in memory."""

    def validation_rows(self, task: TaskName) -> int:
        """Return how many prompts of a task validation has."""
        sizes = self.validation_per_task
        return sizes if isinstance(sizes, int) else sizes.get(task, 0)

    def test_rows(self, task: TaskName) -> int:
        """Return how many prompts of a task test has."""
        sizes = self.test_per_task
        return sizes if isinstance(sizes, int) else sizes.get(task, 0)

    def refuse_without_size(self, task: TaskName) -> None:
        """Refuse prompts of a task that a table of sizes gives too few of; other tasks need no number."""
        for name, rows in (("validation", self.validation_rows(task)), ("test", self.test_rows(task))):
            if rows < FEWEST_HELD_OUT:
                raise InputError(f"curate.{name}_per_task gives {task} {rows}; give it {FEWEST_HELD_OUT} or more")


class RewardsConfig(Section):
    """The reward specification."""

    spec: SpecName = "grounded"
    """What code checks and the reference knows, or the V4.2 report's reward."""
    phrases: Path | None = None
    """A shop's own openers of pushes, by `tucano phrases add`."""


class AuditConfig(Section):
    """The gate that rewards must pass before training."""

    sheet: Path | None = None
    """A scored sheet; set it together with its rollouts."""
    rollouts: Path | None = None
    """The rollouts that the sheet's rows are from."""
    store: Path | None = None
    """Folder of the rollouts' store; `store` beside them."""
    require_human: bool = True
    """Accept only scores of kind `human`."""
    raters: tuple[str, ...] = ()
    """Accepted raters; anybody where empty."""
    scores_per_task: int = Field(default=40, ge=5)
    """Completions of each task on a sampled sheet."""
    completions_per_prompt: int = Field(default=8, ge=2)
    """Completions sampled for each prompt."""
    days_to_score: float = Field(default=7, gt=0, le=365)
    """Days that a suspended run waits for people."""
    min_scores_per_task: int = Field(default=40, ge=5)
    """Fewest scored completions of a task."""
    min_rho: float = Field(default=0.70, ge=-1, le=1)
    """Smallest Spearman rho of a task."""
    min_rho_low: float = Field(default=0.50, ge=-1, le=1)
    """Smallest lower bound of a task's rho."""
    min_within_prompt_rho: float = Field(default=0.0, ge=-1, le=1)
    """Smallest mean rho among completions of one prompt."""
    min_alpha: float = Field(default=0.67, ge=-1, le=1)
    """Smallest ordinal Krippendorff alpha between raters."""
    min_overlap: int = Field(default=20, ge=2)
    """Completions with two raters from which alpha is checked."""
    max_worst_in_top_quartile: int = Field(default=0, ge=0)
    """Most completions scored 1 with a top-quartile reward."""
    max_best_without_reward: float = Field(default=0.05, ge=0, le=1)
    """Largest share of completions scored 5 with reward 0."""
    max_constant_groups: float = Field(default=0.5, ge=0, le=1)
    """Largest share of prompts whose rewards are all equal."""

    @property
    def prompts_per_task(self) -> int:
        """Return the prompts of each task on a sampled sheet: two scores each, for many answers are alike."""
        return math.ceil(self.scores_per_task / 2)

    def thresholds(self) -> dict[str, float]:
        """Return the settings that decide the gate's verdict: all `min_` and `max_`, and whether people must score."""
        deciding = {"require_human", *(name for name in AuditConfig.model_fields if name.startswith(("min_", "max_")))}
        return {name: float(value) for name, value in self.model_dump(include=deciding).items()}

    @model_validator(mode="after")
    def _a_sheet_has_its_rollouts_and_scores_enough(self) -> "AuditConfig":
        if (self.sheet is None) != (self.rollouts is None):
            raise ValueError("sheet and rollouts belong together; set both or neither")
        if self.scores_per_task < self.min_scores_per_task:
            raise ValueError(
                f"scores_per_task {self.scores_per_task} is below min_scores_per_task {self.min_scores_per_task}, so "
                "that no sheet could pass; raise the first or lower the second"
            )
        return self


class Config(Section):
    """The whole configuration of a pipeline run."""

    seed: int = Field(default=42, ge=0)
    """Source of all randomness."""
    state: StateConfig = StateConfig()
    """Locations of state."""
    synthesize: SynthesizeConfig
    """Store and prompts."""
    curate: CurateConfig = CurateConfig()
    """The dataset."""
    policy: PolicyConfig = PolicyConfig()
    """The base model."""
    warm_start: WarmStartConfig = WarmStartConfig()
    """Supervised fine-tuning."""
    rewards: RewardsConfig = RewardsConfig()
    """The rewards that are audited, trained on and evaluated."""
    audit: AuditConfig = AuditConfig()
    """The reward audit."""
    train: TrainConfig = TrainConfig()
    """GRPO."""
    evaluate: EvaluateConfig = EvaluateConfig()
    """Statistical evaluation."""
    promote: PromoteConfig = PromoteConfig()
    """Promotion."""
    workers: WorkersConfig = WorkersConfig()
    """Work on other machines."""
    serve: ServeConfig = ServeConfig()
    """Serving of the champion."""
    monitor: MonitorConfig = MonitorConfig()
    """Monitoring of the serving model."""
    report: ReportConfig = ReportConfig()
    """Pages and texts for people."""

    @property
    def language(self) -> Language:
        """Return the language of the reports."""
        return language_of(self.report.language, self.synthesize.source)

    @property
    def validation_prompts(self) -> int:
        """Return the number of validation prompts of all tasks."""
        return sum(self.curate.validation_rows(task) for task, count in self.synthesize.counts.items() if count)

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """Return the rungs that answer: without a step after it, SFT is the policy itself."""
        return tuple(rung for rung in self.evaluate.rungs if rung != "sft" or self.train.max_steps)

    @model_validator(mode="after")
    def _something_is_trained_and_kept(self) -> "Config":
        """Require steps, and shared state: else another machine's disk and MLflow store would be lost with it."""
        if not self.train.max_steps and not self.warm_start.steps:
            raise ValueError("train.max_steps and warm_start.steps are 0, so nothing would be trained; set one of them")
        state = self.state
        for name in ("training", "inference"):
            deployment = getattr(self.workers, name)
            if deployment is not None and state.artifacts is None:
                raise ValueError(
                    f"workers.{name} is {deployment!r}, and state.artifacts does not say where the machines hand "
                    "artifacts over; set it to gs://bucket/prefix, or to a folder that both reach"
                )
        if self.workers.training is None or not (state.artifacts or "").startswith("gs://"):
            return self
        if not (state.mirror or "").startswith("gs://"):
            raise ValueError(
                "state.artifacts is a bucket, and state.mirror is none, so that checkpoints would be lost with the "
                "machine that trains; set it to gs://bucket/prefix"
            )
        if not (state.mlflow or "").startswith("http"):
            raise ValueError(
                "state.artifacts is a bucket, and state.mlflow is no server, which the machine that trains would not "
                "reach; set it to the server's address"
            )
        return self
