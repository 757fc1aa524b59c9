"""HTML page of the lineage: the facts of each node as a list, and below it a picture from left to right."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from schemas.disk import write_whole
from schemas.errors import InputError
from tasks.lineage.graph.graph import Graph
from tasks.lineage.graph.walk import Lineage
from tasks.report.page import page_template

BOX: Final = (180, 46)
"""Width and height of a node's box, in pixels."""
GAP: Final = (48, 20)
"""Horizontal and vertical gap between boxes."""
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
    graph = lineage.graph
    boxes = {box["key"]: box for box in _boxes(lineage)}
    return page_template(_TEMPLATE).render(
        lineage=lineage,
        heading=", ".join(graph.nodes[key].name for key in lineage.subjects if key in graph.nodes),
        nodes=graph.nodes,
        before=graph.before,
        after=graph.after,
        boxes=list(boxes.values()),
        hidden=len(graph.nodes) - len(boxes),
        lines=list(_lines(graph, boxes)),
        box=BOX,
        size=[max((box[axis] for box in boxes.values()), default=0) + BOX[at] + MARGIN for at, axis in enumerate("xy")],
    )


def _boxes(lineage: Lineage) -> Iterator[dict[str, Any]]:
    """Yield the boxes that have room, in columns by their longest path, from the upper left in pixels."""
    columns: dict[int, list[str]] = {}
    for key, column in _columns(lineage.graph).items():
        columns.setdefault(column, []).append(key)
    for column, keys in sorted(columns.items()):
        # Requested nodes are always drawn.
        for row, key in enumerate(sorted(keys, key=lambda key: key not in lineage.subjects)[:MOST_IN_A_COLUMN]):
            node = lineage.graph.nodes[key]
            yield {
                "key": key,
                "kind": node.kind,
                "label": node.name if len(node.name) <= LONGEST_LABEL else f"{node.name[: LONGEST_LABEL - 1]}…",
                "title": "\n".join([node.name, *(f"{name}: {value}" for name, value in node.facts.items())]),
                "is_subject": key in lineage.subjects,
                "x": MARGIN + column * (BOX[0] + GAP[0]),
                "y": MARGIN + row * (BOX[1] + GAP[1]),
            }


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


def _lines(graph: Graph, boxes: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the SVG path data and the tooltip of each edge between boxes."""
    for edge in graph.edges:
        if edge.source in boxes and edge.target in boxes:
            source, target = boxes[edge.source], boxes[edge.target]
            x, y, end_x, end_y = source["x"] + BOX[0], source["y"] + BOX[1] // 2, target["x"], target["y"] + BOX[1] // 2
            bend = (end_x - x) // 2
            path = f"M {x} {y} C {x + bend} {y}, {end_x - bend} {end_y}, {end_x} {end_y}"
            yield path, f"{source['label']} → {target['label']}: {edge.role}"
