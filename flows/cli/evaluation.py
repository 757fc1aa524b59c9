"""Evaluation as a result, and as the background of two files of scores: its settings, and what else it examined."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flows.cli.result import Table
from flows.runtime.console import warn
from schemas.artifact import ArtifactRecord
from schemas.config.evaluate import BASELINES
from schemas.config.report import Language, language_of
from schemas.documents import PairedScore
from schemas.errors import InputError
from tasks.evaluate.compare import BASE, TUNED, Comparison, scores_file
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactDamaged, ArtifactStore
from tasks.lineage.store.inventory import short

if TYPE_CHECKING:
    from tasks.evaluate.decision import Compare

BESIDE: Final = "floors, baselines, variety, general instructions, champion and rungs"
"""What an evaluation examines beside the scores of base and tuned."""


@dataclass(frozen=True)
class KeptEvaluation:
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


def evaluation_of(base: Path, tuned: Path) -> KeptEvaluation | None:
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
    return KeptEvaluation(record, folder, [base.name, tuned.name] == [scores_file(BASE), scores_file(TUNED)])


def report_parts(report: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield the content of a `report.json`: scores, ground truth where known, and the gate's reasons."""
    title = "Scores of n test prompts, base against tuned; p gain is corrected for the number of tasks"
    yield _scores(title, report)
    if claims := report.get("claims"):
        rows = {
            task: {
                **claim,
                "tuned": report["tasks"][task]["mean_tuned"],
                **{name: each["scores"]["mean_base"] for name, each in claim["baselines"].items()},
            }
            for task, claim in claims.items()
        }
        columns = f"name tuned {' '.join(BASELINES)} variety,_base=base_variety variety,_tuned=variety"
        title = "Scores of answers that take no model, and the answers' variety beside the references'"
        yield Table(title, rows, columns)
    if report["ground_truth"]:
        yield _scores("Ground truth of the same answers, which is no reward", report["ground_truth"])
    if report.get("general"):
        yield report["general"]["finding"]
    yield f"the gate says {report['gate']['verdict']}:"
    yield from (f"- {reason}" for reason in report["gate"]["reasons"])


def _scores(title: str, blocks: Mapping[str, Any]) -> Table:
    columns = "base=mean_base tuned=mean_tuned gain=mean_difference 95_%_interval=ci_low..ci_high"
    return Table(
        title,
        {**blocks["tasks"], "overall": blocks["overall"]},
        f"name n=n_prompts {columns} p_gain=p_holm p_harm verdict",
    )


def decided(
    evaluation: KeptEvaluation | None,
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

        over_rungs = evaluation.record.config.get("promote", {}).get("over_rungs", "report")
        try:
            conditions = read_conditions(evaluation.folder, base, tuned, over_rungs, compare)
        except InputError as error:
            warn(str(error))
            why = "what the evaluation says of them cannot be read"
        else:
            found = conditions.decide(matched(base, tuned, compare), margin, compare)
            return found, f"examined, as by evaluation {short(evaluation.record.sha256)}: {BESIDE}"
    return compare(base, tuned), f"not examined, for {why}: {BESIDE}; the verdicts are of the scores alone"
