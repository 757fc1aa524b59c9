"""Commands `tucano lineage` and `show`: where an artifact or a row came from and led to, and what the models said."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from flows.cli.result import Table, plural, show
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, ReportLanguage, StateFolder, configured
from flows.runtime.console import stage_progress, warn
from flows.runtime.session import EXPERIMENT, artifacts_folder, mlflow_store
from flows.runtime.signals import interruptible
from flows.runtime.stores import existing_store, open_registry
from schemas.config.config import Config
from schemas.config.report import Language
from schemas.errors import GateRefused, InputError
from tasks.lineage.erase.find import Place, Reached, reached
from tasks.lineage.graph.graph import Graph, Node, read_versions
from tasks.lineage.graph.page import write_page
from tasks.lineage.graph.walk import Lineage, Registered, Walker
from tasks.lineage.mlflow.recorder import artifacts_of_run
from tasks.lineage.mlflow.registry import local_aliases
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import Inventory, read_inventory
from tasks.lineage.store.inventory import verify as verify_artifacts
from tasks.report.language import spoken
from tasks.synthesize.own.identities import find_known

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
"""Facts of an artifact that the answer tells, by its kind; `--long` has them all."""
MOST_NAMED: Final = 4
SIDES: Final = {
    "subject": "Asked about",
    "before": "It came from",
    "both": "It came from, and led to",
    "after": "It led to",
    "beside": "Beside it",
}


def lineage(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REF",
            help="A model version (3, NAME/3) or alias, an artifact's or a prompt's digest or its beginning, or a run; "
            "for --forget the id of a review, an order or a customer.",
        ),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the graph as one HTML page; replaced if there.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Hash all files of all artifacts in it; exit code 3 where one is not whole."),
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Say what holds a customer, order or review, and what learned from it.")
    ] = False,
    language: ReportLanguage = None,
    long: Annotated[bool, typer.Option("--long", help="List all things in it, with digests and reasons.")] = False,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Walk from a model, a run, an artifact or a row to all that it came from and led to."""
    asked = [name for name, given in (("--verify", verify), ("--forget", forget)) if given]
    if len(asked) > 1 or (html is not None and asked):
        raise InputError(f"{' and '.join([*asked, *(['--html'] if html else [])])} ask for different things; give one")
    config = configured(profile, overrides, state)
    with interruptible(LOOKED):
        if verify:
            document, parts = _verify(config, reference)
        elif forget:
            found = find_known(config.state.root, reference, partial(reached, open_inventory(config)))
            document, parts = found.document(), list(_reached_parts(found))
        else:
            document, parts = _walk(config, reference, html, language or config.language, long=long)
    show(document, parts, as_json=as_json)
    if verify and not document["whole"]:
        raise GateRefused(
            f"{len(document['findings'])} faults are in the {document['artifacts']} artifacts of {reference}; bring "
            "them back from a backup of the state folder, or make them again with `tucano retrain`"
        )


def _walk(config: Config, text: str, html: Path | None, language: Language, *, long: bool) -> Result:
    walker = open_walker(config)
    walked = walker.walk(walker.find(text))
    document = walked.document()
    parts = list(_tables(document) if long else _answer(walked))
    for warning in walked.warnings:
        warn(warning)
    if html is not None:
        with spoken(language):
            write_page(walked, html)
        parts.append(f"page: {html}")
    return document, parts


def _tables(document: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield all nodes with their facts, by the side of the subject that they are on."""
    for side, title in SIDES.items():
        nodes = [node for node in document["nodes"] if node["side"] == side]
        if nodes:
            yield Table(title, nodes, "thing=name facts")
    for split, ids in document["rows"].items():
        yield f"{split}: {len(ids)} rows, whose prompt_ids --json lists"


def _verify(config: Config, text: str) -> Result:
    walker = open_walker(config)
    artifacts = walker.artifacts(walker.find(text))
    with stage_progress("verify") as progress:
        findings = [asdict(each) for each in verify_artifacts(artifact_store(config), artifacts, progress)]
    document = {"reference": text, "artifacts": len(artifacts), "whole": not findings, "findings": findings}
    if not findings:
        return document, [f"{text}: {len(artifacts)} artifacts are what their records say"]
    return document, [Table(f"{text}: {len(artifacts)} artifacts hashed", findings, "artifact=kind sha256 file what")]


def _reached_parts(found: Reached) -> Iterator[str]:
    """Yield what holds a person's data, what learned from it and the command that forgets."""
    holding = {place.sha256 for place in found.places if place.file is not None}
    yield (
        f"{' and '.join(found.kinds)} {found.identifier}: {plural(len(found.prompts), 'prompt')}, "
        f"{plural(len({place.sha256 for place in found.places}), 'artifact')}, {plural(len(found.models), 'model')}"
    )
    yield f"  rows in {_kinds_of(place for place in found.places if place.sha256 in holding) or 'no artifact'}"
    learned = _kinds_of(place for place in found.places if place.sha256 not in holding)
    yield f"  learned from a row or from such weights: {learned or 'none'}"
    yield f"  models: {_listed(found.models) or 'none'}"
    if found.doubts:
        yield f"  {plural(len(found.doubts), 'artifact')} cannot be searched, which --json names"
    # An e-mail address or a number as its shop writes it may have signs of the shell.
    yield f"what forgetting would do (--apply does it): tucano forget {shlex.quote(found.identifier)}"
    yield "each table with its rows, and copies that no artifact tells of: --json"


def _answer(walked: Lineage) -> Iterator[str]:
    """Yield what is asked about, what it came from and what became of it, a line each."""
    graph = walked.graph
    for key in walked.subjects:
        if node := graph.nodes.get(key):
            yield from _of_prompt(graph, node) if node.kind == "prompt" else _of_artifact(graph, node)
    yield f"all {len(graph.nodes)} things in it, with digests and reasons: --long; as a page: --html FILE"


def _kinds_of(places: Iterable[Place]) -> str:
    """Return the kinds of the artifacts of some places, with how many where there are several."""
    counts = Counter(kind for _, kind in dict.fromkeys((place.sha256, place.kind) for place in places))
    return ", ".join(f"{kind} ({count})" if count > 1 else kind for kind, count in counts.items())


def _of_artifact(graph: Graph, node: Node) -> Iterator[str]:
    """Yield a line of an artifact or a version, one of each kind of thing that it came from, and what it led to."""
    yield _with_facts(node)
    before = [graph.nodes[key] for key in graph.came_from(node.key) if key in graph.nodes]
    for kind in SHOWN_FACTS:
        of_kind = [_with_facts(each) for each in before if each.kind == kind]
        if of_kind:
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


def artifact_store(config: Config) -> ArtifactStore:
    """Open the artifact store, read-only.

    Raises:
        InputError: The state folder has no artifacts.
    """
    return existing_store(config, "nothing came from anything there")


def open_inventory(config: Config) -> Inventory:
    """Read every record of the artifact store.

    Raises:
        InputError: The state folder has no artifacts.
    """
    artifact_store(config)
    return read_inventory(artifacts_folder(config))


def open_walker(config: Config) -> Walker:
    """Open a state folder's lineage for walks.

    MLflow is imported only where nothing else knows a reference.

    Raises:
        InputError: The state folder has no artifacts.
    """
    inventory = open_inventory(config)
    uri, local = mlflow_store(config.state)
    model = config.promote.model_name

    def ask_alias(alias: str) -> str | None:
        if local is not None:
            return None  # All artifacts of a local store are known already.

        holder = open_registry(config).holder(model, alias)
        return holder.version if holder else None

    def ask_run(run_id: str) -> Sequence[str]:
        if local is not None and not local.parent.is_dir():
            return ()  # Opening the store would create it.

        return artifacts_of_run(uri, EXPERIMENT, run_id)

    known = Registered(model, local_aliases(uri, model), ask_alias, ask_run)
    return Walker(inventory, read_versions(inventory), known)
