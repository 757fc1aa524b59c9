"""Commands `tucano benchmark`: write the test for others, run a model on it, score answers, and keep the scoreboard."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ValidationError

from flows.cli.result import Table, new_folder, show
from flows.cli.tucano import UNDONE, Json, group
from flows.runtime.console import stage_progress
from flows.runtime.signals import interruptible
from schemas.config.endpoint import EndpointSection
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.source import REPOSITORY
from schemas.tasks import Guided, SpecName
from tasks.benchmark.answers import dollars_per_1000, read_answers, score_answers
from tasks.benchmark.distribution import build_wheel
from tasks.benchmark.folder import read_card
from tasks.benchmark.run import run_endpoint, run_folder
from tasks.benchmark.scoreboard import as_entry, page, read_entries, write_entry
from tasks.benchmark.scorers import Benchmark
from tasks.benchmark.write import write_benchmark

app = group("benchmark")
KEPT = "interrupted, and every answer so far is kept; run the same command again"
ENTRIES = REPOSITORY / "benchmarks" / "scoreboard"
PAGE = REPOSITORY / "docs" / "scoreboard.md"

Folder = Annotated[Path, typer.Argument(metavar="BENCHMARK", help="Folder of the benchmark.")]


@app.command()
def write(
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    seed: Annotated[
        int, typer.Option(min=0, help="Number of the benchmark; no training run draws from its seeds.")
    ] = 1,
    per_task: Annotated[int, typer.Option(min=1, help="Items of each task.")] = 200,
    orders: Annotated[int, typer.Option(min=1, help="Orders in the simulated store.")] = 6_000,
    as_json: Json = False,
) -> None:
    """Write a benchmark: test.jsonl, the copies of its store and its card; equal seeds give equal bytes."""
    with new_folder(out) as draft, stage_progress("benchmark") as progress:
        card = write_benchmark(seed, per_task, orders, draft, progress)
    show(card, [f"benchmark {seed} with {per_task} items of each task: {out}"], as_json=as_json)


@app.command()
def run(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="File of the answers, JSON Lines; run again, it resumes.")],
    url: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible endpoint, ending in /v1.")] = None,
    model: Annotated[str | None, typer.Option(help="Name of the model there; without --url, its folder here.")] = None,
    adapter: Annotated[Path | None, typer.Option(help="Folder of an adapter of that model, without --url.")] = None,
    guided: Annotated[Guided, typer.Option(help="Tasks guided by grammars, without --url.")] = "none",
    key_variable: Annotated[str | None, typer.Option(help="NAME of the variable that holds the key.")] = None,
    concurrency: Annotated[int, typer.Option(help="Concurrent requests.")] = 4,
    timeout: Annotated[float, typer.Option(help="Seconds for one request.")] = 60.0,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="Sampling temperature.")] = 0.7,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer, in tokens.")] = 512,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the answers, for those that accept one.")] = 0,
) -> None:
    """Ask a model every item: at an endpoint (--url and --model), or from a folder on this machine (--model)."""
    if model is None or (url is not None and (adapter is not None or guided != "none")):
        raise InputError(
            "give --url and --model for an endpoint, or --model FOLDER, with --adapter and --guided where wanted"
        )
    if url is None and not temperature:
        raise InputError("--temperature 0 is for endpoints: a model in a folder samples; give one above 0")
    items = list(Benchmark(folder).items.values())
    with interruptible(KEPT), stage_progress("benchmark") as progress:
        if url is not None:
            section = _endpoint(
                url=url, model=model, key_variable=key_variable, concurrency=concurrency, timeout_seconds=timeout
            )
            run_endpoint(
                items, section, out, temperature=temperature, max_tokens=max_tokens, seed=seed, progress=progress
            )
        else:
            run_folder(
                items, Path(model), adapter, out,
                guided=guided, temperature=temperature, max_tokens=max_tokens, seed=seed, progress=progress,
            )  # fmt: skip
    show(None, [f"{len(items)} answers: {out}"], as_json=False)


def _endpoint(**values: object) -> EndpointSection:
    try:
        return EndpointSection.model_validate(values)
    except ValidationError as error:
        raise InputError(f"the endpoint: {first_fault(error)}") from None


@app.command()
def score(
    folder: Folder,
    answers: Annotated[Path, typer.Argument(help="JSON Lines of answers, each with its item's id and a completion.")],
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    entry: Annotated[Path | None, typer.Option(help="Write an entry of the scoreboard to this file too.")] = None,
    name: Annotated[str | None, typer.Option(help="The entry's name.")] = None,
    kind: Annotated[Literal["model", "stand-in"], typer.Option(help="The entry's kind.")] = "model",
    date: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="The entry's date.")] = None,
    dollars_in: Annotated[float | None, typer.Option(min=0, help="US dollars for a million prompt tokens.")] = None,
    dollars_out: Annotated[float | None, typer.Option(min=0, help="US dollars for a million answer tokens.")] = None,
    dollars_an_hour: Annotated[float | None, typer.Option(min=0, help="US dollars for an hour of the machine.")] = None,
    as_json: Json = False,
) -> None:
    """Score a file of answers, task by task with intervals, and write an entry of the scoreboard where asked."""
    if entry is not None and (name is None or date is None):
        raise InputError(f"--entry {entry} needs --name and --date; give both")
    with interruptible(UNDONE):
        benchmark = Benchmark(folder)
        given = read_answers(answers, list(benchmark.items.values()))
        scored = score_answers(benchmark, given, spec)
    cost = dollars_per_1000(given, dollars_in, dollars_out, dollars_an_hour)
    if entry is not None and name is not None and date is not None:
        sources = sorted({answer.source or "unknown" for answer in given})
        card = read_card(folder)
        written = as_entry(
            scored, card, name=name, kind=kind, date=date.date(), answered="; ".join(sources), dollars_per_1000=cost
        )
        write_entry(entry, written)
    # Each figure is a mean with the ends of its interval.
    parts: list[str | Table] = [
        Table(
            f"{scored['answers']} answers, spec {spec}: mean, 95 % interval",
            scored["tasks"],
            "task=name n reward truth",
        )
    ]
    if entry is not None:
        parts.append(f"entry: {entry}; write the page with: tucano benchmark scoreboard")
    show({**scored, "dollars_per_1000": cost}, parts, as_json=as_json)


@app.command()
def scoreboard(
    entries: Annotated[Path, typer.Option(help="Folder of the entries.")] = ENTRIES,
    out: Annotated[Path, typer.Option(help="The page.")] = PAGE,
) -> None:
    """Write the scoreboard's page of its entries; equal entries give equal bytes."""
    for option, folder in (("--entries", entries), ("--out", out.parent)):
        if not folder.is_dir():
            raise InputError(f"{option}: there is no folder {folder}; name one that is there, as a clone has")
    found = read_entries(entries)
    out.write_text(page(found), encoding="utf-8")
    show(None, [f"{len(found)} entries: {out}"], as_json=False)


@app.command()
def wheel(out: Annotated[Path, typer.Option(help="The folder of the wheel.")]) -> None:
    """Build the scorers and adapters as a wheel of four small dependencies."""
    with interruptible(UNDONE):
        show(None, [f"wheel: {build_wheel(out)}"], as_json=False)
