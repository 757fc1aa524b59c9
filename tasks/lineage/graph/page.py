"""HTML page of the lineage: the facts of each node as a list, and below it a picture from left to right."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from schemas.disk import write_whole
from schemas.errors import InputError
from tasks.lineage.graph.graph import Graph
from tasks.lineage.graph.walk import Lineage
from tasks.report.page import page_template

BOX: Final = (180, 46)
"""Width and height of a node's box, in pixels."""
STEP: Final = (228, 66)
"""Distance of two boxes."""
MARGIN: Final = 20
LONGEST_LABEL: Final = 24
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
    graph, boxes = lineage.graph, dict(_boxes(lineage))
    lines = []
    for edge in graph.edges:
        if edge.source in boxes and edge.target in boxes:
            (x, y), (end_x, end_y) = boxes[edge.source], boxes[edge.target]
            start, y, end_y = x + BOX[0], y + BOX[1] // 2, end_y + BOX[1] // 2
            bend = (end_x - start) // 2
            path = f"M {start} {y} C {start + bend} {y}, {end_x - bend} {end_y}, {end_x} {end_y}"
            lines.append((path, f"{graph.nodes[edge.source].name} → {graph.nodes[edge.target].name}: {edge.role}"))
    return page_template(_TEMPLATE).render(
        lineage=lineage,
        heading=", ".join(graph.nodes[key].name for key in lineage.subjects if key in graph.nodes),
        nodes=graph.nodes,
        before=graph.before,
        after=graph.after,
        boxes=boxes,
        hidden=len(graph.nodes) - len(boxes),
        lines=lines,
        box=BOX,
        longest=LONGEST_LABEL,
        size=[max((place[axis] for place in boxes.values()), default=0) + BOX[axis] + MARGIN for axis in (0, 1)],
    )


def _boxes(lineage: Lineage) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the nodes that have room, in columns by their longest path, with their upper left corner in pixels."""
    columns: dict[int, list[str]] = {}
    for key, column in _columns(lineage.graph).items():
        columns.setdefault(column, []).append(key)
    for column, keys in sorted(columns.items()):
        # Requested nodes are always drawn.
        for row, key in enumerate(sorted(keys, key=lambda key: key not in lineage.subjects)[:MOST_IN_A_COLUMN]):
            yield key, (MARGIN + column * STEP[0], MARGIN + row * STEP[1])


def _columns(graph: Graph) -> Mapping[str, int]:
    """Return each node's longest path length, so that it stands to the right of all its inputs."""
    columns: dict[str, int] = {}
    waiting = list(graph.nodes)
    while waiting:
        placeable = [key for key in waiting if all(edge.source in columns for edge in graph.before.get(key, ()))]
        # Records forged to name one another have no start.
        for key in placeable or waiting[:1]:
            sources = [columns[edge.source] for edge in graph.before.get(key, ()) if edge.source in columns]
            columns[key] = 1 + max(sources, default=-1)
        waiting = [key for key in waiting if key not in columns]
    return columns
