"""Scale of the check, and rows of its table."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from tasks.train.sizing.memory import KNOWN_SHAPES, DecoderShape

POLICY: Final = "Polygl0t/Tucano2-qwen-0.5B-Instruct"
TINY: Final = DecoderShape("qwen3", 2, 64, 4, 2, 32, 128, 1024, tied=True)
"""Shape with the smallest head that vLLM computes on a CPU."""
SEED: Final = 7
Verdict = Literal["ok", "MISSED", "not here"]


@dataclass(frozen=True)
class Scale:
    """An L4's recipe on models of Tucano2's shapes, or everything as small as a test needs it."""

    shape: Literal["l4", "tiny"] = "l4"
    device: Literal["cuda", "cpu"] = "cuda"
    gigabytes: float = 24.0
    """Memory of the card that the recipe is written for, in 10^9 bytes."""
    share: float = 1.0
    """That memory as a share of this GPU's, at most 1."""

    @property
    def is_tiny(self) -> bool:
        """Return whether everything is as small as a test needs it."""
        return self.shape == "tiny"

    @property
    def on_gpu(self) -> bool:
        """Return whether there is a GPU."""
        return self.device == "cuda"

    @property
    def policy(self) -> DecoderShape:
        """Return the shape of the model that is trained."""
        return TINY if self.is_tiny else KNOWN_SHAPES[POLICY]

    def allocator_settings(self) -> dict[str, str]:
        """Return the environment that gives a child process its share of the GPU, before it imports torch."""
        setting = f"per_process_memory_fraction:{self.share:.4f}"
        return {"PYTORCH_ALLOC_CONF": setting} if self.on_gpu and self.share < 1 else {}


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    measured: str
    limit: str
    """Empty where a figure is only reported."""
    verdict: Verdict
    """`not here` where it needs something that is not installed, or a GPU."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """The finding in numbers, for files that others read: bytes, seconds, tokens a second, shares from 0 to 1."""


def row_of(name: str, measured: str, limit: str, figures: Mapping[str, Any] | None = None, *, within: bool) -> Row:
    """Return a row that is `ok` where its limit is kept."""
    return Row(name, measured, limit, "ok" if within else "MISSED", figures or {})


def rows_file(work: Path, module: str) -> Path:
    """Return the file of a group's rows, as JSON Lines: rows of a process that died later are kept."""
    return work / f"{module}.rows"


def append_row(file: Path, row: Row) -> None:
    """Append a row to a file."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(row)) + "\n")


def read_rows(file: Path) -> list[Row]:
    """Read the rows of a file; none where there is no file."""
    if not file.exists():
        return []
    return [Row(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
