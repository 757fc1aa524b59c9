"""Entry point of `python -m flows`: the `tucano` command."""

from flows.cli.tucano import main

main()
