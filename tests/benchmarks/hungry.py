"""Process that takes memory, and has a child that takes as much."""

import subprocess
import sys
import time


def main(megabytes: int, *, parent: bool) -> None:
    taken = b"x" * (megabytes * 1_000_000)
    if parent:
        subprocess.run([sys.executable, "-m", "tests.benchmarks.hungry", str(megabytes), "child"], check=True)
        print("done")
    else:
        time.sleep(1)
    del taken


if __name__ == "__main__":
    main(int(sys.argv[1]), parent=len(sys.argv) == 2)
