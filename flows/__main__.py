"""Makes `python -m flows` the same as `tucano`."""

from flows.cli import main

main()
