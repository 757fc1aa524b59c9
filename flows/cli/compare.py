"""Command `tucano compare`: compare two files of scores, and size the next comparison."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from flows.cli.evaluation import KeptEvaluation, decided, evaluation_of, report_parts
from flows.cli.result import Table, plural, show
from flows.cli.tucano import UNDONE, Json
from flows.runtime.console import say
from flows.runtime.signals import interruptible
from schemas.config.evaluate import TRUTH_LOSS
from schemas.digests import file_sha256
from schemas.errors import InputError
from schemas.scratch import scratch_folder
from schemas.shown_text import as_shown
from tasks.evaluate.compare import REPORT_FILE, REPORT_TEXT, Comparison, write_report
from tasks.evaluate.compare import compare as compare_scores
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.figures import draw
from tasks.evaluate.report.page import REPORT_PAGE, write_report_files
from tasks.evaluate.report.sentences import headline
from tasks.evaluate.stats.pairing import read_scores
from tasks.evaluate.stats.sample_size import PLANNED_SAMPLES, plan, read_comparison
from tasks.lineage.store.inventory import short
from tasks.report.language import spoken

OF_A_COMPARISON: Final = {"base": "BASE", "tuned": "TUNED"} | {
    name: f"--{name}" for name in ("report", "margin", "seed", "resamples")
}
OR_THE_EVALUATIONS: Final = "If not given, that of the evaluation that the files are in, else"


DEFAULTS: Final = {"margin": 0.05, "resamples": 10_000, "seed": 0, "truth_loss": TRUTH_LOSS}
"""How two files are compared where neither the command line nor an evaluation says otherwise."""


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
        chosen = {name: value for name, value in options.items() if value is not None}
        settings = {**DEFAULTS, **(evaluation.settings if evaluation else {}), **chosen}
        if evaluation:
            say(
                f"evaluation {short(evaluation.record.sha256)} of {evaluation.record.created_at:%Y-%m-%d %H:%M}, "
                f"compared by seed {settings['seed']}, margin {settings['margin']:g}, {settings['resamples']} resamples"
                + (f" ({', '.join(chosen)} as given)" if chosen else "")
            )
        with spoken(language or (evaluation.language if evaluation else "en")):
            comparison, examined = _compare(base, tuned, report, evaluation, settings)
    document = comparison.report()
    parts = [f"{comparison.gate.verdict}: {headline(comparison)}", *report_parts(document), examined]
    show(document, [*parts, f"report: {report / REPORT_PAGE}"] if report is not None else parts, as_json=as_json)
    if comparison.gate.verdict != "promote":
        raise typer.Exit(3)


def _refuse_one_file(base: Path, tuned: Path) -> None:
    try:
        same = base.exists() and tuned.exists() and base.samefile(tuned)
    except OSError as error:
        raise InputError(f"{base} or {tuned} cannot be read ({error.strerror}); name two files of scores") from None
    if same:
        raise InputError(f"{base} and {tuned} are the same file; give the scores of two models")


def _compare(
    base: Path, tuned: Path, report: Path | None, evaluation: KeptEvaluation | None, settings: Mapping[str, Any]
) -> tuple[Comparison, str]:
    """Compare two files, and write the report; return with the comparison what was examined beside the scores."""

    def compared() -> tuple[Comparison, str]:
        by_settings = partial(compare_scores, **settings)
        return decided(evaluation, read_scores(base), read_scores(tuned), settings["margin"], by_settings)

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
    document = {"effect": wanted, "needs": {scope: [asdict(each) for each in of] for scope, of in needs.items()}}
    show(document, _plan_parts(document, earlier.n_seeds, earlier.without_spread), as_json=as_json)


def _plan_parts(document: Mapping[str, Any], n_seeds: int, without_spread: Sequence[str]) -> Iterator[str | Table]:
    """Yield how many prompts each scope needs, by training seeds and by samples."""
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for scope, needs in document["needs"].items():
        for need in needs:
            row = rows.setdefault((scope, need["samples"]), {"scope": scope, "samples": need["samples"]})
            row[plural(need["seeds"], "seed").replace(" ", "_")] = (
                "never" if need["prompts"] is None else need["prompts"]
            )
    columns = " ".join(dict.fromkeys(name for row in rows.values() for name in row))
    yield Table(f"Prompts that a true difference of {document['effect']:g} needs", list(rows.values()), columns)
    yield "so many find it with power .80, by a one-sided test at .05, if the variance is what the report found"
    if any("never" in row.values() for row in rows.values()):
        yield "never: the training seeds differ so much that no number of prompts is enough; it takes more seeds"
    if n_seeds == 1:
        yield "the report is of one training seed: how much trainings differ is not known, and is not in these numbers"
    if without_spread:
        yield f"no spread to plan by: {', '.join(map(as_shown, without_spread))}, whose prompts have one difference"
