"""Long tests whose rooms changed since they last passed: `python -m tests.long_tests` prints their files.

With `--passed` it notes that all of them pass at the commit that is checked out.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[1]
FILE: Final = REPOSITORY / "tests" / "long.toml"


def changed(rooms: Mapping[str, Sequence[str]], passed: str, repository: Path = REPOSITORY) -> list[str]:
    """Return the files of tests to run: all where the commit at which they passed is not in the history.

    Args:
        rooms: Paths that a file of tests covers, by that file.
        passed: The commit.
        repository: Folder of the repository.
    """
    if not passed or _git(repository, "merge-base", "--is-ancestor", passed, "HEAD").returncode:
        return sorted(rooms)
    return [
        file
        for file, covered in sorted(rooms.items())
        if _git(repository, "diff", "--quiet", passed, "--", file, *covered).returncode
    ]


def _git(repository: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=False)


def main() -> None:
    """Print the files, or note that all pass."""
    text = FILE.read_text(encoding="utf-8")
    if sys.argv[1:] == ["--passed"]:
        commit = _git(REPOSITORY, "rev-parse", "HEAD").stdout.strip()
        FILE.write_text(re.sub(r'(?m)^passed = ".*"$', f'passed = "{commit}"', text), encoding="utf-8")
        return
    known = tomllib.loads(text)
    print(" ".join(changed(known["rooms"], known["passed"])))


if __name__ == "__main__":
    main()
