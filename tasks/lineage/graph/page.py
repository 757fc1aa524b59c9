"""HTML page of the lineage: the facts of each node as a list, and below it a picture from left to right."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
BOW: Final = 45
"""Downward bend of a line that passes a column, so that it is visible below the boxes, in pixels."""
LONGEST_LABEL: Final = 24
MOST_IN_A_COLUMN: Final = 60
_TEMPLATE: Final = Path(__file__).with_name("lineage.html.j2")


@dataclass(frozen=True)
class Box:
    """Position of a node, in pixels from the upper left."""

    key: str
    kind: str
    label: str
    title: str
    """Tooltip."""
    is_subject: bool
    x: int
    y: int


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
    boxes, hidden = _boxes(lineage)
    placed = {box.key: box for box in boxes}
    return page_template(_TEMPLATE).render(
        lineage=lineage,
        heading=", ".join(graph.nodes[key].name for key in lineage.subjects if key in graph.nodes),
        nodes=graph.nodes,
        before=graph.before,
        after=graph.after,
        boxes=boxes,
        hidden=hidden,
        lines=_lines(graph, placed),
        box=BOX,
        size=(
            max((box.x for box in boxes), default=0) + BOX[0] + MARGIN,
            max((box.y for box in boxes), default=0) + BOX[1] + BOW,
        ),
    )


def _boxes(lineage: Lineage) -> tuple[list[Box], int]:
    """Return the boxes, in columns by their number of predecessors, and the number that did not fit.

    Columns have one middle, so that both ends of the graph are beside what they are joined to.
    """
    graph = lineage.graph
    columns: dict[int, list[str]] = {}
    for key, column in _columns(graph).items():
        columns.setdefault(column, []).append(key)
    boxes: list[Box] = []
    hidden = 0
    tallest = min(max(map(len, columns.values()), default=0), MOST_IN_A_COLUMN)
    for column, keys in sorted(columns.items()):
        # Requested nodes are always drawn.
        shown = sorted(keys, key=lambda key: key not in lineage.subjects)[:MOST_IN_A_COLUMN]
        hidden += len(keys) - len(shown)
        for row, key in enumerate(shown):
            node = graph.nodes[key]
            label = node.name if len(node.name) <= LONGEST_LABEL else f"{node.name[: LONGEST_LABEL - 1]}…"
            title = "\n".join([node.name, *(f"{name}: {value}" for name, value in node.facts.items())])
            x = MARGIN + column * (BOX[0] + GAP[0])
            y = MARGIN + (2 * row + tallest - len(shown)) * (BOX[1] + GAP[1]) // 2
            boxes.append(Box(key, node.kind, label, title, key in lineage.subjects, x, y))
    return boxes, hidden


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


def _lines(graph: Graph, placed: Mapping[str, Box]) -> list[tuple[str, str]]:
    """Return the SVG path data and the tooltip of each edge between boxes."""
    lines = []
    for edge in graph.edges:
        source, target = placed.get(edge.source), placed.get(edge.target)
        if source is None or target is None:
            continue
        x, y, end_x, end_y = source.x + BOX[0], source.y + BOX[1] // 2, target.x, target.y + BOX[1] // 2
        bend, bow = (end_x - x) // 2, BOW if end_x - x > GAP[0] else 0
        path = f"M {x} {y} C {x + bend} {y + bow}, {end_x - bend} {end_y + bow}, {end_x} {end_y}"
        lines.append((path, f"{source.label} → {target.label}: {edge.role}"))
    return lines
