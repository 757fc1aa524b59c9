"""Log lines of a person, which leave the logs; no id links them to anybody, so that `Traces` find them."""

import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schemas.disk import replace_whole
from schemas.errors import InputError
from schemas.tables.production_logs import FEEDBACK_FOLDER, FEEDBACK_SUFFIX, KINDS
from tasks.lineage.erase.traces import FoundBy, Traces, texts_of

THEIRS: Final = frozenset({"id", "text"})
_ESCAPED_SPACE: Final = re.compile(r"\\[nrt]")


@dataclass(frozen=True)
class RemovedLines:
    """Numbers of lines that left some logs by what found them, and of doubtful ones that stay by file."""

    by: Mapping[str, int]
    doubtful: Mapping[str, int]
    unreached: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Return the number of lines that left."""
        return sum(self.by.values())


def remove_lines(place: Path, traces: Traces) -> RemovedLines:
    """Take a person's lines, and the feedback on them, out of a folder or a file of logs.

    Nobody may write there meanwhile. Where a file cannot be read, nothing is changed: the feedback on a line is known
    by the line alone. Therefore feedback is taken out first. A file is replaced as a whole, or not at all.
    """
    verdicts, unread = _verdicts(place, traces)
    if unread:
        return RemovedLines({}, {}, unread)
    by: Counter[str] = Counter()
    unwritten: list[str] = []
    for file, found in reversed(verdicts.items()):
        if not THEIRS.isdisjoint(found):
            try:
                _keep(file, [each not in THEIRS for each in found])
            except OSError as error:
                unwritten.append(f"the log {file} cannot be written ({error.strerror})")
                # Without its lines, nobody would know whose the feedback is.
                break
        by.update(each for each in found if each in THEIRS)
    doubtful = {str(file): count for file, found in verdicts.items() if (count := found.count("doubtful"))}
    return RemovedLines(by, doubtful, tuple(unwritten))


def holds_them(answers: Path, traces: Traces) -> bool:
    """Return whether a table of production's answers, which has no ids, has any of theirs."""
    return not THEIRS.isdisjoint(_of_parquet(answers, traces))


def _verdicts(place: Path, traces: Traces) -> tuple[dict[Path, list[FoundBy | None]], tuple[str, ...]]:
    """Return what finds each line of each file, those of feedback last, and a sentence on each unreadable file."""
    requests: dict[str, FoundBy] = {}
    verdicts: dict[Path, list[FoundBy | None]] = {}
    unread: list[str] = []
    for file in _files(place):
        try:
            if file.suffix == ".parquet":
                verdicts[file] = _of_parquet(file, traces)
            else:
                verdicts[file] = [_found(line, traces, requests) for line in file.read_bytes().splitlines()]
        except OSError as error:
            unread.append(f"the log {file} cannot be read ({error.strerror})")
        except InputError as error:
            unread.append(str(error))
    return verdicts, tuple(unread)


def _files(place: Path) -> Sequence[Path]:
    if not place.is_dir():
        return [place] if place.exists() else []
    logs = [file for file in sorted(place.iterdir()) if file.suffix in KINDS and not file.name.startswith(".")]
    return [*logs, *sorted((place / FEEDBACK_FOLDER).glob(f"[!.]*{FEEDBACK_SUFFIX}"))]


def _found(line: bytes, traces: Traces, requests: dict[str, FoundBy]) -> FoundBy | None:
    """Return what finds a line, and remember the request that it was: the feedback on it is theirs too."""
    try:
        document: Any = json.loads(line)
        texts = tuple(texts_of(document))
    except (ValueError, RecursionError):
        # A line that was cut off, is nested without end, or is none of ours, may hold their words all the same.
        document = None
    if not isinstance(document, dict):
        # An escaped line break before an id would be a letter before it.
        return traces.found([_ESCAPED_SPACE.sub(" ", line.decode(errors="replace"))], None)
    request, prompt = document.get("request_id"), document.get("prompt")
    found = traces.found(texts, prompt if isinstance(prompt, str) else None)
    if found == "doubtful" and "prompt_id" in document:
        # Whose it is, is known.
        found = None
    if not isinstance(request, str):
        return found
    if found is not None and found in THEIRS:
        requests[request] = found
    return requests.get(request, found)


def _of_parquet(file: Path, traces: Traces) -> list[FoundBy | None]:
    import polars as pl
    from polars.exceptions import PolarsError

    try:
        table = pl.read_parquet(file, glob=False)
    except (OSError, PolarsError):
        raise InputError(f"the log {file} cannot be read as parquet; repair or remove it") from None
    return [traces.found(texts_of(row), row.get("prompt")) for row in table.to_dicts()]


def _keep(file: Path, kept: Sequence[bool]) -> None:
    """Replace a log by some of its lines."""
    if file.suffix == ".parquet":
        import polars as pl

        written = io.BytesIO()
        pl.read_parquet(file, glob=False).filter(pl.Series(kept)).write_parquet(written)
        content = written.getvalue()
    else:
        lines = file.read_bytes().splitlines(keepends=True)
        content = b"".join(line for line, keep in zip(lines, kept, strict=True) if keep)
    replace_whole(file, content)
