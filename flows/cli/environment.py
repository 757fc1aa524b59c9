"""Commands `tucano environment write` and `tucano adopt`: hand training over to another trainer, and take it back."""

import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from flows.cli.compare import report_parts
from flows.cli.lineage import open_walker
from flows.cli.result import new_folder, show
from flows.cli.training import run_chain
from flows.cli.tucano import Json, Overrides, Profile, StateFolder, configured, group
from flows.runtime.session import existing_store, state_folder
from schemas.errors import GateRefused, InputError
from schemas.source import source_digest
from schemas.tables.prompts import TRAIN_FILE, read_prompt_table
from tasks.environment.adopt import Adoption, files_of, require_environment
from tasks.environment.write import Engine, write_engine, write_environment
from tasks.report.wording import spoken
from tasks.train.preflight.inputs import AUDIT_REMEDY, require_audit

app = group("environment")


@app.command()
def write(
    reference: Annotated[str, typer.Argument(metavar="REF", help="A dataset's digest; or a run or version of one.")],
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    engine: Annotated[Engine | None, typer.Option(help="Write the settings of this trainer, too.")] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Write a dataset's training and validation prompts with their rewards as a package; 3 where no audit passed."""
    config = configured(profile, overrides, state)
    store, walker = existing_store(config, "no dataset is there"), open_walker(config)
    datasets = {walker.dataset_of(key) for key in walker.find(reference).keys} - {None}
    if len(datasets) != 1:
        raise InputError(f"{reference!r} is of {len(datasets)} datasets; give the digest of one dataset")
    dataset = store.record(str(datasets.pop()))
    if not (audits := store.records("audit")):
        raise GateRefused(f"no audit has passed these rewards, so none is written; {AUDIT_REMEDY}")
    # The newest: whoever scored last decides.
    audit, tasks = audits[0], set(read_prompt_table(store.path(dataset.sha256) / TRAIN_FILE)["task"])
    require_audit(store.path(audit.sha256), config.rewards.spec, tasks)
    made_of = {"prompts": dataset.inputs["prompts"], "dataset": dataset.sha256, "audit": audit.sha256}
    for sha256 in made_of.values():
        store.verify(sha256)
    with new_folder(out) as folder, state_folder(config, bytes_needed=0), store.draft() as draft:
        shop = store.path(made_of["prompts"]) / "store"
        card = write_environment(store.path(dataset.sha256), shop, config.rewards.spec, made_of, draft)
        shutil.copytree(draft, folder, dirs_exist_ok=True)
        known = dict[str, Any](code_version=source_digest("tasks.environment.write"), config_digest=config.digest())
        record = store.commit(draft, kind="environment", stage="environment", inputs=made_of, **known)
        if engine is not None:
            write_engine(engine, config, folder, out)
    show({**card, "sha256": record.sha256}, [f"environment {record.sha256}: {out}"], as_json=as_json)


def adopt(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="An adapter of PEFT, or a whole model.")],
    trained_by: Annotated[str, typer.Option(metavar="NAME@COMMIT", help="The trainer, and its commit or version.")],
    environment: Annotated[str, typer.Option(metavar="SHA", help="The sha256 of the package that it learned from.")],
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Record what another trainer made as a policy, and evaluate it as ours; exit code 3 where it is held."""
    config = configured(profile, overrides, state)
    try:
        adopted = Adoption(folder=folder.resolve(), trained_by=trained_by, environment=environment)
    except ValidationError as error:
        said = "{loc[0]} is {input!r}".format(**error.errors()[0])
        raise InputError(f"{said}; give NAME@COMMIT, and the sha256 that was printed") from None
    # SFT is a rung beside whatever was trained after it, also of a profile that ends with SFT.
    trained = config.train.model_copy(update={"max_steps": config.train.max_steps or 1})
    config = config.model_copy(update={"train": trained})
    files_of(adopted.folder)
    require_environment(existing_store(config, "no environment is there"), environment)
    result = run_chain(config, profile, until="promote", fresh=False, yes=True, adopted=adopted)
    decision, (policy,) = result.decision, result.policies.values()
    document = {"policy": policy.record.sha256, "decision": decision, "evaluation": result.report["gate"]}
    with spoken(config.language):
        parts = [f"policy {policy.record.sha256} by {trained_by}", *report_parts(result.report)]
    parts.append(f"{decision['verdict']}: version {decision['version']} of {decision['model']}")
    show(document, parts, as_json=as_json)
    if decision["verdict"] != "promote":
        raise typer.Exit(3)
