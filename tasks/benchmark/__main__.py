"""Command `python -m tasks.benchmark`: scores of a file of answers, without `tucano` and what it needs."""

import argparse
import json
import sys
from pathlib import Path

from schemas.errors import InputError
from schemas.tasks import SPEC_NAMES
from tasks.benchmark.answers import as_lines, read_answers, score_answers
from tasks.benchmark.scorers import Benchmark


def main() -> int:
    """Print the scores; the exit code is 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m tasks.benchmark", description="Score answers to the benchmark.")
    parser.add_argument("benchmark", type=Path, help="folder of the benchmark")
    parser.add_argument("answers", type=Path, help="JSON Lines of answers, each with its item's id and a completion")
    parser.add_argument("--spec", choices=SPEC_NAMES, default="grounded", help="the reward specification")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    try:
        benchmark = Benchmark(options.benchmark)
        answers = read_answers(options.answers, list(benchmark.items.values()))
        scored = score_answers(benchmark, answers, options.spec)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(scored, ensure_ascii=False) if options.json else "\n".join(as_lines(scored)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
