"""HTML page of the lineage: the facts of each node as a list, whose entries lead to one another."""

from pathlib import Path
from typing import Final

from schemas.disk import write_whole
from schemas.errors import InputError
from tasks.lineage.graph.walk import Lineage
from tasks.report.page import page_template

_TEMPLATE: Final = Path(__file__).with_name("lineage.html.j2")


def write_page(lineage: Lineage, file: Path) -> None:
    """Write the page atomically; the same lineage gives the same bytes."""
    try:
        write_whole(file, render(lineage))
    except OSError as error:
        raise InputError(
            f"the page {file} cannot be written ({error.strerror}); name another file with --html FILE"
        ) from None


def render(lineage: Lineage) -> str:
    """Render the page."""
    graph = lineage.graph
    return page_template(_TEMPLATE).render(
        lineage=lineage,
        heading=", ".join(graph.nodes[key].name for key in lineage.subjects if key in graph.nodes),
        nodes=graph.nodes,
        before=graph.before,
        after=graph.after,
    )
