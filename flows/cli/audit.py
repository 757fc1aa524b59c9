"""Commands `tucano audit`: the reward audit on its own, and the ways of scoring a sheet."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.audit_attack import attack
from flows.cli.options import UNDONE, Json, Overrides, Profile, ReportLanguage, StateFolder, configured, emit
from flows.cli.output_folder import new_folder
from flows.cli.tables.audit import print_audit, print_disagreements, print_sample
from flows.runtime.console import show, stage_progress
from flows.runtime.session import ARTIFACTS_FOLDER, EXPERIMENT, mlflow_store
from flows.runtime.signals import interruptible
from flows.runtime.stores import past_audits
from schemas.config.profiles import read_state
from schemas.errors import InputError
from schemas.given_references import AskedTask
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.audit import review, stage
from tasks.audit.alterations.recorded import changes, read_recorded
from tasks.audit.alterations.recording import record as write_record
from tasks.audit.new_sheet import make_sheet
from tasks.audit.report import REPORT_PAGE
from tasks.audit.reward import reward_of
from tasks.audit.stage import STORE_FOLDER, shipped_files
from tasks.lineage.store.inventory import read_inventory
from tasks.report.language import spoken

app = typer.Typer(
    name="audit",
    help="Check, before training, that the rewards rank answers as human raters do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

KEPT = "interrupted; what was done is kept, and the same command resumes"

Sheet = Annotated[Path, typer.Argument(help="The audit sheet, a CSV file.")]
Store = Annotated[
    Path | None,
    typer.Option(help="Store that sql_qa's questions are about: `store` beside the rollouts, or else the shipped one."),
]
State = Annotated[Path, typer.Option(metavar="FOLDER", help="The state folder.")]
Mlflow = Annotated[str | None, typer.Option(help="Address of an MLflow server, where the state has none of its own.")]


@app.command()
def sheet(
    rollouts: Annotated[Path, typer.Argument(help="JSON Lines of rollouts at temperature 1, several of each prompt.")],
    out: Annotated[Path, typer.Option(help="The sheet to write: a new file.")],
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    store: Store = None,
    per_task: Annotated[int, typer.Option(min=5, help="Completions of each task.")] = 40,
    seed: Annotated[int, typer.Option(min=0, help="Decides which completions are drawn.")] = 42,
) -> None:
    """Draw completions for people to score: half at random, half by strata of the reward."""
    with interruptible(UNDONE), stage_progress("sheet") as progress:
        sample = make_sheet(rollouts, spec, _store(rollouts, store), per_task, seed, out, progress)
    print_sample(sample)
    show(f"sheet: {out}; score it in a spreadsheet, or with: tucano audit label {out} --rater PSEUDONYM")


@app.command()
def check(
    sheet: Sheet,
    rollouts: Annotated[Path, typer.Option(help="The rollouts that the sheet was made of.")],
    report: Annotated[Path, typer.Option(help="The folder of the report; an earlier report in it is replaced.")],
    spec: Annotated[SpecName | None, typer.Option(help="The reward specification; the profile's if not given.")] = None,
    store: Store = None,
    language: ReportLanguage = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Compare the rewards with a scored sheet; exit code 3 where they do not agree."""
    config = configured(profile, overrides, state, makes_prompts=False)
    files = stage.AuditFiles(sheet, rollouts, _store(rollouts, store))
    with (
        new_folder(report, stage.FILES) as draft,
        stage_progress("audit") as progress,
        spoken(language or config.language),
    ):
        audit = stage.run(files, config.audit, spec or config.rewards.spec, draft, past_audits(config), progress)
    print_audit(audit)
    if not audit.gate.passed:
        print_disagreements(audit.judged)
    show(f"report: {report / REPORT_PAGE}")
    emit(audit.report(), as_json=as_json)
    if not audit.gate.passed:
        raise typer.Exit(3)


@app.command()
def label(
    sheet: Sheet,
    rater: Annotated[str, typer.Option(help="Your pseudonym: small letters, digits and hyphens.")],
    task: Annotated[TaskName | None, typer.Option(help="Score this task only.")] = None,
) -> None:
    """Score a sheet in the terminal, one key a completion; every score is saved at once."""
    # The other commands draw no screen.
    from flows.cli.label.app import label as score_in_terminal  # noqa: PLC0415

    score_in_terminal(sheet, rater, task)


@app.command()
def references(
    rater: Annotated[str, typer.Option(help="Your pseudonym: small letters, digits and hyphens.")],
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="DATASET",
            help="A dataset's folder, or the beginning of its id; the newest of the state folder if not given.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The file of references, JSON Lines; begun, or added to.")] = Path(
        "references.jsonl"
    ),
    task: Annotated[AskedTask | None, typer.Option(help="Ask about this task only; the others are not asked.")] = None,
    state: State = Path(".tucano"),
) -> None:
    """Give references of test prompts in the terminal: what a person can read in a review and nobody knows yet."""
    # The other commands draw no screen.
    from flows.cli.label.references import give_references  # noqa: PLC0415

    give_references(_dataset(dataset, state), out, rater, task)


@app.command()
def publish(sheet: Sheet, state: State = Path(".tucano"), mlflow: Mlflow = None) -> None:
    """Put a sheet into MLflow's review queue, to be scored in the browser."""
    with interruptible(KEPT), stage_progress("publish") as progress:
        published = review.publish(sheet, *mlflow_store(read_state(state, mlflow)), EXPERIMENT, progress)
    show(f"{published.new} of {published.completions} completions are new in MLflow; to score, {published.where}")
    show(f"then read the scores back with: tucano audit collect {sheet}")


@app.command()
def collect(sheet: Sheet, state: State = Path(".tucano"), mlflow: Mlflow = None) -> None:
    """Read the scores that were given in MLflow back into the sheet."""
    with interruptible(KEPT):
        collected = review.collect(sheet, *mlflow_store(read_state(state, mlflow)), EXPERIMENT)
    show(
        f"{collected.answers} scores of {collected.raters} raters are in {sheet}; "
        f"{collected.unscored} completions have no score yet"
    )
    if collected.not_by_people:
        show(f"{collected.not_by_people} answers of judges and programs were left out: an audit asks people")


@app.command()
def record(task: Annotated[TaskName | None, typer.Option(help="Record this task only.")] = None) -> None:
    """Record what the altered answers earn now, after a reward was changed on purpose, and say which changed."""
    with interruptible(UNDONE):
        for name in [task] if task else TASK_NAMES:
            score = reward_of({name}, shipped_files().store, "grounded")
            known = read_recorded(name)
            changed = [said for prompt in known for said in changes(prompt, score)]
            for said in changed:
                show(f"{name}: {said}")
            prompts = write_record(name, score) if changed or not known else known
            count = sum(len(prompt.scores) for prompt in prompts)
            show(f"{name}: {len(changed)} of {count} altered answers earned something else than was recorded")


app.command()(attack)


def _dataset(given: str | None, state: Path) -> Path:
    """Return the folder of a dataset: a folder, one whose id begins so, or the newest."""
    if given is not None and Path(given).is_dir():
        return Path(given)
    artifacts = state / ARTIFACTS_FOLDER
    inventory = read_inventory(artifacts)
    found = [record for record in inventory.of_kind("dataset") if record.sha256.startswith(given or "")]
    if not found or (given is not None and len(found) > 1):
        raise InputError(
            f"{'more than one' if found else 'no'} dataset {f'{given} ' if given else ''}is in {artifacts}; give the "
            "folder of a dataset, or run `tucano curate` or `tucano retrain` first"
        )
    return inventory.folder(found[-1].sha256)


def _store(rollouts: Path, given: Path | None) -> Path:
    """Return the store that SQL is run on, and report where it is the shipped one."""
    beside = rollouts.parent / STORE_FOLDER
    if given is not None or beside.is_dir():
        return given or beside
    show(f"no --store, and no {STORE_FOLDER} beside {rollouts}: where there is SQL, it is run on the shipped store")
    return shipped_files().store
