"""CI runs a long test where one of its rooms changed since it last passed."""

import tomllib
from pathlib import Path

from tests.long_tests import FILE, REPOSITORY


def test_each_long_test_has_rooms_that_are_there() -> None:
    rooms = tomllib.loads(FILE.read_text(encoding="utf-8"))["rooms"]
    marked = {
        str(path.relative_to(REPOSITORY))
        for path in (REPOSITORY / "tests").rglob("test_*.py")
        if "pytest.mark.long" in path.read_text(encoding="utf-8") and path != Path(__file__)
    }
    assert marked == {*rooms}
    assert not [room for covered in rooms.values() for room in covered if not (REPOSITORY / room).exists()]
