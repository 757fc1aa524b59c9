"""Child process that is measured from outside."""

import pytest

from benchmarks.processes import watch

MEGABYTES = 60


@pytest.mark.integration
@pytest.mark.parametrize("memory", ["rss", "pss"])
def test_the_peak_counts_the_child_and_its_children(memory: str) -> None:
    child = watch("tests.benchmarks.hungry", str(MEGABYTES), every=0.02, memory=memory)  # type: ignore[arg-type]
    assert child.output == "done\n"
    assert 2 * MEGABYTES / 1000 < child.peak_gigabytes < 1
    assert child.seconds > 0.5


@pytest.mark.integration
def test_a_child_that_fails_ends_the_benchmark() -> None:
    with pytest.raises(SystemExit, match=r"tests\.benchmarks\.hungry none: the process ended with exit code 1"):
        watch("tests.benchmarks.hungry", "none", every=0.02)
    assert watch("tests.benchmarks.hungry", "none", every=0.02, success=(0, 1)).output == ""
