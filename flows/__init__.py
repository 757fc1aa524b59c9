"""Prefect flows, one for each stage; `retrain` chains them, `cli` is the `tucano` command."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - on a path by force, this is what any older Python reads first
    sys.stderr.write(f"tucano: Python {sys.version.split()[0]} is too old; install it into 3.11 or newer\n")
    raise SystemExit(2)
