"""Sealed checkpoints to publish, each written once, and what is restored of them."""

import functools
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tasks.checkpoints.local import LocalCheckpoints
from tasks.checkpoints.manifest import MANIFEST_FILE, Manifest
from tasks.checkpoints.mirror import Mirror

BASE = "b" * 64
OLD = {"adapter/weights.bin": b"old weights", "tokenizer.json": b"the same", "state.json": b"{}"}
NEW = {"adapter/weights.bin": b"new weights", "tokenizer.json": b"the same", "state.json": b'{"step": 20}'}
_home = tempfile.TemporaryDirectory()


def filling(files: Mapping[str, bytes]) -> Callable[[Path], None]:
    """Return what writes files into a folder."""

    def fill(folder: Path) -> None:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

    return fill


def sealed_folder(
    step: int, files: Mapping[str, bytes], fencing: int = 1, training: str = "train-1", base: str = BASE
) -> Path:
    """Return a checkpoint's folder, which is not to be changed."""
    return _sealed_folder(step, tuple(sorted(files.items())), fencing, training, base)


@functools.cache
def _sealed_folder(step: int, files: tuple[tuple[str, bytes], ...], fencing: int, training: str, base: str) -> Path:
    local = LocalCheckpoints(Path(tempfile.mkdtemp(dir=_home.name)), training, base)
    return local.write(step, fencing, {"reward": step / 100}, filling(dict(files)))


def publish(mirror: Mirror, step: int, files: Mapping[str, bytes], fencing: int = 1) -> Manifest:
    """Publish a checkpoint of the mirror's training."""
    return mirror.publish(sealed_folder(step, files, fencing, mirror.training))


def blob_key(manifest: Manifest, name: str) -> str:
    """Return the key of a file's bytes in a store."""
    return f"{manifest.training}/blobs/sha256/{manifest.files[name].sha256}"


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of a checkpoint's folder without its manifest."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST_FILE)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def newest(mirror: Mirror, base: str | None = None) -> Manifest | None:
    """Return the newest checkpoint that can be restored whole."""
    with tempfile.TemporaryDirectory() as home:
        return mirror.restore_newest(lambda manifest: Path(home) / manifest.name, base=base)


def restored(mirror: Mirror, manifest: Manifest | None) -> dict[str, bytes]:
    """Restore a checkpoint that there must be, and return its files."""
    assert manifest is not None
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "checkpoint"
        mirror.restore(manifest, folder)
        assert list(Path(home).iterdir()) == [folder]
        assert (folder / MANIFEST_FILE).read_bytes() == manifest.to_bytes()
        return files_of(folder)
