"""Evaluation whose scores are compared, found by their record: its settings, and what it examined beside the scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flows.runtime.console import warn
from schemas.artifact import ArtifactRecord
from schemas.config.report import Language, language_of
from schemas.documents import PairedScore
from schemas.errors import InputError
from tasks.evaluate.compare import BASE, TUNED, Comparison, scores_file
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactDamaged, ArtifactStore
from tasks.lineage.store.inventory import short

if TYPE_CHECKING:
    from tasks.evaluate.decision import Compare, GateConditions

BESIDE: Final = "floors, baselines, variety, general instructions, champion and rungs"
"""What an evaluation examines beside the scores of base and tuned."""


@dataclass(frozen=True)
class Evaluation:
    """The evaluation that two files of scores are of."""

    record: ArtifactRecord
    folder: Path
    of_base_and_tuned: bool
    """Whether the files are those by which it decided."""

    @property
    def settings(self) -> dict[str, Any]:
        """Return how it compared."""
        evaluate = self.record.config["evaluate"]
        known = {name: evaluate[name] for name in ("margin", "resamples", "truth_loss") if name in evaluate}
        return {"seed": self.record.config["seed"], **known}

    @property
    def language(self) -> Language:
        """Return the language of its reports."""
        report, synthesize = (self.record.config.get(name, {}) for name in ("report", "synthesize"))
        return language_of(report.get("language"), synthesize.get("source", "simulated"))


def evaluation_of(base: Path, tuned: Path) -> Evaluation | None:
    """Return the evaluation in whose artifact both files are; None where they are in none."""
    folder = base.resolve().parent
    if tuned.resolve().parent != folder or not (folder.parent / RECORD_FILE).is_file():
        return None
    try:
        record = ArtifactStore(folder.parents[2]).record(folder.parent.name)
    except ArtifactDamaged as error:
        warn(f"{error}; the files are compared without what it says of them")
        return None
    if record.kind != "evaluation" or not record.config:
        return None
    return Evaluation(record, folder, [base.name, tuned.name] == [scores_file(BASE), scores_file(TUNED)])


def decided(
    evaluation: Evaluation | None,
    base: Sequence[PairedScore],
    tuned: Sequence[PairedScore],
    margin: float,
    compare: "Compare",
) -> tuple[Comparison, str]:
    """Compare two models by all that is known of them; return with it a sentence on what was examined.

    Args:
        evaluation: The evaluation that the scores are of, if they are of one.
        base: Scores of the base.
        tuned: Scores of the tuned model.
        margin: The largest acceptable loss of a task, in score.
        compare: Compares the second scores with the first.
    """
    if evaluation is None:
        why = "the files are of no evaluation's artifact"
    elif not evaluation.of_base_and_tuned:
        why = f"the evaluation has them for {scores_file(BASE)} and {scores_file(TUNED)} alone"
    else:
        # Two files of nobody's evaluation need none of its libraries.
        from tasks.evaluate.decision import matched, read_conditions  # noqa: PLC0415

        over_rungs = _over_rungs(evaluation.record.config)
        try:
            conditions = read_conditions(evaluation.folder, base, tuned, over_rungs, compare)
        except InputError as error:
            warn(str(error))
            why = "what the evaluation says of them cannot be read"
        else:
            found = conditions.decide(matched(base, tuned, compare), margin, compare)
            return found, f"examined, as by evaluation {short(evaluation.record.sha256)}: {_listed(conditions)}"
    return compare(base, tuned), f"not examined, for {why}: {BESIDE}; the verdicts are of the scores alone"


def _over_rungs(config: Mapping[str, Any]) -> Any:
    return config.get("promote", {}).get("over_rungs", "report")


def _listed(conditions: "GateConditions") -> str:
    """Return what was examined beside the scores, in words."""
    claims = conditions.claims.values()
    baselines = dict.fromkeys(name for claim in claims for name in claim.baselines)
    floors = sum(len(claim.floors) for claim in claims)
    found = [
        f"{floors} floor{'' if floors == 1 else 's'}" if floors else "",
        f"baselines {', '.join(baselines)}" if baselines else "",
        "variety" if any(claim.variety is not None for claim in claims) else "",
        f"seed {conditions.chosen_seed} alone" if conditions.alone else "",
        "champion" if conditions.champion else "",
        f"rungs {', '.join(rung.name for rung in conditions.ladder)}" if conditions.ladder else "",
        "general instructions" if conditions.general else "",
    ]
    return "; ".join(each for each in found if each) or "nothing beside the scores"
