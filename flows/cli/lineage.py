"""Commands `tucano lineage` and `show`: where an artifact or a row came from and led to, and what the models said."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final

import typer

from flows.cli.result import Table, cell
from flows.cli.result import show as show_result
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, StateFolder, configured
from flows.runtime.console import stage_progress, warn
from flows.runtime.session import artifacts_folder, existing_store, open_registry, open_store
from flows.runtime.signals import interruptible
from schemas.config.config import Config
from schemas.errors import GateRefused, InputError
from schemas.shown_text import as_shown
from schemas.tasks import TaskName
from tasks.lineage.graph.completions import FEWEST_CHARACTERS, STEP_DIGITS, newest_run
from tasks.lineage.graph.graph import Graph, Node, read_versions
from tasks.lineage.graph.page import write_page
from tasks.lineage.graph.walk import Lineage, Walker
from tasks.lineage.store.inventory import Inventory, read_inventory
from tasks.lineage.store.inventory import verify as verify_artifacts
from tasks.report.wording import spoken

Result = tuple[dict[str, Any], Sequence[str | Table]]

SHOWN_FACTS: Final = {
    "promotion": ("decision",),
    "policy": ("training", "chosen step", "rollouts"),
    "evaluation": ("verdict", "reward", "difference"),
    "audit": ("verdict", "scored by"),
    "dataset": ("train", "validation", "test"),
    "base": ("model",),
    "prompts": ("rows", "store"),
}
"""Facts of an artifact that the answer tells, by its kind; `--json` has them all."""
MOST_NAMED: Final = 4


def lineage(
    reference: Annotated[str, typer.Argument(metavar="REF", help="A version, alias, run, or how a digest begins.")],
    html: Annotated[Path | None, typer.Option(help="Write the graph as one HTML page; replaced if there.")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Hash all files in it; 3 where one is not whole.")] = False,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Walk from a model, a run, an artifact or a row to all that it came from and led to."""
    if verify and html is not None:
        raise InputError("--verify and --html ask for different things; give one")
    config = configured(profile, overrides, state)
    with interruptible(LOOKED):
        if verify:
            document, parts = _verify(config, reference)
        else:
            document, parts = _walk(config, reference, html)
    show_result(document, parts, as_json=as_json)
    if verify and not document["whole"]:
        raise GateRefused(
            f"{len(document['findings'])} faults are in the {document['artifacts']} artifacts of {reference}; bring "
            "them back from a backup of the state folder, or make them again with `tucano retrain`"
        )


def _walk(config: Config, text: str, html: Path | None) -> Result:
    walker = open_walker(config)
    walked = walker.walk(walker.find(text))
    document, parts = walked.document(), list(_answer(walked))
    for warning in walked.warnings:
        warn(warning)
    if html is not None:
        with spoken(config.language):
            write_page(walked, html)
        parts.append(f"page: {html}")
    return document, parts


def _verify(config: Config, text: str) -> Result:
    walker = open_walker(config)
    artifacts = walker.artifacts(walker.find(text))
    with stage_progress("verify") as progress:
        findings = [asdict(each) for each in verify_artifacts(open_store(config), artifacts, progress)]
    document = {"reference": text, "artifacts": len(artifacts), "whole": not findings, "findings": findings}
    if not findings:
        return document, [f"{text}: {len(artifacts)} artifacts are what their records say"]
    return document, [Table(f"{text}: {len(artifacts)} artifacts hashed", findings, "artifact=kind sha256 file what")]


def _answer(walked: Lineage) -> Iterator[str]:
    """Yield what is asked about, what it came from and what became of it, a line each."""
    graph = walked.graph
    for key in walked.subjects:
        if node := graph.nodes.get(key):
            yield from _of_prompt(graph, node) if node.kind == "prompt" else _of_artifact(graph, node)
    yield f"all {len(graph.nodes)} things in it, with digests and reasons: --json; as a page: --html FILE"


def _of_artifact(graph: Graph, node: Node) -> Iterator[str]:
    """Yield a line of an artifact or a version, one of each kind of thing that it came from, and what it led to."""
    yield _with_facts(node)
    before = [graph.nodes[key] for key in graph.came_from(node.key) if key in graph.nodes]
    for kind in SHOWN_FACTS:
        if of_kind := [_with_facts(each) for each in before if each.kind == kind]:
            yield f"  from {_listed(of_kind)}"
    if after := [graph.nodes[key] for key in graph.led_to(node.key) if key in graph.nodes]:
        versions = sorted(_version(each) for each in after if each.kind == "version")
        counts = Counter(each.kind for each in after if each.kind != "version")
        yield f"  led to {', '.join([*versions, *(f'{count} {kind}' for kind, count in sorted(counts.items()))])}"


def _of_prompt(graph: Graph, node: Node) -> Iterator[str]:
    """Yield what became of a prompt, and then what it is of."""
    models = sorted(_version(graph.nodes[key]) for key in graph.led_to(node.key) if key.startswith("version:"))
    edges = [edge for edge in graph.after.get(node.key, ()) if edge.target in graph.nodes]
    in_dataset = Counter(edge.role for edge in edges if graph.nodes[edge.target].kind == "dataset")
    splits = ", ".join(f"{split} ({count})" if count > 1 else split for split, count in in_dataset.items())
    yield f"{node.name}: {splits or 'in no dataset'}; {f'model {_listed(models)}' if models else 'no model'}"
    yield f"  {', '.join(f'{name} {value}' for name, value in node.facts.items())}"


def _with_facts(node: Node) -> str:
    if node.kind == "version":
        return f"{node.name}, which is `{node.facts['alias']}`" if "alias" in node.facts else node.name
    names = SHOWN_FACTS.get(node.kind, tuple(node.facts)[:MOST_NAMED])
    facts = [f"{name}: {node.facts[name]}" for name in names if name in node.facts]
    return f"{node.name}{': ' if facts else ''}{' · '.join(facts)}"


def _version(node: Node) -> str:
    return f"{node.name} ({node.facts['alias']})" if "alias" in node.facts else node.name


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def open_inventory(config: Config) -> Inventory:
    """Read every record of the artifact store."""
    existing_store(config, "nothing came from anything there")
    return read_inventory(artifacts_folder(config))


def open_walker(config: Config) -> Walker:
    """Open a state folder's lineage for walks."""
    inventory = open_inventory(config)
    model = config.promote.model_name
    try:
        aliases = open_registry(config).aliases(model)
    except InputError as error:
        # A digest needs no server.
        warn(f"the aliases of {model} are not known: {error}")
        aliases = {}
    return Walker(inventory, read_versions(inventory), model, aliases)


Rollout = dict[str, Any]
LISTED: Final = 3
LONGEST_TEXT: Final = 200
SUMMARY: Final = "distinct trained_on mean_reward worst best"
EXTREMES: Final = "reward times advantage"


def show(
    what: Annotated[str, typer.Argument(metavar="PROMPT|STEP", help="How a prompt's id begins, or a step's number.")],
    task: Annotated[TaskName | None, typer.Option(help="Only rollouts of this task.")] = None,
    worst: Annotated[bool, typer.Option("--worst", help="Only the rollouts of the lowest reward.")] = False,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Show a prompt's answers and rollouts, or a step's rollouts, of the newest training."""
    is_step = what.isdecimal() and len(what) <= STEP_DIGITS
    if not is_step and len(what) < FEWEST_CHARACTERS:
        raise InputError(f"{what!r} is no step, and too short for a prompt's id; give {FEWEST_CHARACTERS} characters")
    if not is_step and task is not None:
        raise InputError("--task goes with a step; a prompt is of one task, so leave it out")
    config = configured(profile, overrides, state)
    with interruptible(LOOKED):
        from tasks.personal_data.scrub import scrub  # noqa: PLC0415 - half a second, which a refusal need not wait for

        run = newest_run(open_inventory(config), scrub)
        rollouts = run.step(int(what), task) if is_step else []
        document = {"step": int(what), "rollouts": rollouts} if is_step else run.prompt(what)
    parts = _step_parts(what, rollouts, worst=worst) if is_step else _prompt_parts(document, worst=worst)
    show_result(document, parts, as_json=as_json)


def _step_parts(step: str, rollouts: Sequence[Rollout], *, worst: bool) -> Iterator[str | Table]:
    names = dict.fromkeys(each["task"] for each in rollouts)
    tasks = {name: [each for each in rollouts if each["task"] == name] for name in names}
    summary = {name: _summary(of_task) for name, of_task in tasks.items()}
    yield Table(f"Step {step}: {len(rollouts)} rollouts", summary, f"task=name rollouts prompts {SUMMARY}")
    yield from _extremes(rollouts, f"{EXTREMES} step task prompt_id text", worst=worst)
    yield "next: `tucano show PROMPT` with an id of these, or open the completions of the evaluation's report"


def _prompt_parts(history: Mapping[str, Any], *, worst: bool) -> Iterator[str | Table]:
    """Yield a prompt, its reference, each model's answer, equal ones once, and its rollouts over time."""
    yield f"{history['task']} prompt {history['prompt_id']}, of the {history['split']} split\n"
    yield textwrap.indent(as_shown(history["prompt"]), "  ", lambda _: True)
    if history["reference"] is not None:
        yield f"reference: {as_shown(cell(history['reference']))}"
    answers: dict[str, dict[str, Any]] = {}
    for answer in () if worst else history["answers"]:
        row = answers.setdefault(answer["completion"], {"models": Counter(), "reward": None, **answer})
        row["models"][answer["model"]] += 1
        if row["reward"] is None:
            row |= {"reward": answer["reward"], "truth": answer["truth"]}
    for row in answers.values():
        row["models"] = [f"{model} ×{count}" if count > 1 else model for model, count in row["models"].items()]
    if answers:
        yield Table("Answers", list(answers.values()), "models reward truth completion")
    if rollouts := history["rollouts"]:
        keys = sorted({(each["seed"], each["step"]) for each in rollouts})
        groups = [[each for each in rollouts if (each["seed"], each["step"]) == key] for key in keys]
        rows = [{**of_step[0], **_summary(of_step)} for of_step in groups]
        yield Table("Rollouts over time", rows, f"step seed rollouts {SUMMARY} components")
        yield from _extremes(rollouts, f"{EXTREMES} step text", worst=worst)
    elif not history["answers"]:
        yield "no model answered it, and no rollouts of it were sampled"


def _summary(rollouts: Sequence[Rollout]) -> Rollout:
    rewards, names = [each["reward"] for each in rollouts], rollouts[0]["components"]
    return {
        "rollouts": len(rollouts),
        "prompts": len({each["prompt_id"] for each in rollouts}),
        "distinct": len({each["completion"] for each in rollouts}),
        "trained_on": sum(each["advantage"] is not None for each in rollouts),
        "mean_reward": fmean(rewards),
        "worst": min(rewards),
        "best": max(rewards),
        "components": {name: fmean(each["components"].get(name, 0.0) for each in rollouts) for name in names},
    }


def _extremes(rollouts: Sequence[Rollout], columns: str, *, worst: bool) -> Iterator[Table]:
    """Yield the worst and the best of distinct rollouts, equal ones once."""
    rows: dict[tuple[Any, ...], Rollout] = {}
    for each in sorted(rollouts, key=lambda each: each["reward"]):
        key = (each["prompt_id"], each["step"], each["completion"], each["reward"])
        marks = [" (cut off at the token limit)"] * (each["stop_reason"] == "token_limit")
        marks += [" (the reference's answer)"] * each["corrected"]
        text = as_shown(" ".join(each["completion"].split()))[:LONGEST_TEXT] + "".join(marks)
        row = rows.setdefault(key, {**each, "prompt_id": each["prompt_id"][:8], "times": 0, "text": text})
        row["times"] += 1
    distinct = list(rows.values())
    if worst:
        yield Table("Worst", distinct[: 3 * LISTED], columns)
    elif len(distinct) <= 2 * LISTED:
        yield Table("All, worst first", distinct, columns)
    else:
        yield Table("Worst", distinct[:LISTED], columns)
        yield Table("Best", distinct[::-1][:LISTED], columns)
