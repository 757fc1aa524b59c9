import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from matplotlib import rc_context, rcParams

from tasks.report.canvas import BLUE, add_axes, canvas, svg, write_figures


def drawn(label: str = "two curves") -> str:
    with canvas(4, 2) as figure:
        axes = add_axes(figure, left=0.5, right=0.25, bottom=0.4, top=0.1)
        axes.plot([0, 1], [1, 0], "o-", color=BLUE)
        axes.scatter(range(30), range(30))
        axes.set_xlabel("training step")
        return svg(figure, label)


def test_margins_are_inches() -> None:
    with canvas(4, 2) as figure:
        axes = add_axes(figure, left=0.5, right=0.25, bottom=0.4, top=0.1)
        assert axes.get_position().bounds == pytest.approx((0.125, 0.2, 0.8125, 0.75))


def test_drawing_changes_no_global_state() -> None:
    before = dict(rcParams)
    drawn()
    assert dict(rcParams) == before


def test_equal_numbers_give_equal_bytes_without_date_and_tool() -> None:
    assert drawn() == drawn()
    assert "metadata" not in drawn()


def test_a_setting_of_the_users_changes_no_bytes() -> None:
    as_shipped = drawn()
    # As a `matplotlibrc` of the current folder sets it.
    with rc_context({"lines.linewidth": 9, "figure.dpi": 50, "axes.grid": True}):
        assert drawn() == as_shipped


def test_text_stays_text() -> None:
    assert ">training step</text>" in drawn()


@pytest.mark.parametrize("label", ['larger "by luck"', "a < b & c", "it's"])
def test_a_label_is_an_attribute_whatever_its_signs(label: str) -> None:
    assert ET.fromstring(drawn(label)).get("aria-label") == label  # noqa: S314 - of our own making


def test_every_reference_has_its_one_target_and_no_name_is_numbered_by_the_figure() -> None:
    text = drawn()
    ids = re.findall(r' id="([^"]+)"', text)
    targets = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    assert {one or other for one, other in targets} == set(ids)
    assert len(set(ids)) == len(ids)


def test_figures_are_written_by_name_into_a_folder_that_is_made(tmp_path: Path) -> None:
    write_figures({"one": drawn(), "other": "<svg/>"}, tmp_path / "report")
    folder = tmp_path / "report" / "figures"
    assert {file.name for file in folder.iterdir()} == {"one.svg", "other.svg"}
    assert (folder / "one.svg").read_text(encoding="utf-8") == drawn()
