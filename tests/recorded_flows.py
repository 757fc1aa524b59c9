"""The command `tucano`, of which each child process records what it runs (`tests.source_records`)."""

import os

from flows.cli.tucano import main
from schemas.source import REPOSITORY
from tasks.policy import child
from tests.source_records import RECORDER

if __name__ == "__main__":
    vars(child)["REPOSITORY"] = f"{RECORDER}{os.pathsep}{REPOSITORY}"
    main()
