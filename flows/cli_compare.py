"""`tucano compare`: two files of scores against each other, and what a next comparison would need."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from flows.interruption import interruptible
from flows.options import UNDONE, Json
from schemas.errors import InputError

if TYPE_CHECKING:
    from tasks.evaluate.compare import Comparison

REPORT_TEXT: Final = "report.md"
REPORT_FILES: Final = ("report.html", REPORT_TEXT, "report.json")
"""In the order in which they are put into the folder."""
OF_A_COMPARISON: Final = {"base": "BASE", "tuned": "TUNED"} | {
    name: f"--{name}" for name in ("report", "margin", "seed", "resamples")
}


def compare(
    context: typer.Context,
    base: Annotated[Path | None, typer.Argument(help="JSON Lines of the base model's scores.")] = None,
    tuned: Annotated[Path | None, typer.Argument(help="JSON Lines of the tuned model's scores.")] = None,
    margin: Annotated[float, typer.Option(help="The largest loss that is acceptable, in score; set it first.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the resampling, 0 or more.")] = 0,
    resamples: Annotated[int, typer.Option(help="Bootstrap and permutation resamples.")] = 10_000,
    report: Annotated[
        Path | None, typer.Option(help="The folder of the report; an earlier report in it is replaced.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="An earlier report.json: say what an effect would need, and compare nothing.")
    ] = None,
    effect: Annotated[
        float | None, typer.Option(help="With --plan: the true difference to find; the report's margin if not given.")
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
    if base is None or tuned is None or report is None:
        raise InputError("give BASE.jsonl, TUNED.jsonl and --report FOLDER, or --plan REPORT.json and no scores")
    if effect is not None:
        raise InputError(f"--effect {effect} is for --plan REPORT.json; leave it out")
    from flows.console import say
    from flows.print_compare import print_comparison

    with interruptible(UNDONE):
        comparison = _compare(base, tuned, report, margin, resamples, seed)
    print_comparison(comparison)
    say(f"report: {report / 'report.html'}")
    if as_json:
        typer.echo(json.dumps(comparison.report(), ensure_ascii=False))
    if comparison.gate.verdict != "promote":
        raise typer.Exit(3)


def _compare(base: Path, tuned: Path, report: Path, margin: float, resamples: int, seed: int) -> "Comparison":
    from schemas.digests import file_sha256
    from tasks.evaluate.background import Background
    from tasks.evaluate.compare import compare, write_report
    from tasks.evaluate.pairing import read_scores
    from tasks.evaluate.report import write_page
    from tasks.evaluate.report_text import markdown

    if base.exists() and tuned.exists() and base.samefile(tuned):
        raise InputError(f"{base} and {tuned} are the same file; give the scores of two models")
    with _report_folder(report) as draft:
        comparison = compare(read_scores(base), read_scores(tuned), margin=margin, resamples=resamples, seed=seed)
        # A pipe can be read once.
        files = {"base scores": base, "tuned scores": tuned}
        background = Background(identities={name: file_sha256(path) for name, path in files.items() if path.is_file()})
        write_report(comparison.report(), draft)
        write_page(comparison, background, draft)
        (draft / REPORT_TEXT).write_text(markdown(comparison, background), encoding="utf-8")
    return comparison


@contextmanager
def _report_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder to fill with a report's files, which take the place of those in the named one.

    Unlike `new_folder` it leaves alone what else is there, such as the scores that are compared.

    Raises:
        InputError: The folder cannot be written.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            in_the_way = [name for name in REPORT_FILES if (folder / name).is_dir()]
            draft = TemporaryDirectory(prefix=".report-", dir=folder)
        except OSError as error:
            raise InputError(
                f"{folder} cannot be written ({error.strerror}); give a folder that you may write"
            ) from None
        with draft as name:
            if in_the_way:
                raise InputError(f"{folder / in_the_way[0]} is a folder where a file goes; give another --report")
            yield Path(name)
            for file in REPORT_FILES:
                (Path(name) / file).replace(folder / file)
    except BaseException:
        for each in missing:
            # Someone else may have put something there in the meantime.
            with suppress(OSError):
                each.rmdir()
        raise


def _plan(report: Path, effect: float | None, *, as_json: bool) -> None:
    from dataclasses import asdict, astuple

    from flows.console import say
    from flows.print_compare import print_plan
    from schemas.shown_text import as_shown
    from tasks.evaluate.planning import plan, read_components

    components = {scope: found for scope, found in read_components(report).items() if any(astuple(found))}
    if not components:
        raise InputError(f"{report}: every prompt has the same difference, which is no spread to plan by; name another")
    document = json.loads(report.read_text(encoding="utf-8"))
    wanted = document.get("margin") if effect is None else effect
    if not isinstance(wanted, float):
        raise InputError(f"{report} names no margin to plan for; give --effect, such as --effect 0.05")
    needs = {scope: plan(found, wanted) for scope, found in components.items()}
    print_plan(needs, wanted, document["overall"].get("n_seeds", 1))
    unknown = [name for name in ("overall", *document["tasks"]) if name not in components]
    if unknown:
        say(f"no spread to plan by: {', '.join(map(as_shown, unknown))}, whose prompts have one difference")
    if as_json:
        found: dict[str, Any] = {scope: [asdict(need) for need in of_scope] for scope, of_scope in needs.items()}
        typer.echo(json.dumps({"effect": wanted, "needs": found}, ensure_ascii=False))
