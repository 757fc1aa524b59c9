"""Commands `tucano benchmark`: write the test for others, run a model on it, and score answers."""

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from flows.cli.result import Table, new_folder, show
from flows.cli.tucano import UNDONE, Json, group
from flows.runtime.console import stage_progress
from flows.runtime.signals import interruptible
from schemas.config.section import EndpointSection
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.tasks import Guided, SpecName
from tasks.benchmark.answers import read_answers, score_answers
from tasks.benchmark.run import run_endpoint, run_folder
from tasks.benchmark.scorers import Benchmark
from tasks.benchmark.write import write_benchmark

app = group("benchmark")
KEPT = "interrupted, and every answer so far is kept; run the same command again"

Folder = Annotated[Path, typer.Argument(metavar="BENCHMARK", help="Folder of the benchmark.")]


@app.command()
def write(
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    seed: Annotated[int, typer.Option(min=0, help="The benchmark's number, of which no training draws.")] = 1,
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
    temperature: Annotated[float, typer.Option(min=0, max=2, help="Sampling temperature.")] = 0.7,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer, in tokens.")] = 512,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the answers, for those that accept one.")] = 0,
) -> None:
    """Ask a model every item: at an endpoint (--url and --model), or from a folder on this machine (--model)."""
    if model is None or (url is not None and (adapter is not None or guided != "none")):
        raise InputError("give --url and --model for an endpoint, or --model FOLDER, optionally --adapter and --guided")
    if url is None and not temperature:
        raise InputError("--temperature 0 is for endpoints: a model in a folder samples; give one above 0")
    items = list(Benchmark(folder).items.values())
    decoding: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    with interruptible(KEPT), stage_progress("benchmark") as progress:
        if url is not None:
            try:
                section = EndpointSection(url=url, model=model, key_variable=key_variable, timeout_seconds=60.0)
            except ValidationError as error:
                raise InputError(f"the endpoint: {first_fault(error)}") from None
            run_endpoint(items, section, out, **decoding, progress=progress)
        else:
            run_folder(items, Path(model), adapter, out, guided=guided, **decoding, progress=progress)
    show(None, [f"{len(items)} answers: {out}"], as_json=False)


@app.command()
def score(
    folder: Folder,
    answers: Annotated[Path, typer.Argument(help="JSON Lines of answers, each with its item's id and a completion.")],
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    as_json: Json = False,
) -> None:
    """Score a file of answers, task by task with intervals."""
    with interruptible(UNDONE):
        benchmark = Benchmark(folder)
        scored = score_answers(benchmark, read_answers(answers, list(benchmark.items.values())), spec)
    # Each figure is a mean with the ends of its interval.
    title = f"{scored['answers']} answers, spec {spec}: mean, 95 % interval"
    show(scored, [Table(title, scored["tasks"], "task=name n reward truth")], as_json=as_json)
