from xml.etree import ElementTree as ET

from matplotlib import rc_context

from tasks.report.canvas import BLUE, add_axes, canvas, svg


def drawn(label: str = "two curves") -> str:
    with canvas(4, 2) as figure:
        axes = add_axes(figure, left=0.5, right=0.25, bottom=0.4, top=0.1)
        axes.plot([0, 1], [1, 0], "o-", color=BLUE)
        axes.scatter(range(30), range(30))
        axes.set_xlabel("training step")
        return svg(figure, label)


def test_equal_numbers_give_equal_bytes_without_date_and_tool() -> None:
    assert drawn() == drawn()
    assert "metadata" not in drawn()


def test_a_setting_of_the_users_changes_no_bytes() -> None:
    as_shipped = drawn()
    # As a `matplotlibrc` of the current folder sets it.
    with rc_context({"lines.linewidth": 9, "figure.dpi": 50, "axes.grid": True}):
        assert drawn() == as_shipped


def test_a_label_is_an_attribute_whatever_its_signs() -> None:
    label = 'a < "b" & c'
    assert ET.fromstring(drawn(label)).get("aria-label") == label  # noqa: S314 - of our own making
