"""Command `tucano compare`: compare two files of scores by an evaluation's settings, and size the next comparison."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from flows.cli.result import Table, new_folder, plural, show
from flows.cli.tucano import UNDONE, Json, ReportLanguage
from flows.runtime.console import say, warn
from flows.runtime.signals import interruptible
from schemas.artifact import ArtifactRecord
from schemas.config.evaluate import BASELINES, TRUTH_LOSS
from schemas.config.report import language_of
from schemas.digests import file_sha256
from schemas.errors import InputError
from schemas.shown_text import as_shown
from tasks.evaluate.compare import BASE, REPORT_FILE, REPORT_TEXT, TUNED, Comparison, scores_file, write_report
from tasks.evaluate.compare import compare as compare_scores
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.page import REPORT_PAGE, draw, write_report_files
from tasks.evaluate.report.sentences import headline
from tasks.evaluate.stats.pairing import read_scores
from tasks.evaluate.stats.variance import PLANNED_SAMPLES, plan, read_comparison
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactDamaged, ArtifactStore
from tasks.lineage.store.inventory import short
from tasks.report.language import spoken
from tasks.report.wording import worded

OR_THE_EVALUATIONS: Final = "If not given, that of the evaluation that the files are in, else"
DEFAULTS: Final = {"margin": 0.05, "resamples": 10_000, "seed": 0, "truth_loss": TRUTH_LOSS}
"""How two files are compared where neither the command line nor an evaluation says otherwise."""
BESIDE: Final = "floors, baselines, variety, general instructions, champion and rungs"
"""What an evaluation examines beside the scores of base and tuned."""
REASONS: Final = {"What speaks for it": "for", "What speaks against it": "against", "Good to know": "good_to_know"}


def compare(
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
    language: ReportLanguage = None,
    as_json: Json = False,
) -> None:
    """Compare two models' scores, and say whether the second may be promoted; exit code 3 where it is held."""
    compares = [each for each in (margin, seed, resamples, report) if each is not None]
    if (plan is None) == (base is None) or (base is None) != (tuned is None) or (effect if plan is None else compares):
        raise InputError(
            "give BASE.jsonl and TUNED.jsonl with options of a comparison, or --plan REPORT.json and --effect"
        )
    if plan is not None:
        _plan(plan, effect, as_json=as_json)
    elif base is not None and tuned is not None:
        options = {"margin": margin, "resamples": resamples, "seed": seed}
        chosen = {name: value for name, value in options.items() if value is not None}
        with interruptible(UNDONE):
            _refuse_one_file(base, tuned)
            evaluation = _evaluation_of(base, tuned)
            with spoken(language or (_language_of(evaluation) if evaluation else "en")):
                comparison, examined = _compare(base, tuned, report, evaluation, chosen)
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
    base: Path, tuned: Path, report: Path | None, evaluation: ArtifactRecord | None, chosen: Mapping[str, Any]
) -> tuple[Comparison, str]:
    """Compare two files, and write the report; return with the comparison what was examined beside the scores."""
    settings = {**DEFAULTS, **(_settings_of(evaluation) if evaluation else {}), **chosen}
    if evaluation:
        say(
            f"evaluation {short(evaluation.sha256)} of {evaluation.created_at:%Y-%m-%d %H:%M}, compared by seed "
            f"{settings['seed']}, margin {settings['margin']:g}, {settings['resamples']} resamples"
            + (f" ({', '.join(chosen)} as given)" if chosen else "")
        )
    if report is None:
        return _decide(evaluation, base, tuned, settings)
    with new_folder(report, {REPORT_PAGE, REPORT_TEXT, REPORT_FILE}) as draft:
        comparison, examined = _decide(evaluation, base, tuned, settings)
        # A pipe can be read only once.
        files = {"base scores": base, "tuned scores": tuned}
        background = Background(identities={name: file_sha256(path) for name, path in files.items() if path.is_file()})
        write_report(comparison.report(), draft)
        write_report_files(comparison, background, draft, draw(comparison))
    return comparison, examined


def _evaluation_of(base: Path, tuned: Path) -> ArtifactRecord | None:
    """Return the evaluation in whose artifact both files are; None where they are in none."""
    folder = base.resolve().parent
    if tuned.resolve().parent != folder or not (folder.parent / RECORD_FILE).is_file():
        return None
    try:
        record = ArtifactStore(folder.parents[2]).record(folder.parent.name)
    except ArtifactDamaged as error:
        warn(f"{error}; the files are compared without what it says of them")
        return None
    return record if record.kind == "evaluation" and record.config else None


def _settings_of(evaluation: ArtifactRecord) -> dict[str, Any]:
    config = evaluation.config or {}
    known = {name: config["evaluate"][name] for name in DEFAULTS if name in config["evaluate"]}
    return {"seed": config["seed"], **known}


def _language_of(evaluation: ArtifactRecord) -> Any:
    report, synthesize = ((evaluation.config or {}).get(name, {}) for name in ("report", "synthesize"))
    return language_of(report.get("language"), synthesize.get("source", "simulated"))


def _decide(
    evaluation: ArtifactRecord | None, base: Path, tuned: Path, settings: Mapping[str, Any]
) -> tuple[Comparison, str]:
    """Compare two models by all that is known of them; return with it a sentence on what was examined."""
    of_base, of_tuned = read_scores(base), read_scores(tuned)
    by_settings: Callable[..., Comparison] = partial(compare_scores, **settings)
    if evaluation is None:
        why = "the files are of no evaluation's artifact"
    elif [base.name, tuned.name] != [scores_file(BASE), scores_file(TUNED)]:
        why = f"the evaluation has them for {scores_file(BASE)} and {scores_file(TUNED)} alone"
    else:
        # Two files of nobody's evaluation need none of its libraries.
        from tasks.evaluate.decision import read_evidence  # noqa: PLC0415

        over_rungs = (evaluation.config or {}).get("promote", {}).get("over_rungs", "report")
        try:
            evidence, scores = read_evidence(base.resolve().parent, over_rungs)
        except InputError as error:
            warn(str(error))
            why = "what the evaluation says of them cannot be read"
        else:
            found = evidence.decide(scores, settings["margin"], by_settings)
            return found.comparison, f"examined, as by evaluation {short(evaluation.sha256)}: {BESIDE}"
    return by_settings(of_base, of_tuned), f"not examined, for {why}: {BESIDE}; the verdicts are of the scores alone"


def report_parts(report: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield the content of a `report.json`: scores, ground truth where known, and the gate's reasons in three lists."""
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
        title = "Scores of baselines, and the answers' variety beside the references'"
        yield Table(title, rows, columns)
    if report["ground_truth"]:
        yield _scores("Ground truth of the same answers, which is no reward", report["ground_truth"])
    if report.get("general"):
        yield report["general"]["finding"]
    yield f"the gate says {report['gate']['verdict']}"
    for title, name in REASONS.items():
        if sentences := report["gate"][name]:
            yield f"{worded(title)}:"
            yield from (f"- {sentence}" for sentence in sentences)


def _scores(title: str, blocks: Mapping[str, Any]) -> Table:
    columns = "base=mean_base tuned=mean_tuned gain=mean_difference 95_%_interval=ci_low..ci_high"
    return Table(
        title,
        {**blocks["tasks"], "overall": blocks["overall"]},
        f"name n=n_prompts {columns} p_gain=p_holm p_harm verdict",
    )


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
