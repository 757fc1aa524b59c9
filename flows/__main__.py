"""Entry point of `python -m flows`: the `tucano` command."""

import sys

if not sys.flags.safe_path:
    # `python -m` puts the current folder first, whose `html.py` would pass for the library's.
    del sys.path[0]

from flows.cli import main

main()
