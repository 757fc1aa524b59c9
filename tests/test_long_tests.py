"""CI runs a long test where one of its rooms changed since it last passed."""

import subprocess
import tomllib
from pathlib import Path

from tests.long_tests import FILE, REPOSITORY, changed

ROOMS = {"tests/test_a.py": ["tasks/a"], "tests/test_b.py": ["tasks/b", "schemas"]}


def test_a_changed_room_and_an_unknown_commit_run_their_tests(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        names = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        return subprocess.run(
            ["git", *names, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    def commit(file: str) -> str:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(f"{file}\n", encoding="utf-8")
        git("add", ".")
        git("commit", "-qm", file)
        return git("rev-parse", "HEAD").strip()

    git("init", "-q")
    passed = commit("tasks/a/code.py")
    assert changed(ROOMS, passed, tmp_path) == []
    commit("docs/page.md")
    assert changed(ROOMS, passed, tmp_path) == []
    commit("schemas/code.py")
    assert changed(ROOMS, passed, tmp_path) == ["tests/test_b.py"]
    commit("tests/test_a.py")
    assert changed(ROOMS, passed, tmp_path) == [*ROOMS]
    for unknown in ("", "0" * 40):
        assert changed(ROOMS, unknown, tmp_path) == [*ROOMS]


def test_each_long_test_has_rooms_that_are_there() -> None:
    rooms = tomllib.loads(FILE.read_text(encoding="utf-8"))["rooms"]
    marked = {
        str(path.relative_to(REPOSITORY))
        for path in (REPOSITORY / "tests").rglob("test_*.py")
        if "pytest.mark.long" in path.read_text(encoding="utf-8") and path != Path(__file__)
    }
    assert marked == {*rooms}
    assert not [room for covered in rooms.values() for room in covered if not (REPOSITORY / room).exists()]
