"""Canvas of the reports' figures, each an SVG element for a page or a file of its own.

Figures are drawn on their own objects, never through pyplot, so that no global state changes; text stays text, and
equal numbers give equal bytes.
"""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import quoteattr

from tasks.report.wording import language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOSS, BLUE = "#c2410c", "#2563eb"
INK, SOFT, FAINT = "#0f172a", "#475569", "#cbd5e1"
DASHES: Final = (0, (4, 3))

WIDTH: Final = 5.0
"""Inches of a figure that is as wide as a telephone's page and still readable there."""

_FIGURES_FOLDER: Final = "figures"
_STYLE: Final = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tucano",
    # The page behind it may be dark.
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), "none"),
    "font.size": 9,
    # Above the axes, to avoid measuring overlaps with ticks, which takes a quarter of the time.
    "axes.titley": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}


@contextmanager
def canvas(width: float, height: float) -> "Iterator[Figure]":
    """Give an empty figure, its size in inches, in the style of the reports; draw and finish it within the block."""
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.figure import Figure

    with rc_context():
        # Not by a `matplotlibrc` of the current folder or of the user.
        rcdefaults()
        rcParams.update(_STYLE)
        yield Figure(figsize=(width, height))


def add_axes(figure: "Figure", *, left: float, right: float, bottom: float, top: float) -> "Axes":
    """Add axes with margins in inches."""
    width, height = figure.get_size_inches()
    return figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    )


def svg(figure: "Figure", label: str) -> str:
    """Return a figure as an SVG element, with a label for readers who do not see it."""
    if language() != "en":
        _number_with_commas(figure)
    target = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(target, format="svg", metadata=nothing)
    text = target.getvalue()
    element = text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label={quoteattr(label)}', 1)
    # Groups are numbered from the start in each figure, and one page holds many; nothing refers to these numbers.
    return re.sub(r' id="[a-zA-Z0-9.]+_\d+"', "", element)


def _number_with_commas(figure: "Figure") -> None:
    """Give each axis of numbers a decimal comma."""
    from matplotlib.ticker import ScalarFormatter

    class CommaFormatter(ScalarFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return super().__call__(x, pos).replace(".", ",")

    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if type(axis.get_major_formatter()) is ScalarFormatter:
            axis.set_major_formatter(CommaFormatter())


def write_figures(drawn: Mapping[str, str], folder: Path) -> None:
    """Write every figure to `figures/NAME.svg` in a folder, which is created if missing."""
    target = folder / _FIGURES_FOLDER
    target.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        (target / f"{name}.svg").write_text(figure, encoding="utf-8")
