"""Artifact store: immutable folders, each named by the digest of its content and kept with its record.

    root/<kind>/<sha256>/content/...   output of a stage, read-only
    root/<kind>/<sha256>/record.json   schemas.artifact.ArtifactRecord
    root/<kind>/<sha256>/record.sha256 the record's own digest, as sha256sum writes and checks it
    root/drafts/<random>/content/...   unfinished output of a stage
    root/drafts/<random>.lock          held by the process that writes it

A draft becomes an artifact by one rename, so an artifact is either complete or absent.
"""

import errno
import hashlib
import json
import platform
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, get_args

from filelock import FileLock, Timeout
from pydantic import ValidationError

from schemas.artifact import ArtifactKind, ArtifactRecord, Segments
from schemas.disk import file_sha256, synchronize, write_whole
from schemas.errors import InputError, TucanoError, full_disk_error, is_of_full_disk

CONTENT_FOLDER: Final = "content"
RECORD_FILE: Final = "record.json"
RECORD_DIGEST_FILE: Final = "record.sha256"
RELINKED_FILE: Final = "relinked.json"
"""Record that replaces the other: whole, but not in its place yet."""
DRAFTS_FOLDER: Final = "drafts"
REFUSED: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)
READ_ONLY: Final = 0o444
NO_FILE: Final = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""Errors that prove that a file is lost; any other says only that it could not be read now."""

Damage = Literal["missing", "altered", "added"]


class ArtifactDamaged(InputError):
    """An artifact is missing, or no longer matches its record; the caller's remedy is to make it again."""


class ArtifactStore:
    """Store of immutable artifacts in a local folder."""

    def __init__(self, root: Path) -> None:
        """Use the store in `root`; the folder is created with the first draft."""
        self._root = root

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """Yield an empty folder to fill and to `commit`; without a commit it is removed at the end."""
        home = self._drafts / uuid.uuid4().hex
        with self._writing():
            self._drafts.mkdir(parents=True, exist_ok=True)
            # While the lock is held, no process removes the draft; the system releases it with the process.
            with FileLock(_lock_of(home)):
                try:
                    (home / CONTENT_FOLDER).mkdir(parents=True)
                    yield home / CONTENT_FOLDER
                finally:
                    # Gone already after a commit; remains are left to `clean_drafts`.
                    shutil.rmtree(home, ignore_errors=True)
                    _lock_of(home).unlink(missing_ok=True)

    def commit(
        self, draft: Path, *, kind: ArtifactKind, segments: Segments | None = None, **known: Any
    ) -> ArtifactRecord:
        """Turn a filled draft into an artifact, and return its record; the same content has its earlier record.

        `known` are further fields of the record, of which None stands for what is not known.
        """
        files = digest_files(draft)
        sha256 = content_digest(files)
        if self.is_whole(sha256):
            return self.record(sha256)
        record = ArtifactRecord(
            kind=kind,
            sha256=sha256,
            files=files,
            created_at=datetime.now(UTC),
            machine=platform.node(),
            columns=column_types(draft, files),
            stretches=segments or {},
            **{name: value for name, value in known.items() if value is not None},
        )
        self._admit(draft, record)
        return record

    def adopt(self, draft: Path, record: ArtifactRecord) -> None:
        """Turn a filled draft into a copy of another store's artifact, with its original record."""
        if content_digest(digest_files(draft)) != record.sha256:
            raise ArtifactDamaged(f"what came of {record.kind} {record.sha256} is not what its record says")
        if not self.is_whole(record.sha256):
            self._admit(draft, record)

    def _admit(self, draft: Path, record: ArtifactRecord) -> None:
        with self._writing():
            _seal(draft, record)
            home = self._root / record.kind / record.sha256
            home.parent.mkdir(exist_ok=True)
            if home.exists():
                self._discard(home)
            draft.parent.replace(home)
            synchronize(home.parent)

    def path(self, sha256: str) -> Path:
        """Return the read-only folder of an artifact's content, or raise `ArtifactDamaged` where there is none."""
        return self._home(sha256) / CONTENT_FOLDER

    def record(self, sha256: str) -> ArtifactRecord:
        """Return an artifact's record; `ArtifactDamaged` where there is none, or it is lost or altered."""
        file = self._home(sha256) / RECORD_FILE
        try:
            written = file.read_bytes()
            record = ArtifactRecord.model_validate_json(written)
        except (*NO_FILE, ValidationError):
            raise ArtifactDamaged(f"the record {file} cannot be read") from None
        except OSError as error:
            raise unreadable(file, error) from None
        is_own = record.sha256 == content_digest(record.files) == sha256 and record.kind == file.parent.parent.name
        if not is_own or not holds(file.with_name(RECORD_DIGEST_FILE), hashlib.sha256(_seal_of(written)).hexdigest()):
            raise ArtifactDamaged(f"the record {file} was altered, or its {RECORD_DIGEST_FILE} altered or removed")
        return record

    def records(self, kind: ArtifactKind) -> tuple[ArtifactRecord, ...]:
        """Return the readable records of one kind, the newest first."""
        found: list[ArtifactRecord] = []
        for home in (self._root / kind).glob("*"):
            # An unreadable record is reported where its artifact is requested.
            with suppress(ArtifactDamaged):
                found.append(self.record(home.name))
        return tuple(sorted(found, key=lambda record: record.created_at, reverse=True))

    def verify(self, sha256: str) -> None:
        """Raise `ArtifactDamaged` where an artifact or a file of it is missing or altered, or a file was added."""
        for name, damage in self.damages(sha256):
            raise ArtifactDamaged(f"{self.path(sha256) / name} {'is' if damage == 'missing' else 'was'} {damage}")

    def is_whole(self, sha256: str) -> bool:
        """Return if every file of an artifact matches the record, and there is no other."""
        try:
            self.verify(sha256)
        except ArtifactDamaged:
            return False
        return True

    def damages(self, sha256: str) -> Iterator[tuple[str, Damage]]:
        """Hash every file of an artifact, and yield the name and damage of each that does not match the record."""
        record, folder = self.record(sha256), self.path(sha256)
        found = set(file_names(folder))
        for name, recorded in record.files.items():
            if name not in found:
                yield name, "missing"
            elif not holds(folder / name, recorded):
                yield name, "altered"
        for name in sorted(found - record.files.keys()):
            yield name, "added"

    def remove(self, sha256: str) -> None:
        """Remove an artifact and its record; one that is gone stays gone."""
        with self._writing(), suppress(ArtifactDamaged):
            home = self._home(sha256)
            self._drafts.mkdir(parents=True, exist_ok=True)
            self._discard(home)

    def relink(self, sha256: str, replaced: Mapping[str, str]) -> bool:
        """Name other inputs in an artifact's record, as what it was made of was replaced; return whether any were.

        The content stays. Killed, it is finished by the next call.
        """
        home = self._home(sha256)
        new = home / RELINKED_FILE
        with self._writing():
            if not new.exists():
                record = self.record(sha256)
                inputs = {role: replaced.get(input_, input_) for role, input_ in record.inputs.items()}
                if inputs == record.inputs:
                    return False
                write_whole(new, record.model_copy(update={"inputs": inputs}).model_dump_json(indent=1))
            written = new.read_bytes()
            for name, content in ((RECORD_FILE, written), (RECORD_DIGEST_FILE, _seal_of(written))):
                draft = home / f".{name}"
                draft.write_bytes(content)
                draft.chmod(draft.stat().st_mode & READ_ONLY)
                draft.replace(home / name)
            synchronize(home)
            new.unlink()
        return True

    def clean_drafts(self) -> None:
        """Remove the drafts of killed processes; those of running ones stay."""
        with self._writing():
            for home in {path.with_suffix("") for path in self._drafts.glob("*")}:
                try:
                    with FileLock(_lock_of(home), timeout=0):
                        if home.exists():
                            shutil.rmtree(home)
                        _lock_of(home).unlink(missing_ok=True)
                except Timeout:
                    continue

    @property
    def _drafts(self) -> Path:
        return self._root / DRAFTS_FOLDER

    def _home(self, sha256: str) -> Path:
        for kind in get_args(ArtifactKind):
            home = self._root / str(kind) / sha256
            if home.is_dir():
                return home
        raise ArtifactDamaged(f"the artifact store {self._root} has no artifact {sha256}")

    def _discard(self, home: Path) -> None:
        """Move a damaged artifact away in one step, then remove it."""
        aside = self._drafts / uuid.uuid4().hex
        home.replace(aside)
        shutil.rmtree(aside)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Translate a full disk or a write-protected store into one sentence."""
        try:
            yield
        except TucanoError:
            # It says already what is full or refused, which may be another disk.
            raise
        except Exception as error:
            if is_of_full_disk(error):
                raise full_disk_error(self._root, error) from error
            if not isinstance(error, OSError) or not self._is_refused(error):
                raise
            raise InputError(
                f"the artifact store {self._root} cannot be written ({error.strerror}); mend the permissions "
                "there, or use another folder with --set state.root=FOLDER"
            ) from error

    def _is_refused(self, error: OSError) -> bool:
        """Return whether a write to this store was refused: a stage may be refused its own files elsewhere."""
        if error.errno not in REFUSED or not isinstance(error.filename, str | Path):
            return False
        path, root = Path(error.filename).absolute(), self._root.absolute()
        return path.is_relative_to(root) or root.is_relative_to(path)


def _lock_of(draft: Path) -> Path:
    return draft.with_suffix(".lock")


def _seal(draft: Path, record: ArtifactRecord) -> None:
    """Write the record beside the content and flush every byte to the disk."""
    written = record.model_dump_json(indent=1).encode()
    (draft.parent / RECORD_FILE).write_bytes(written)
    (draft.parent / RECORD_DIGEST_FILE).write_bytes(_seal_of(written))
    for path in draft.parent.rglob("*"):
        if path.is_file():
            path.chmod(path.stat().st_mode & READ_ONLY)
        synchronize(path)
    synchronize(draft.parent)


def _seal_of(written: bytes) -> bytes:
    return f"{hashlib.sha256(written).hexdigest()}  {RECORD_FILE}\n".encode()


def file_names(folder: Path) -> list[str]:
    """Return the relative path of everything in a folder except folders, sorted."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )


def digest_files(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file of a folder by its relative path."""
    names = file_names(folder)
    if not names:
        raise ValueError(f"the draft {folder} is empty; a stage that made nothing has no artifact")
    for name in names:
        if not _is_plain(folder / name):
            raise ValueError(f"{folder / name} is not a plain file; an artifact holds its own bytes")
    return {name: file_sha256(folder / name) for name in names}


def holds(path: Path, recorded: str) -> bool:
    """Return whether a plain file is there and has the recorded sha256; InputError where it cannot be read."""
    try:
        return _is_plain(path) and file_sha256(path) == recorded
    except NO_FILE:
        return False
    except OSError as error:
        raise unreadable(path, error) from None


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def unreadable(path: Path, error: OSError) -> InputError:
    """Return the error for a file that may be whole: to make it again would cost what it cost before."""
    return InputError(f"{path} cannot be read ({error.strerror}); correct its permissions, or see that its disk works")


def column_types(folder: Path, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the column types of each parquet file among a folder's files."""
    tables = [name for name in names if name.endswith(".parquet")]
    if not tables:
        return {}
    import polars as pl

    columns = {}
    for name in tables:
        # A file that is a table in name only has no columns.
        with suppress(pl.exceptions.ComputeError):
            columns[name] = {column: str(kind) for column, kind in pl.read_parquet_schema(folder / name).items()}
    return columns


def content_digest(files: Mapping[str, str]) -> str:
    """Return an artifact's identity: the sha256 of its files' sorted names and digests."""
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()


def file_digests(files: Iterable[Path]) -> dict[str, str]:
    """Return the sha256 of each file that a stage reads from outside the artifact store, by its name."""
    digests = {}
    for file in files:
        try:
            digests[file.name] = file_sha256(file)
        except OSError as error:
            raise InputError(
                f"{file} cannot be read ({error.strerror}); check that it is a file you may read"
            ) from None
    return digests
