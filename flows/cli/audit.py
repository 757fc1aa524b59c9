"""Commands `tucano audit`: the reward audit on its own, scores and references by people, and attacks on rewards."""

import random
import secrets
import time
import unicodedata
from collections.abc import Iterator, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final

import typer
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from flows.cli.result import Table, new_folder, show, write_file
from flows.cli.servers import bind
from flows.cli.tucano import UNDONE, Json, Overrides, Profile, StateFolder, configured, group
from flows.runtime.console import say, stage_progress, warn
from flows.runtime.console import show as notice
from flows.runtime.prefect_server import HOST
from flows.runtime.session import ARTIFACTS_FOLDER
from flows.runtime.signals import interruptible
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.references import AskedTask
from schemas.shown_text import as_shown
from schemas.store.files import read_store
from schemas.tables.prompts import TEST_FILE, read_prompts
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.audit import stage
from tasks.audit.alterations.search import AttackedReward, FoundExploit, SearchResult, search
from tasks.audit.labelling import Labelling
from tasks.audit.references import ReferenceSession
from tasks.audit.report import REPORT_PAGE
from tasks.audit.sampling import make_sheet
from tasks.audit.stage import STORE_FOLDER, shipped_files
from tasks.lineage.store.inventory import read_inventory
from tasks.report.wording import spoken, worded
from tasks.synthesize.simulated import simulate_store

app = group("audit")

REASONS_SHOWN: Final = 20
LONGEST_SHOWN: Final = 280
FINDS_SHOWN: Final = 3
ORDERS: Final = 4_000
"""Orders of the simulated store that prompts are about, where an attack is given no store."""
MINUTES: Final = 10.0

Sheet = Annotated[Path, typer.Argument(help="The audit sheet, a CSV file.")]
Store = Annotated[Path | None, typer.Option(help="Store of sql_qa; else `store` beside the rollouts, or the shipped.")]
Rater = Annotated[str, typer.Option(help="Your pseudonym: small letters, digits and hyphens.")]
OnlyTask = Annotated[TaskName | None, typer.Option(help="Score this task only.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port of the page on this machine; 0 for any that is free.")]


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
    if sample.too_long:
        warn(f"{sample.too_long} completions are too long for a spreadsheet's cell, and are not on the sheet")
    if sample.alone:
        warn(
            f"no prompt of {', '.join(sample.alone)} has two completions on the sheet; give rollouts with "
            "several completions of each prompt, so that agreement within a prompt can be measured"
        )
    drawn = [{"task": name, "completions": count} for name, count in sample.drawn.items()]
    done = f"sheet: {out}; score it in a spreadsheet, or with: tucano audit label {out} --rater PSEUDONYM"
    show(None, [Table("Completions to score", drawn, "task completions"), done], as_json=False)


@app.command()
def check(
    sheet: Sheet,
    rollouts: Annotated[Path, typer.Option(help="The rollouts that the sheet was made of.")],
    report: Annotated[Path, typer.Option(help="The folder of the report; an earlier report in it is replaced.")],
    spec: Annotated[SpecName | None, typer.Option(help="The reward specification; the profile's if not given.")] = None,
    store: Store = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Compare the rewards with a scored sheet; exit code 3 where they do not agree."""
    config = configured(profile, overrides, state, makes_prompts=False)
    files = stage.AuditFiles(sheet, rollouts, _store(rollouts, store))
    with new_folder(report, stage.FILES) as draft, stage_progress("audit") as progress, spoken(config.language):
        audit = stage.run(files, config.audit, spec or config.rewards.spec, draft, progress)
        parts = [*_audited(audit), f"{worded('report')}: {report / REPORT_PAGE}"]
    show(audit.report(), parts, as_json=as_json)
    if not audit.gate.passed:
        raise typer.Exit(3)


def _audited(audit: stage.Audit) -> Iterator[str | Table]:
    """Yield the figures of each task, and the gate's verdict with its reasons."""
    rows = {task: dict(found) for task, found in audit.report()["tasks"].items()}
    for found in rows.values():
        passed = sum(probe["passed"] for probe in found["probes"].values())
        found["probes"] = worded("{count} of {all}", count=passed, all=len(found["probes"]))
    columns = "task=name scores=n rho 95_%_or_wider=rho_low..rho_high within=within_prompt_rho alpha probes verdict"
    yield Table("Rewards against scores", rows, columns)
    yield worded("passed: training may start" if audit.gate.passed else "refused: training must not start")
    reasons = list(audit.gate.reasons)
    if not audit.gate.passed:
        # A task may fail a hundred probes.
        reasons = list(map(str, sorted(audit.gate.objections, key=lambda each: each.check.startswith("probe:"))))
    yield from (f"- {reason}" for reason in reasons[:REASONS_SHOWN])
    if (more := len(reasons) - REASONS_SHOWN) > 0:
        yield worded("and {more} more reasons, which the report names", more=more)


@app.command()
def label(sheet: Sheet, rater: Rater, task: OnlyTask = None, port: Port = 8765) -> None:
    """Score a sheet on a page in the browser, one key a completion; every score is saved at once."""
    serve_page(Labelling(sheet, rater, task), port)


@app.command()
def references(
    rater: Rater,
    dataset: Annotated[str | None, typer.Argument(help="A dataset's folder, or how its id begins.")] = None,
    out: Annotated[Path, typer.Option(help="File of references; begun, or added to.")] = Path("references.jsonl"),
    task: Annotated[AskedTask | None, typer.Option(help="Ask about this task only; the others are not asked.")] = None,
    state: Annotated[Path, typer.Option(metavar="FOLDER", help="The state folder.")] = Path(".tucano"),
    port: Port = 8765,
) -> None:
    """Give references of test prompts in the browser: what a person can read in a review and nobody knows yet."""
    folder = _dataset(dataset, state)
    if not (folder / TEST_FILE).is_file():
        raise InputError(f"{folder} is no dataset, for it has no {TEST_FILE}; give a folder of `tucano curate`")
    if not out.parent.is_dir():
        raise InputError(f"--out is {out}, and there is no folder {out.parent}; make it first")
    serve_page(ReferenceSession(read_prompts(folder / TEST_FILE), out, rater, task), port)
    show(None, [f"next: tucano retrain --set curate.references={out}"], as_json=False)


@app.command()
def attack(
    task: Annotated[list[str], typer.Option(help="A task to attack; may be repeated; else all.")] = [],  # noqa: B006
    minutes: Annotated[float | None, typer.Option(min=0.01, help="Time of all tasks together; else 10.")] = None,
    evaluations: Annotated[int | None, typer.Option(min=1, help="Completions to score of each task.")] = None,
    rollouts: Annotated[Path | None, typer.Option(help="A model's rollouts to begin with; else the shipped.")] = None,
    store: Annotated[Path | None, typer.Option(help="Store that prompts are about; else a simulated one.")] = None,
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    seed: Annotated[int, typer.Option(min=0, help="Decides prompts, and what is left to chance.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder of the finds.")] = Path(".tucano/attack"),
    as_json: Json = False,
) -> None:
    """Search for completions that the rewards pay for and should not, one task after the other."""
    if unknown := [name for name in task if name not in TASK_NAMES]:
        raise InputError(f"there is no task {unknown[0]!r}; use one of: {', '.join(TASK_NAMES)}")
    tasks = [name for name in TASK_NAMES if name in task or not task]
    seconds = None if minutes is None and evaluations is not None else 60 * (minutes or MINUTES) / len(tasks)
    results = []
    with (
        interruptible(f"interrupted; what was found is kept in {out}, and the same command finds it again"),
        stage_progress("attack") as progress,
    ):
        seeds = read_json_lines(rollouts or shipped_files().rollouts, Rollout, "rollouts")
        about = read_store(store) if store is not None else simulate_store(ORDERS, random.Random(f"{seed}:attacked"))
        witness = simulate_store(ORDERS // 2, random.Random(f"{seed}:witness"))
        targets = [AttackedReward(name, spec, about, witness, seed) for name in tasks]
        for done, target in enumerate(targets):
            progress(done, len(targets), target.task)
            file = out / f"finds-{target.task}.jsonl"
            is_over = partial(_is_over, evaluations, None if seconds is None else time.monotonic() + seconds)
            found = search(target, seeds, is_over, found=partial(_write_finds, file))
            _write_finds(file, found.finds)
            results.append(found)
        progress(len(targets), len(targets), "tasks attacked")
    document = {each.task: each.model_dump(mode="json") for each in results}
    show(document, _attacked(results), as_json=as_json)


def _attacked(results: Sequence[SearchResult]) -> Iterator[str | Table]:
    """Yield a summary, and the worst finds of each task with their text."""
    rows = [{**vars(each), "number": len(each.finds)} for each in results]
    header = "task scored=evaluations seconds finds=number most_that_a_bad_answer_earns=best_bad"
    yield Table("Attack on the rewards", rows, header)
    for each in (find for result in results for find in result.finds[:FINDS_SHOWN]):
        yield (
            f"{each.task} {each.identity}: {each.hits} of {each.prompts} prompts, reward {each.reward:.2f} of "
            f"{each.good:.2f}, truth {each.truth:.2f}, by {', '.join(each.mechanism)}"
        )
        yield f"    {as_shown(each.example.completion)[:LONGEST_SHOWN]}"


def _is_over(evaluations: int | None, end: float | None, spent: int) -> bool:
    return (evaluations is not None and spent >= evaluations) or (end is not None and time.monotonic() >= end)


def _write_finds(file: Path, finds: Sequence[FoundExploit]) -> None:
    write_file(file, "".join(f"{each.model_dump_json()}\n" for each in finds))


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
    say(f"no --store, and no {STORE_FOLDER} beside {rollouts}: where there is SQL, it is run on the shipped store")
    return shipped_files().store


PAGE: Final = Path(__file__).with_name("rating.html")
LONGEST_BODY: Final = 200_000


def serve_page(session: Labelling | ReferenceSession, port: int) -> None:
    """Serve the page until the person leaves it, or all was answered before; each answer is saved at once."""
    if session.left:
        token = secrets.token_urlsafe(16)
        app = _page_app(session, token)
        # uvloop would take the signals for itself.
        app.state.server = server = uvicorn.Server(uvicorn.Config(app, loop="asyncio", log_level="error"))
        with (
            interruptible("interrupted; every answer is saved, and the same command resumes"),
            bind(HOST, port, "--port") as listening,
        ):
            listening.listen()
            # Whoever has no token, such as another page of the browser, is answered nothing.
            notice(f"open http://{HOST}:{listening.getsockname()[1]}/{token} ; its button `sair` ends this command")
            server.run(sockets=[listening])
    done = f"{session.total - session.left} of {session.total} answers are given"
    show(None, [f"{done}; the same command resumes" if session.left else done], as_json=False)


def _page_app(session: Labelling | ReferenceSession, token: str) -> Starlette:
    """Return the page and its questions, one request at a time, below the token."""
    own = f"'nonce-{token}'"
    rules = ("default-src 'none'", "connect-src 'self'", f"style-src {own}", f"script-src {own}", "base-uri 'none'")
    headers = {
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "Content-Security-Policy": "; ".join((*rules, "frame-ancestors 'none'")),
    }

    async def page(_: Request) -> Response:
        return HTMLResponse(PAGE.read_text(encoding="utf-8").replace("NONCE", token), headers=headers)

    async def view(_: Request) -> Response:
        return JSONResponse({"left": session.left, "total": session.total, **session.view()}, headers=headers)

    async def act(request: Request) -> Response:
        if not 0 < int(request.headers.get("Content-Length", 0)) <= LONGEST_BODY:
            return Response(status_code=HTTPStatus.NOT_FOUND)
        asked = await request.json()
        if asked["action"] == "leave":
            request.app.state.server.should_exit = True
        # A key that was pressed twice would be the answer to the next question.
        elif asked["action"] == "undo" or asked["id"] == session.view().get("id"):
            try:
                session.act(asked["action"], *(_on_one_line(asked.get(name, "")) for name in ("value", "note")))
            except InputError as error:
                return JSONResponse({"error": str(error)}, HTTPStatus.CONFLICT, headers)
        return await view(request)

    routes = [Route(f"/{token}", page), Route(f"/{token}/view", view), Route(f"/{token}", act, methods=["POST"])]
    return Starlette(routes=routes)


def _on_one_line(text: object) -> str:
    """Return what was typed without line breaks and invisible characters, a letter with its accent as one."""
    plain = unicodedata.normalize("NFC", " ".join(str(text).split()))
    return "".join(sign for sign in plain if sign.isprintable())
