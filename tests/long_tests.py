"""Long tests whose rooms changed since they last passed: `python -m tests.long_tests` prints their files.

With `--passed` it notes that all of them pass at the commit that is checked out.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[1]
FILE: Final = REPOSITORY / "tests" / "long.toml"


def changed() -> list[str]:
    """Return the files of tests to run: all where the commit at which they passed is not in the history."""
    known = tomllib.loads(FILE.read_text(encoding="utf-8"))
    rooms, passed = known["rooms"], known["passed"]
    if not passed or _git("merge-base", "--is-ancestor", passed, "HEAD").returncode:
        return sorted(rooms)
    return [file for file in sorted(rooms) if _git("diff", "--quiet", passed, "--", file, *rooms[file]).returncode]


def _git(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    if sys.argv[1:] == ["--passed"]:
        commit = _git("rev-parse", "HEAD").stdout.strip()
        noted = re.sub(r'(?m)^passed = ".*"$', f'passed = "{commit}"', FILE.read_text(encoding="utf-8"))
        FILE.write_text(noted, encoding="utf-8")
    else:
        print(" ".join(changed()))
