"""Commands `tucano score` and `compare`: rewards of any rollouts, and two files of scores."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.result import Table, new_folder, show
from flows.cli.tucano import UNDONE, Json
from flows.runtime.console import stage_progress
from flows.runtime.language import run_language
from flows.runtime.signals import interruptible
from schemas.config.evaluate import BASELINES, TRUTH_LOSS
from schemas.disk import file_sha256
from schemas.errors import InputError
from schemas.tasks import SpecName
from tasks.commerce.score_file import score_file
from tasks.evaluate.compare import REPORT_FILE, REPORT_TEXT, Comparison, write_report
from tasks.evaluate.compare import compare as compare_scores
from tasks.evaluate.gate import reason_lines
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.page import REPORT_PAGE, draw, write_report_files
from tasks.evaluate.report.sentences import headline
from tasks.evaluate.stats.pairing import read_scores
from tasks.lineage.store.artifacts import RECORD_FILE
from tasks.report.wording import spoken, worded


def score(
    rollouts: Annotated[Path, typer.Argument(help="JSON Lines of rollouts.")],
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    store: Annotated[Path | None, typer.Option(help="Store that sql_qa's questions are about.")] = None,
    out: Annotated[Path | None, typer.Option(help="File of the scored rollouts; replaced if there.")] = None,
    metrics: Annotated[bool, typer.Option("--metrics", help="Measure the ground truth, no reward, too.")] = False,
    as_json: Json = False,
) -> None:
    """Score rollouts of any model with the rewards."""
    with interruptible(UNDONE), stage_progress("score") as progress:
        result = score_file(rollouts, spec, store, out, progress, metrics=metrics)
    title = f"{result['rollouts']} rollouts, spec {result['spec']}, reward version {result['reward_version'][:12]}"
    parts: list[str | Table] = [Table(title, result["tasks"], "task=name rollouts=n reward components")]
    parts += [Table("Ground truth (no reward)", result["tasks"], "task=name metrics")] if metrics else []
    parts += [] if out is None else [f"scored: {out}"]
    show(result, parts, as_json=as_json)


def compare(
    base: Annotated[Path, typer.Argument(help="JSON Lines of the base model's scores.")],
    tuned: Annotated[Path, typer.Argument(help="JSON Lines of the tuned model's scores.")],
    margin: Annotated[float, typer.Option(help="Largest acceptable loss; set it first.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the resampling, 0 or more.")] = 0,
    resamples: Annotated[int, typer.Option(help="Bootstrap and permutation resamples.")] = 10_000,
    report: Annotated[Path | None, typer.Option(help="Folder of the report, in place of an earlier one.")] = None,
    as_json: Json = False,
) -> None:
    """Compare two models' scores, and say whether the second may be promoted; exit code 3 where it is held."""
    settings = {"margin": margin, "resamples": resamples, "seed": seed, "truth_loss": TRUTH_LOSS}
    with interruptible(UNDONE), spoken(run_language()):
        _refuse(base, tuned)
        comparison = _compare(base, tuned, report, **settings)
        parts = [f"{worded(comparison.gate.verdict)}: {headline(comparison)}", *report_parts(comparison.report())]
        parts += [] if report is None else [f"{worded('report')}: {report / REPORT_PAGE}"]
    show(comparison.report(), parts, as_json=as_json)
    if comparison.gate.verdict != "promote":
        raise typer.Exit(3)


def _refuse(base: Path, tuned: Path) -> None:
    """Refuse one file for two, and an evaluation's own: it examined more than the scores, and may hold what they do."""
    try:
        same = base.exists() and tuned.exists() and base.samefile(tuned)
    except OSError as error:
        raise InputError(f"{base} or {tuned} cannot be read ({error.strerror}); name two files of scores") from None
    if same:
        raise InputError(f"{base} and {tuned} are the same file; give the scores of two models")
    for file in (base, tuned):
        if (file.resolve().parent.parent / RECORD_FILE).is_file():
            raise InputError(
                f"{file} is of an evaluation, whose {REPORT_FILE} beside it has the decision by all that was examined; "
                "decide by other settings with `tucano evaluate`, or copy the file to compare the scores alone"
            )


def _compare(base: Path, tuned: Path, report: Path | None, **settings: Any) -> Comparison:
    """Compare two files, and write the report."""
    if report is None:
        return compare_scores(read_scores(base), read_scores(tuned), **settings)
    with new_folder(report, {REPORT_PAGE, REPORT_TEXT, REPORT_FILE}) as draft:
        comparison = compare_scores(read_scores(base), read_scores(tuned), **settings)
        # A pipe can be read only once.
        files = {"base scores": base, "tuned scores": tuned}
        background = Background(identities={name: file_sha256(path) for name, path in files.items() if path.is_file()})
        write_report(comparison.report(), draft)
        write_report_files(comparison, background, draft, draw(comparison))
    return comparison


def report_parts(report: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield the content of a `report.json`: scores, ground truth where known, and the gate's reasons in three lists."""
    title = "Scores of n test prompts, base against tuned; p gain is corrected for the number of tasks"
    yield _scores(title, report)
    rows = {}
    for task, claim in report.get("claims", {}).items():
        scores = {name: each["scores"]["mean_base"] for name, each in claim["baselines"].items()}
        rows[task] = {**claim, "tuned": report["tasks"][task]["mean_tuned"], **scores}
    if rows:
        columns = f"name tuned {' '.join(BASELINES)} var._base=base_variety var._tuned=variety"
        title = "Scores of baselines, and the variety (var.) of answers beside that of references"
        yield Table(title, rows, columns)
    if report["ground_truth"]:
        yield _scores("Ground truth of the same answers, which is no reward", report["ground_truth"])
    if report.get("general"):
        yield report["general"]["finding"]
    yield from reason_lines(report["gate"])


def _scores(title: str, blocks: Mapping[str, Any]) -> Table:
    columns = "base=mean_base tuned=mean_tuned gain=mean_difference 95_%_interval=ci_low..ci_high"
    return Table(
        title,
        {**blocks["tasks"], worded("overall"): blocks["overall"]},
        f"name n=n_prompts {columns} p_gain=p_holm p_harm verdict",
    )
