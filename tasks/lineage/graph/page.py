"""HTML page of the lineage: the facts of each node as a list, and below it a picture from left to right."""

from pathlib import Path
from typing import Final

from schemas.disk import write_whole
from schemas.errors import InputError
from tasks.lineage.graph.graph import Graph
from tasks.lineage.graph.walk import Lineage
from tasks.report.page import page_template

MOST_IN_A_COLUMN: Final = 60
_TEMPLATE: Final = Path(__file__).with_name("lineage.html.j2")


def write_page(lineage: Lineage, file: Path) -> None:
    """Write the page atomically; the same lineage gives the same bytes.

    Raises:
        InputError: It cannot be written.
    """
    try:
        write_whole(file, render(lineage))
    except OSError as error:
        raise InputError(
            f"the page {file} cannot be written ({error.strerror}); name another file with --html FILE"
        ) from None


def render(lineage: Lineage) -> str:
    """Render the page."""
    graph = lineage.graph
    # Requested nodes are always drawn.
    columns = [sorted(keys, key=lambda key: key not in lineage.subjects) for keys in _columns(graph)]
    return page_template(_TEMPLATE).render(
        lineage=lineage,
        heading=", ".join(graph.nodes[key].name for key in lineage.subjects if key in graph.nodes),
        nodes=graph.nodes,
        before=graph.before,
        after=graph.after,
        columns=[keys[:MOST_IN_A_COLUMN] for keys in columns],
        hidden=sum(len(keys[MOST_IN_A_COLUMN:]) for keys in columns),
    )


def _columns(graph: Graph) -> list[list[str]]:
    """Return the nodes by their longest path, so that each stands to the right of all its inputs."""
    places: dict[str, int] = {}
    waiting = list(graph.nodes)
    while waiting:
        placeable = [key for key in waiting if all(edge.source in places for edge in graph.before.get(key, ()))]
        # Records forged to name one another have no start.
        for key in placeable or waiting[:1]:
            sources = [places[edge.source] for edge in graph.before.get(key, ()) if edge.source in places]
            places[key] = 1 + max(sources, default=-1)
        waiting = [key for key in waiting if key not in places]
    return [[key for key in places if places[key] == column] for column in sorted(set(places.values()))]
