"""Command `tucano l4`: checks, the laptop's part, one job on a machine with a card, evaluation and promotion."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from flows.cli.result import show
from flows.cli.training import given_options, run_chain, show_retraining
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, StateFolder, Yes, configured
from flows.doctor.run import require_ready
from flows.l4.checks import check_revision, check_store
from flows.l4.google import PROJECT_VARIABLE, Google
from flows.l4.service import Machines, Service
from flows.l4.skypilot import SkyPilot
from flows.l4.this import ThisMachine
from flows.l4.vertex import Vertex
from flows.runtime.console import say
from flows.runtime.session import BYTES_FOR_A_STAGE, INTERRUPTED, mlflow_store, state_folder
from flows.runtime.signals import interruptible
from schemas.config.config import Config
from schemas.config.workers import WorkersConfig
from schemas.errors import InputError, Interrupted, TucanoError

if TYPE_CHECKING:
    from flows.stages.runner import Results
    from tasks.plan.training_plan import TrainingPlan

Place = Literal["vertex", "skypilot", "this"]
JOB: Final = "l4/job"  # Stands for the job where a deployment of Prefect would train.
GOES_ON: Final = (
    "interrupted; the job goes on, and is paid: run the same command again to wait for it, or end it as was said when "
    "it began"
)
NOT_TRAINED: Final = "nothing was trained, and the laptop's part is kept; answer yes next time, or give --yes"
NO_STEPS: Final = "no step is left to train, and nothing is rented: raise train.max_steps, or end with `tucano retrain`"
REGION: Final = "europe-west4"  # Of the European Union, whose law Brazil's recognises as adequate.
FOLDER: Final = "job"  # Of the state, for what the job of this machine makes.


class TrainedByJob(WorkersConfig):
    """Workers of the laptop's part: a job trains, and all else that needs weights is done here."""

    @property
    def for_inference(self) -> None:
        """No other machine."""


def l4(
    profile: Profile = "l4",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    on: Annotated[Place, typer.Option("--on", help="Where the job trains.")] = "vertex",
    bucket: Annotated[str | None, typer.Option(help="gs://BUCKET/PREFIX of checkpoints and artifacts.")] = None,
    project: Annotated[str | None, typer.Option(envvar=PROJECT_VARIABLE, help="Google's project.")] = None,
    regions: Annotated[list[str], typer.Option("--region", help="Tried in turn. May be repeated.")] = [],  # noqa: B006
    image: Annotated[str | None, typer.Option(help="Vertex AI's image; that of this commit.")] = None,
    account: Annotated[str | None, typer.Option("--service-account", help="Whose rights the job has.")] = None,
    wheel: Annotated[Path | None, typer.Option(help="SkyPilot's wheel of this code.")] = None,
    machines: Annotated[Machines, typer.Option("--machines", help="Machines that are asked for.")] = "spot",
    patience: Annotated[float, typer.Option(help="Minutes to wait for a machine in a region.")] = 60.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print every command and file.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Retrain with one job on a rented L4, or on this machine. Run again, it finds the job and goes on."""
    config = _with_addresses(configured(profile, overrides, state), bucket, here=on == "this")
    artifacts, folder = str(config.state.artifacts), config.state.root.resolve() / FOLDER
    regions, seconds = regions or [REGION], 60 * patience
    service: Service
    if on == "this":
        service = ThisMachine(config, artifacts, folder)
    elif on == "vertex":
        google = Google(project or ("PROJECT" if dry_run else None))
        service = Vertex(google, artifacts, regions, image=image, account=account, machines=machines, patience=seconds)
    else:
        places = [f"gcp/{region}" for region in regions]
        service = SkyPilot(artifacts, places, folder / "task.yaml", wheel=wheel, machines=machines)
    if dry_run:
        steps = [*_steps(config, profile, service)]
        show({"on": on, "steps": steps}, steps, as_json=as_json)
        return
    with interruptible(LOOKED):
        check_revision(config)
        check_store(config, bucket=on != "this")
        service.check()
        if on == "this":
            require_ready(config, profile)
    # Not validated again: the job needs no MLflow server, which a deployment on another machine does.
    workers = config.workers.model_dump() | {"training": JOB, "inference": None}
    laptop = config.model_copy(update={"workers": TrainedByJob(**workers)})
    planned = run_chain(laptop, profile, until="plan", fresh=False, yes=None)
    # A plan without an audit: people have yet to score, and see the plan first.
    audited = planned if "audit" in planned.stages else run_chain(laptop, profile, until="audit", fresh=False, yes=None)
    for run in _train(laptop, service, audited.stages, planned.plan, yes=yes):
        say(f"job: made {run}")
    kept = f"{config.state.mirror} and {config.state.artifacts}"
    say(f"job: nothing of it runs or is paid any more but the storage of {kept}, which you may delete")
    result = run_chain(laptop, profile, until="promote", fresh=False, yes=None)
    show_retraining(result, config, given_options(profile, overrides, state), as_json=as_json)


def _with_addresses(config: Config, bucket: str | None, *, here: bool) -> Config:
    """Return the configuration with the places of checkpoints and of shared artifacts: a bucket's, or the profile's."""
    state, root = config.state, config.state.root.resolve()
    places: dict[str, str] = {}
    if bucket:
        places = {"mirror": f"{bucket.rstrip('/')}/mirror", "artifacts": f"{bucket.rstrip('/')}/artifacts"}
    elif here:
        places = {"mirror": state.mirror or f"{root}/mirror", "artifacts": state.artifacts or f"{root}/shared"}
    return config.model_copy(update={"state": state.model_copy(update=places)})


def _steps(config: Config, profile: str, service: Service) -> Iterator[str]:
    """Yield every command and file of the day, in their order."""
    yield f"state folder: {config.state.root.resolve()}"
    yield f"checkpoints: {config.state.mirror}; artifacts that both machines reach: {config.state.artifacts}"
    yield f"here: synthesize, curate, base, plan and audit, as `tucano retrain --profile {profile}` makes them"
    yield f"job, on {service.place}:"
    yield from service.describe("JOB")
    yield "here: fetch each policy, evaluate, promote, and end every run of the job"


def _train(laptop: Config, service: Service, stages: "Results", plan: "TrainingPlan | None", *, yes: bool) -> list[str]:
    """Have a job train every seed, fetch the policies, and return what ran and how it ended; nothing runs on."""
    # Prefect reads the session's settings when it is imported.
    from flows.l4.job import claimed, is_posted, make_job, post  # noqa: PLC0415
    from flows.l4.waiting import Waiting  # noqa: PLC0415
    from flows.plan.decision import ask_to_train, decided, show_plan  # noqa: PLC0415
    from flows.retrain import TRAINED_FROM  # noqa: PLC0415
    from flows.stages.remote import open_exchange  # noqa: PLC0415
    from flows.stages.runner import Session  # noqa: PLC0415

    here = isinstance(service, ThisMachine)
    given = {role: stages[name] for role, name in TRAINED_FROM.items()}
    with interruptible(INTERRUPTED if here else GOES_ON), state_folder(laptop, bytes_needed=BYTES_FOR_A_STAGE):
        chosen = decided(Session(laptop), given, plan).config
        if not (here or chosen.train.max_steps):
            raise InputError(NO_STEPS)
        mlflow = mlflow_store(laptop.state)[0] if here else None
        job = make_job(chosen, given, folder=service.folder, interpreter=service.interpreter, mlflow=mlflow)
        exchange = open_exchange(laptop)
        with claimed(job, str(laptop.state.artifacts)) as lease:
            if plan is not None and not is_posted(job, exchange):
                show_plan(plan)
                if not yes:
                    ask_to_train(plan, laptop, chosen, NOT_TRAINED)
            post(job, exchange)
            waiting = Waiting(job, service, exchange, lease)
            try:
                waiting.until_done()
            except (TucanoError, KeyboardInterrupt) as error:
                # A rented machine works on where only this one was interrupted.
                if here or not isinstance(error, Interrupted | KeyboardInterrupt):
                    waiting.end()
                raise
            return waiting.end()
