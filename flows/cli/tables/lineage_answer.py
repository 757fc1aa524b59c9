"""Short answer of `tucano lineage`: what is asked about, what it came from and what became of it, in a few lines."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from flows.runtime.console import show, warn
from tasks.lineage.erase.find import Place, Reached
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.graph.walk import Lineage

TOLD: Final = {
    "promotion": ("decision",),
    "policy": ("training", "chosen step", "rollouts"),
    "evaluation": ("verdict", "reward", "difference"),
    "audit": ("verdict", "scored by"),
    "dataset": ("train", "validation", "test"),
    "base": ("model",),
    "prompts": ("rows", "store"),
}
"""Facts of an artifact that the answer tells, by its kind; `--long` has them all."""
ORIGINS: Final = ("customer", "order", "review")
ROWS: Final = frozenset({"prompt", *ORIGINS})
MOST_NAMED: Final = 4
MAIN_MODELS: Final = tuple(f"{name} on these prompts" for name in ("base", "tuned", "champion"))


def print_answer(lineage: Lineage) -> None:
    """Print the answer, and where the rest of it is."""
    graph = lineage.graph
    subjects = [graph.nodes[key] for key in lineage.subjects if key in graph.nodes]
    for node in subjects:
        for line in _of_row(graph, node) if node.kind in ROWS else _of_artifact(graph, node):
            show(line)
    for warning in lineage.warnings:
        warn(warning)
    show(f"all {len(graph.nodes)} things in it, with digests and reasons: --long; as a page: --html FILE")


def print_reached_answer(reached: Reached, *, long: bool) -> None:
    """Print what holds a person's data and what learned from it, and the commands that forget; then where the rest is.

    Args:
        reached: What a person's data reached.
        long: Whether the rest follows.
    """
    certain = [place for place in reached.places if not place.possibly]
    holding = {place.sha256 for place in certain if place.file is not None}
    show(
        f"{' and '.join(reached.kinds)} {reached.identifier}: {counted(len(reached.prompts), 'prompt')}, "
        f"{counted(len({place.sha256 for place in certain}), 'artifact')}, {counted(len(reached.models), 'model')}"
    )
    show(f"  {counted(len(reached.orders), 'order')}, {counted(len(reached.reviews), 'review')}")
    show(f"  rows in {_kinds_of(place for place in certain if place.sha256 in holding) or 'no artifact'}")
    learned = _kinds_of(place for place in certain if place.sha256 not in holding)
    show(f"  without a row, but learned from one or from such weights: {learned or 'none'}")
    show(f"  models: {_listed(reached.models) or 'none'}")
    if reached.possible_models:
        show(f"  models that it possibly reached: {_listed(reached.possible_models)}")
    if reached.doubts:
        show(f"  {counted(len(reached.doubts), 'artifact')} cannot be searched, which --long names")
    # An e-mail address or a number as its shop writes it may have signs of the shell.
    asked = shlex.quote(reached.identifier)
    show(f"what forgetting would do: tucano forget {asked}")
    show(f"to do it: tucano forget {asked} --apply")
    if not long:
        show("each table with its rows, and copies that no artifact tells of: --long")


def counted(count: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _kinds_of(places: Iterable[Place]) -> str:
    """Return the kinds of the artifacts of some places, with how many where there are several."""
    counts = Counter(kind for _, kind in dict.fromkeys((place.sha256, place.kind) for place in places))
    return ", ".join(f"{kind} ({count})" if count > 1 else kind for kind, count in counts.items())


def _of_artifact(graph: Graph, node: Node) -> Iterator[str]:
    """Yield a line of an artifact or a version, one of each thing that it was made of, and what it led to."""
    yield _told(node)
    waiting, seen = [node], {node.key}
    while waiting:
        made = waiting.pop(0)
        for edge in graph.before.get(made.key, ()):
            source = graph.nodes.get(edge.source)
            if source is None or source.key in seen or source.kind not in TOLD:
                continue
            if made.kind == "evaluation" and node.kind != "evaluation":
                # Not all that it compared: what it found is what is asked.
                continue
            seen.add(source.key)
            yield f"  from {_told(source)}"
            waiting.append(source)
    reached = [graph.nodes[key] for key in graph.led_to(node.key) if key in graph.nodes]
    if reached:
        yield f"  led to {_named(reached)}"


def _of_row(graph: Graph, node: Node) -> Iterator[str]:
    """Yield what became of a prompt, or of the prompts of a person, an order or a review; and then whose it is."""
    before, after = (
        [graph.nodes[key] for key in keys if key in graph.nodes]
        for keys in (graph.came_from(node.key), graph.led_to(node.key))
    )
    prompts = [node] if node.kind == "prompt" else [each for each in after if each.kind == "prompt"]
    models = sorted(_version(each) for each in after if each.kind == "version")
    edges = [edge for prompt in prompts for edge in graph.after.get(prompt.key, ())]
    splits = dict.fromkeys(edge.role for edge in edges if _kind(graph, edge) == "dataset")
    reached = f"model {_listed(models)}" if models else "no model"
    yield f"{node.name}: {', '.join(splits) or 'in no dataset'}; {reached}"
    yield from _places(graph, edges)
    for each in after:
        scores = [f"{name.split()[0]} {value}" for name, value in each.facts.items() if name.startswith(MAIN_MODELS)]
        if scores:
            yield f"  scores in {each.name}: {', '.join(scores)}"
    own = [f"{name} {value}" for name, value in node.facts.items()]
    parts = sorted(
        (each for each in (*before, *after) if each.kind in ORIGINS),
        key=lambda each: (ORIGINS.index(each.kind), each.name),
    )
    if node.kind != "prompt":
        counts = Counter(each.kind for each in (*parts, *prompts))
        own += [counted(count, kind) for kind, count in counts.items()]
    else:
        own += [each.name for each in parts]
    if own:
        yield f"  {', '.join(own)}"


def _places(graph: Graph, edges: Sequence[Edge]) -> Iterator[str]:
    """Yield where prompts are, and what was sampled of them, with how many where there are several."""
    places: Counter[str] = Counter()
    sampled: list[str] = []
    for edge in edges:
        target = graph.nodes.get(edge.target)
        if target is None or target.kind == "prompts":
            continue
        if edge.role == "sampled":
            steps = [f"{name}: {value}" for name, value in target.facts.items()]
            sampled.append(f"{target.name} ({'; '.join(steps[:MOST_NAMED])})" if steps else target.name)
        elif target.kind in {"dataset", "policy", "sheet", "audit"}:
            places[f"{edge.role} of {target.name}" if target.kind == "dataset" else f"{target.name}: {edge.role}"] += 1
    for place, count in places.items():
        yield f"  {place}{f', {count} prompts' if count > 1 else ''}"
    if sampled:
        yield f"  sampled: {_listed(sampled)}"


def _kind(graph: Graph, edge: Edge) -> str | None:
    target = graph.nodes.get(edge.target)
    return None if target is None else target.kind


def _told(node: Node) -> str:
    names = TOLD.get(node.kind, tuple(node.facts)[:MOST_NAMED])
    facts = [f"{name}: {node.facts[name]}" for name in names if name in node.facts]
    held = f", which is `{node.facts['alias']}`" if node.kind == "version" and "alias" in node.facts else ""
    if node.kind == "version":
        return f"{node.name}{held}"
    return f"{node.name}{': ' if facts else ''}{' · '.join(facts)}"


def _version(node: Node) -> str:
    return f"{node.name} ({node.facts['alias']})" if "alias" in node.facts else node.name


def _named(nodes: Sequence[Node]) -> str:
    versions = sorted(_version(node) for node in nodes if node.kind == "version")
    counts = Counter(node.kind for node in nodes if node.kind != "version")
    return ", ".join([*versions, *(f"{count} {kind}" for kind, count in sorted(counts.items()))])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
