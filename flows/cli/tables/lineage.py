"""Terminal output of `tucano lineage`: trees of origins and descendants, faults, differences, and places."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text
from rich.tree import Tree

from flows.runtime.console import console, print_table, show, warn
from tasks.lineage.erase.find import Reached
from tasks.lineage.graph.difference import ChangedValue, Differences
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.graph.walk import Lineage
from tasks.lineage.store.inventory import short
from tasks.lineage.store.verify import ArtifactFault

MOST_BRANCHES = 12
"""Most nodes of one kind shown under one node, such as a customer's orders or a prompt's models."""
ONLY_OF_THE_SUBJECT = {"MLflow run", "Prefect run"}
MOST_FACTS = 8


def print_lineage(lineage: Lineage) -> None:
    """Print both trees of each subject, or the list of artifacts of a run that made several.

    A node's neighbours are printed once.
    """
    subjects = [lineage.graph.nodes[key] for key in lineage.subjects if key in lineage.graph.nodes]
    if lineage.kind == "run" and len(subjects) > 1:
        _print_run(lineage.reference, subjects)
    else:
        for node in subjects:
            _print_trees(lineage.graph, node)
    for split, ids in lineage.rows.items():
        show(f"{split}: {len(ids)} rows, whose prompt_ids --json lists")
    for warning in lineage.warnings:
        warn(warning)


def print_findings(reference: str, checked: int, findings: Iterable[ArtifactFault]) -> None:
    """Print the faults of the artifacts that were hashed again."""
    rows = [(f"{each.kind or 'artifact'} {short(each.sha256)}", each.file or "", each.what) for each in findings]
    if not rows:
        show(f"{reference}: {checked} artifacts are what their records say")
        return
    print_table(f"{reference}: {checked} artifacts hashed", ("artifact", "file", "what"), rows, texts=("file", "what"))


def print_differences(differences: Differences) -> None:
    """Print why two models differ."""
    changes: dict[str, tuple[ChangedValue, ...]] = {
        "rewards": differences.rewards,
        "configuration": differences.configuration,
        "seeds": differences.seeds,
    }
    same = [name for name, of in changes.items() if not of]
    if any(rows.only_one or rows.only_other for rows in differences.data):
        print_table(
            "Data: rows by split and task",
            ("split", "task", "only in the one", "only in the other", "in both"),
            [
                (rows.split, rows.task, str(rows.only_one), str(rows.only_other), str(rows.same))
                for rows in differences.data
            ],
            texts=("task",),
        )
    elif differences.data:
        same.append("data")
    for name, of in changes.items():
        if of:
            rows_of = [(change.name, _shown(change.one), _shown(change.other)) for change in of]
            print_table(name.capitalize(), ("name", "the one", "the other"), rows_of, texts=("the one", "the other"))
    if differences.code:
        print_table(
            "Code: files that differ",
            ("file", "the one", "the other", "it made"),
            [
                (change.file, short(change.one or "none"), short(change.other or "none"), ", ".join(change.made))
                for change in differences.code
            ],
            texts=("the one", "the other", "it made"),
        )
    else:
        same.append("code")
    if same:
        show(f"the same: {', '.join(same)}")
    for note in differences.notes:
        show(note)


def print_reached(reached: Reached) -> None:
    """Print the places of a person's data, and what to do about each by hand."""
    show("forgetting does all this, or names what it does not reach; by hand it is:")
    print_table(
        "Where it is",
        ("artifact", "file", "rows", "what to do"),
        [
            (f"{place.kind} {short(place.sha256)}", place.file or "", str(place.rows), place.action)
            for place in reached.places
        ],
        texts=("file", "what to do"),
        lines=True,
    )
    for note in reached.notes:
        show(note)


def _print_run(run: str, made: Iterable[Node]) -> None:
    """Print what a run made; the trees of so many artifacts would repeat each other."""
    tree = Tree(Text(f"run {run}", style="bold cyan"), guide_style="dim")
    for node in made:
        _facts(tree.add(_label(node, "")), node, all_of_them=False)
    console.print(tree)


def _print_trees(graph: Graph, node: Node) -> None:
    tree = Tree(_label(node, ""), guide_style="dim")
    _facts(tree, node, all_of_them=True)
    for title, edges, end in (("came from", graph.before, "source"), ("led to", graph.after, "target")):
        if node.kind == "version" and title == "led to" and not edges.get(node.key):
            # A version is what all of it is for: it serves.
            continue
        branch = tree.add(Text(title if edges.get(node.key) else f"{title} nothing", style="bold"))
        _grow(branch, graph, node.key, edges, end, {node.key})
    console.print(tree)


def _grow(
    branch: Tree, graph: Graph, key: str, edges: Mapping[str, tuple[Edge, ...]], end: str, printed: set[str]
) -> None:
    """Print under a node its neighbours, recursively; a node that was printed before is only named."""
    by_node: dict[str, list[str]] = {}
    for edge in edges.get(key, ()):
        by_node.setdefault(getattr(edge, end), []).append(edge.role)
    shown: dict[str, int] = {}
    for neighbour, roles in by_node.items():
        node = graph.nodes[neighbour]
        shown[node.kind] = shown.get(node.kind, 0) + 1
        if shown[node.kind] > MOST_BRANCHES:
            continue
        again = neighbour in printed
        leaf = branch.add(_label(node, ", ".join(roles), again=again))
        if not again:
            printed.add(neighbour)
            _facts(leaf, node, all_of_them=False)
            _grow(leaf, graph, neighbour, edges, end, printed)
    for kind, count in shown.items():
        if count > MOST_BRANCHES:
            branch.add(Text(f"and {count - MOST_BRANCHES} more of {kind}; --json and --html have them all"))


def _label(node: Node, role: str, *, again: bool = False) -> Text:
    label = Text(node.name, style="dim" if again else "bold cyan")
    if role:
        label.append(f" ({role})", style="dim")
    if again:
        label.append(" as above", style="dim")
    return label


def _facts(branch: Tree, node: Node, *, all_of_them: bool) -> None:
    """Print the facts of a node as one paragraph: a line for each would hide the tree."""
    facts = [f"{name}: {value}" for name, value in node.facts.items() if all_of_them or name not in ONLY_OF_THE_SUBJECT]
    if not all_of_them and len(facts) > MOST_FACTS:
        facts = [*facts[:MOST_FACTS], f"and {len(facts) - MOST_FACTS} more in --json and --html"]
    if facts:
        branch.add(Text(" · ".join(facts), style="dim"))


def _shown(value: Any) -> str:
    return "" if value is None else str(value)
