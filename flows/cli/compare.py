"""Command `tucano compare`: compare two files of scores, and size the next comparison."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from flows.cli.compare_evaluation import Evaluation, decided, evaluation_of
from flows.cli.options import UNDONE, Json, emit
from flows.cli.tables.compare import print_plan, print_report
from flows.runtime.console import show
from flows.runtime.signals import interruptible
from schemas.config.evaluate import TRUTH_LOSS
from schemas.digests import file_sha256
from schemas.errors import InputError
from schemas.scratch import scratch_folder
from schemas.shown_text import as_shown
from tasks.evaluate.compare import REPORT_FILE, Comparison, write_report
from tasks.evaluate.compare import compare as compare_scores
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.figures import draw
from tasks.evaluate.report.page import REPORT_PAGE, REPORT_TEXT, write_report_files
from tasks.evaluate.report.sentences import headline
from tasks.evaluate.stats.pairing import read_scores
from tasks.evaluate.stats.sample_size import PLANNED_SAMPLES, plan, read_comparison
from tasks.lineage.store.inventory import short
from tasks.report.language import spoken

OF_A_COMPARISON: Final = {"base": "BASE", "tuned": "TUNED"} | {
    name: f"--{name}" for name in ("report", "margin", "seed", "resamples")
}
OR_THE_EVALUATIONS: Final = "If not given, that of the evaluation that the files are in, else"


@dataclass(frozen=True)
class _Settings:
    """How two files are compared where neither the command line nor an evaluation says otherwise."""

    margin: float = 0.05
    resamples: int = 10_000
    seed: int = 0
    truth_loss: float = TRUTH_LOSS


def compare(
    context: typer.Context,
    base: Annotated[Path | None, typer.Argument(help="JSON Lines of the base model's scores.")] = None,
    tuned: Annotated[Path | None, typer.Argument(help="JSON Lines of the tuned model's scores.")] = None,
    margin: Annotated[
        float | None,
        typer.Option(help=f"The largest loss that is acceptable, in score; set it first. {OR_THE_EVALUATIONS} 0.05."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help=f"Seed of the resampling, 0 or more. {OR_THE_EVALUATIONS} 0.")
    ] = None,
    resamples: Annotated[
        int | None, typer.Option(help=f"Bootstrap and permutation resamples. {OR_THE_EVALUATIONS} 10000.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="The folder of the report, in place of an earlier one; if not given, none is written."),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="An earlier report.json: say what an effect would need, and compare nothing.")
    ] = None,
    effect: Annotated[
        float | None, typer.Option(help="With --plan: the true difference to find; the report's margin if not given.")
    ] = None,
    language: Annotated[
        Literal["en", "pt"] | None,
        typer.Option(help=f"Language of the report: English or Portuguese. {OR_THE_EVALUATIONS} English."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two models' scores, and say whether the second may be promoted; exit code 3 where it is held."""
    if plan is not None:
        sources = {name: context.get_parameter_source(name) for name in OF_A_COMPARISON}
        given = [OF_A_COMPARISON[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"]
        if given:
            raise InputError(f"--plan compares nothing, so it goes without {', '.join(given)}; leave them out")
        _plan(plan, effect, as_json=as_json)
        return
    if base is None or tuned is None:
        raise InputError("give BASE.jsonl and TUNED.jsonl, or --plan REPORT.json and no scores")
    if effect is not None:
        raise InputError(f"--effect {effect} is for --plan REPORT.json; leave it out")

    with interruptible(UNDONE):
        _refuse_one_file(base, tuned)
        evaluation = evaluation_of(base, tuned)
        options = {"margin": margin, "resamples": resamples, "seed": seed}
        settings = _settings(evaluation, {name: value for name, value in options.items() if value is not None})
        with spoken(language or (evaluation.language if evaluation else "en")):
            comparison, examined = _compare(base, tuned, report, evaluation, settings)
    document = comparison.report()
    show(f"{comparison.gate.verdict}: {headline(comparison)}")
    print_report(document)
    show(examined)
    if report is not None:
        show(f"report: {report / REPORT_PAGE}")
    emit(document, as_json=as_json)
    if comparison.gate.verdict != "promote":
        raise typer.Exit(3)


def _refuse_one_file(base: Path, tuned: Path) -> None:
    try:
        same = base.exists() and tuned.exists() and base.samefile(tuned)
    except OSError as error:
        raise InputError(f"{base} or {tuned} cannot be read ({error.strerror}); name two files of scores") from None
    if same:
        raise InputError(f"{base} and {tuned} are the same file; give the scores of two models")


def _settings(evaluation: Evaluation | None, given: Mapping[str, Any]) -> _Settings:
    """Return how to compare: as asked, else as the evaluation did; and say so where there is one."""
    if evaluation is None:
        return _Settings(**given)
    settings = _Settings(**{**evaluation.settings, **given})
    show(
        f"evaluation {short(evaluation.record.sha256)} of {evaluation.record.created_at:%Y-%m-%d %H:%M}, compared by "
        f"seed {settings.seed}, margin {settings.margin:g}, {settings.resamples} resamples"
        + (f" ({', '.join(given)} as given)" if given else "")
    )
    return settings


def _compare(
    base: Path, tuned: Path, report: Path | None, evaluation: Evaluation | None, settings: _Settings
) -> tuple[Comparison, str]:
    """Compare two files, and write the report; return with the comparison what was examined beside the scores."""

    def compared() -> tuple[Comparison, str]:
        by_settings = partial(compare_scores, **asdict(settings))
        return decided(evaluation, read_scores(base), read_scores(tuned), settings.margin, by_settings)

    if report is None:
        return compared()
    with _report_folder(report, (REPORT_PAGE, REPORT_TEXT, REPORT_FILE)) as draft:
        comparison, examined = compared()
        # A pipe can be read only once.
        files = {"base scores": base, "tuned scores": tuned}
        background = Background(identities={name: file_sha256(path) for name, path in files.items() if path.is_file()})
        write_report(comparison.report(), draft)
        write_report_files(comparison, background, draft, draw(comparison, background))
    return comparison, examined


@contextmanager
def _report_folder(folder: Path, files: Sequence[str]) -> Iterator[Path]:
    """Provide an empty folder for a report's files, which then replace, in their order, those of the given folder.

    Unlike `new_folder` it leaves other files there alone, such as the scores that are compared.

    Raises:
        InputError: The folder cannot be written.
    """
    missing: list[Path] = []
    try:
        with ExitStack() as stack:
            try:
                missing += [each for each in (folder, *folder.parents) if not each.exists()]
                folder.mkdir(parents=True, exist_ok=True)
                in_the_way = [name for name in files if (folder / name).is_dir()]
                draft = stack.enter_context(scratch_folder(folder))
            except OSError as error:
                raise InputError(
                    f"{folder} cannot be written ({error.strerror}); give a folder that you may write"
                ) from None
            if in_the_way:
                raise InputError(f"{folder / in_the_way[0]} is a folder where a file goes; give another --report")
            yield draft
            for file in files:
                (draft / file).replace(folder / file)
    except BaseException:
        for each in missing:
            # Another process may have put something there in the meantime.
            with suppress(OSError):
                each.rmdir()
        raise


def _plan(report: Path, effect: float | None, *, as_json: bool) -> None:
    earlier = read_comparison(report)
    wanted = earlier.margin if effect is None else effect
    # One sample says nothing about the variance between samples, so that no number of them can be planned.
    several = any(found.sample + found.base_sample > 0 for found in earlier.components.values())
    samples = PLANNED_SAMPLES if several else (1,)
    needs = {scope: plan(found, wanted, samples=samples) for scope, found in earlier.components.items()}
    print_plan(needs, wanted, earlier.n_seeds)
    if earlier.without_spread:
        unknown = ", ".join(map(as_shown, earlier.without_spread))
        show(f"no spread to plan by: {unknown}, whose prompts have one difference")
    found = {scope: [asdict(need) for need in of_scope] for scope, of_scope in needs.items()}
    emit({"effect": wanted, "needs": found}, as_json=as_json)
