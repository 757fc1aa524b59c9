"""Report of a forgetting: what was done, how it is proven, and what was not reached; nothing in it names anybody."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final

from schemas.disk import write_whole
from schemas.errors import InputError
from tasks.lineage.erase.forgetting import Forgetting
from tasks.lineage.erase.signature import Signer

REPORTS_FOLDER: Final = "forgotten"
"""Of the state folder."""
FORMAT: Final = "tucano-forget-1"
ROWS_PROOF: Final = (
    "rows: every table of every artifact was read again after the removal, and none of the "
    "ids of customer, orders, reviews and prompts was found in any"
)
WEIGHTS_PROOF: Final = (
    "weights: a checkpoint is gone on from only if none of their rows had had its turn in any queue of prompts, every "
    "logged query earns the same on the store without them, and validation is on the same rows; from there on, "
    "training is the same as one that never saw them, bit for bit where the machine is the same"
)
STORE_PROOF: Final = (
    "store: ids of orders, customers and reviews were replaced by random ones whose secret is gone, texts by nothing, "
    "and the place by none but the state; amounts and dates stay, as others' figures are counted over them"
)


def as_report(state: Forgetting, to_do: Iterable[str], now: datetime) -> dict[str, Any]:
    """Return the report of a forgetting that came to its end, unsigned."""
    missed = chain.from_iterable(state.missed.values())
    return {
        "format": FORMAT,
        "subject": state.subject,
        "kinds": list(state.kinds),
        "finished_at": now.astimezone(UTC).isoformat(timespec="seconds"),
        "prompts": state.prompts,
        "rows_by_split": dict(state.splits),
        "log_lines": dict(state.log_lines),
        "lines_by_text": state.lines_by_text,
        "removed": [
            {"kind": kind, "sha256": sha256, "replaced_by": state.replaced.get(sha256)}
            for sha256, kind in state.removed.items()
        ],
        "kept_unchanged": sorted(set(state.taught) & set(state.kept)),
        "trainings_removed": list(state.trainings),
        "versions_removed": list(state.versions_removed),
        "trained_again": [each.model_dump() for each in state.retraced],
        "verdict": state.verdict,
        "proof": [*([] if state.left else [ROWS_PROOF]), WEIGHTS_PROOF, STORE_PROOF],
        "not_reached": list(dict.fromkeys((*state.unreached, *missed, *state.left))),
        "to_do": [*_in_doubt(state), *to_do],
    }


def _in_doubt(state: Forgetting) -> Iterator[str]:
    for file, count in state.lines_in_doubt.items():
        yield (
            f"look at {count} lines of {file}, which stay: their text is one of this person's, but so short, or "
            "somebody else's too, that nothing says whose they are"
        )


def write_report(root: Path, document: Mapping[str, Any], signer: Signer) -> Path:
    """Sign a report, write it into the state folder, and return its file."""
    folder = root / REPORTS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    moment = document["finished_at"].replace(":", "").replace("+0000", "Z")
    file = folder / f"{document['subject'][:12]}-{moment}.json"
    write_whole(file, json.dumps(signer.signed(document), indent=1, ensure_ascii=False) + "\n")
    return file


def report_of(root: Path, subject: str) -> Path | None:
    """Return the newest report of a subject; None if there is none.

    Raises:
        InputError: A report cannot be read.
    """
    for file in sorted((root / REPORTS_FOLDER).glob(f"{subject[:12]}-*.json"), reverse=True):
        try:
            if json.loads(file.read_bytes())["subject"] == subject:
                return file
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"the report {file} cannot be read; bring it back from a backup or remove it") from None
    return None
