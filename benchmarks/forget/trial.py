"""One person forgotten by rewinding, beside a training that never saw them: both are children of the train stage."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from flows.stages.rewind import go_on_from
from schemas.config.config import Config
from schemas.digests import file_sha256
from schemas.progress import silent
from schemas.tables.person import Person
from schemas.tables.prompts import TEST_FILE, TRAIN_FILE, VALIDATION_FILE, PromptRow, read_prompts
from schemas.tables.vacancies import read_vacancies
from tasks.audit import stage as audit
from tasks.checkpoints.address import open_mirror
from tasks.curate import stage as curate
from tasks.curate.forget import is_theirs
from tasks.curate.forget import without_person as dataset_without
from tasks.curate.processes import in_processes
from tasks.policy.child import run_child
from tasks.stand_in.model import StandInShape, build_model, build_tokenizer
from tasks.synthesize import stage as synthesize
from tasks.synthesize.forget import without_person as prompts_without
from tasks.train.request import TrainRequest
from tasks.train.summaries import SUMMARY_FILE

CHILD: Final = "tasks.train.children.grpo"
SHAPE: Final = StandInShape(
    vocabulary_size=1024, hidden_size=32, layers=1, heads=2, key_value_heads=1, feed_forward_size=64
)
WITH_TIMES: Final = frozenset({"trainer_state.json"})
"""Files of a checkpoint with something that inputs do not decide: the time of each step."""
SECRET: Final = b"a benchmark's secret decides ids"
TRAINED: Final = "trained"


@dataclass(frozen=True)
class Setting:
    """A trained model, with all that it was made from, in one folder."""

    config: Config
    root: Path
    base_sha256: str
    seconds: float
    """Of the training."""

    @property
    def prompts(self) -> Path:
        """Return the folder of the prompts."""
        return self.root / "prompts"

    @property
    def dataset(self) -> Path:
        """Return the folder of the dataset."""
        return self.root / "dataset"

    def people(self) -> list[str]:
        """Return everybody with a row that trains, sorted."""
        rows = read_prompts(self.dataset / TRAIN_FILE)
        return sorted({row.customer_id for row in rows if row.customer_id is not None})


@dataclass(frozen=True)
class Trial:
    """What forgetting a person came to, beside a training that never saw them."""

    rows: int
    """Their rows that trained."""
    from_step: int
    differences: tuple[str, ...]
    """Files of the policy and of the last checkpoint that differ."""
    compared: int
    """Files that were compared."""
    seconds: float
    """Of forgetting: new data, proof, and the rest of the training."""
    seconds_anew: float
    """Of the training that never saw them."""
    policy: Path
    """Folder of the policy."""
    theirs: tuple[PromptRow, ...]


def prepare(root: Path, config: Config) -> Setting:
    """Make prompts, a dataset, an audit and a tiny base, and train on them."""
    synthesize.run(config.synthesize, config.seed, root / "prompts", silent, root)
    rows = read_prompts(root / "prompts" / "prompts.parquet")
    tokenizer = build_tokenizer([f"{row.system} {row.prompt}" for row in rows], SHAPE.vocabulary_size)
    shape = SHAPE.model_copy(update={"vocabulary_size": len(tokenizer)})
    build_model(shape, tokenizer, config.seed).save_pretrained(root / "base")
    tokenizer.save_pretrained(root / "base")
    policy = config.policy.model_copy(update={"name": str(root / "base"), "stand_in": False})
    (root / "dataset").mkdir()
    curate.run(config.curate, policy, root / "prompts", root / "dataset", silent, in_processes(1))
    (root / "audit").mkdir()
    audit.run(audit.shipped_files(), config.audit, config.rewards.spec, root / "audit")
    base = sha256(b"".join(file.read_bytes() for file in sorted((root / "base").iterdir()))).hexdigest()
    setting = Setting(config, root, base, 0.0)
    seconds = _train(setting, root / "prompts", root / "dataset", TRAINED)
    return Setting(config, root, base, seconds)


def forget(setting: Setting, customer: str) -> Trial:
    """Forget a person by rewinding, and train beside it from the start on the data without them."""
    config, work = setting.config, setting.root / customer[:12]
    work.mkdir()
    rows = read_prompts(setting.dataset / TRAIN_FILE)
    theirs = tuple(row for row in rows if row.customer_id == customer)
    person = Person(
        people=frozenset({customer}),
        orders=frozenset(row.order_id for row in theirs if row.order_id),
        reviews=frozenset(row.review_id for row in theirs if row.review_id),
        prompts=frozenset(row.prompt_id for row in theirs),
    )
    began = time.monotonic()
    prompts, dataset = work / "prompts", work / "dataset"
    prompts.mkdir()
    prompts_without(setting.prompts, person, SECRET, prompts)
    dataset.mkdir()
    dataset_without(setting.dataset, person, dataset)
    left = read_prompts(dataset / TRAIN_FILE)
    if any(is_theirs(row, person) for row in left):
        raise AssertionError("a row of theirs is left")
    rewound = f"rewound-{customer[:12]}"
    step = go_on_from(
        open_mirror(_mirror(setting), TRAINED),
        open_mirror(_mirror(setting), rewound),
        setting.base_sha256,
        ((rows, read_vacancies(setting.dataset)), (left, read_vacancies(dataset))),
        (setting.prompts / "store", prompts / "store"),
        seed=config.seed,
        config=config,
    )
    _train(setting, prompts, dataset, rewound)
    seconds = time.monotonic() - began
    anew = f"anew-{customer[:12]}"
    seconds_anew = _train(setting, prompts, dataset, anew)
    found, wanted = (_bytes_of(setting, name) for name in (rewound, anew))
    differences = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
    return Trial(
        rows=len(theirs),
        from_step=step or 0,
        differences=tuple(differences),
        compared=len(wanted),
        seconds=seconds,
        seconds_anew=seconds_anew,
        policy=_policy(setting, rewound),
        theirs=theirs,
    )


def never_seen(setting: Setting) -> list[PromptRow]:
    """Return the rows that no training reads."""
    return [row for name in (VALIDATION_FILE, TEST_FILE) for row in read_prompts(setting.dataset / name)]


def trained_policy(setting: Setting) -> Path:
    """Return the folder of the policy that saw everybody."""
    return _policy(setting, TRAINED)


def _train(setting: Setting, prompts: Path, dataset: Path, training: str) -> float:
    config, folder = setting.config, setting.root / "work" / training
    request = TrainRequest(
        config=config.train,
        spec=config.rewards.spec,
        validation_temperature=config.evaluate.temperature,
        validation_batch_size=config.evaluate.batch_size,
        max_prompt_tokens=config.curate.max_prompt_tokens,
        seed=config.seed,
        base=setting.root / "base",
        base_sha256=setting.base_sha256,
        dataset=dataset,
        store=prompts / "store",
        audit=setting.root / "audit",
        mirror=_mirror(setting),
        training=training,
        output=_policy(setting, training),
    )
    began = time.monotonic()
    run_child(CHILD, request, folder, interpreter=None, progress=silent)
    return time.monotonic() - began


def _mirror(setting: Setting) -> str:
    return str(setting.root / "mirror")


def _policy(setting: Setting, training: str) -> Path:
    return setting.root / "policies" / training


def _bytes_of(setting: Setting, training: str) -> Mapping[str, str]:
    """Return the sha256 of every file of a policy, and of the last checkpoint but for times.

    Adapter, optimizer, random generators, position among the prompts, rollouts, and the choice by validation.
    """
    policy = _policy(setting, training)
    found = {
        f"policy/{file.relative_to(policy).as_posix()}": file_sha256(file)
        for file in policy.rglob("*")
        if file.is_file()
    }
    if f"policy/{SUMMARY_FILE}" not in found:
        raise AssertionError(f"{policy} has no summary")
    newest = open_mirror(_mirror(setting), training).manifests()[0]
    checkpoint = {f"checkpoint/{name}": file.sha256 for name, file in newest.files.items() if name not in WITH_TIMES}
    return {**found, **checkpoint, "checkpoint's step": str(newest.step)}
