import logging
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from tasks.checkpoints.manifest import Manifest
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.object_store import ObjectStore
from tests.tasks.checkpoints.conftest import MemoryStore

OLD = {"adapter/weights.bin": b"old weights", "tokenizer.json": b"the same", "state.json": b"{}"}
NEW = {"adapter/weights.bin": b"new weights", "tokenizer.json": b"the same", "state.json": b'{"step": 20}'}

names = st.sampled_from(["a.bin", "b.json", "sub/a.bin", "sub/deeper/ção.pt", "sub/b json"])
checkpoints = st.dictionaries(names, st.binary(max_size=32), min_size=1)


class DyingError(Exception):
    """The process ends here."""


class DyingStore:
    """A store whose process dies at its n-th call, before the call has its effect or after it."""

    def __init__(self, store: ObjectStore, call: int, *, after: bool) -> None:
        self._store, self._left, self._after = store, call, after

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._store, name)

        def call(*arguments: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                raise DyingError
            result = method(*arguments)
            if self._left == 0:
                raise DyingError
            return result

        return call


def publish(mirror: Mirror, step: int, files: Mapping[str, bytes]) -> Manifest:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        return mirror.publish(Path(folder), step, {"reward": step / 100})


def restored(mirror: Mirror, manifest: Manifest | None) -> dict[str, bytes]:
    assert manifest is not None
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "checkpoint"
        mirror.restore(manifest, folder)
        assert list(Path(home).iterdir()) == [folder]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def newest_step(mirror: Mirror) -> int | None:
    newest = mirror.newest()
    return None if newest is None else newest.step


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def mirror(memory: MemoryStore) -> Mirror:
    return Mirror(memory, "train-1")


def test_an_empty_mirror_has_no_checkpoint(store: ObjectStore) -> None:
    assert Mirror(store, "").newest() is None


@pytest.mark.parametrize("prefix", ["", "train-1"])
def test_a_checkpoint_comes_back_from_any_store(store: ObjectStore, prefix: str) -> None:
    mirror = Mirror(store, prefix)
    publish(mirror, 10, OLD)
    published = publish(mirror, 20, NEW)
    assert mirror.newest() == published
    assert published.metrics == {"reward": 0.2}
    assert restored(mirror, published) == NEW
    mirror.prune(1)
    assert restored(mirror, mirror.newest()) == NEW
    assert len([key for key in store.keys("") if "manifests/" in key]) == 1


@settings(max_examples=50, deadline=None)
@given(saved=st.dictionaries(st.integers(0, 1000), checkpoints, min_size=1, max_size=4))
def test_every_checkpoint_comes_back_and_equal_bytes_are_kept_once(saved: dict[int, dict[str, bytes]]) -> None:
    memory = MemoryStore()
    mirror = Mirror(memory, "")
    manifests = {step: publish(mirror, step, files) for step, files in saved.items()}
    assert newest_step(mirror) == max(saved)
    assert {step: restored(mirror, manifest) for step, manifest in manifests.items()} == saved
    assert len(memory.keys("blobs/")) == len({content for files in saved.values() for content in files.values()})


def calls_of(work: Callable[[ObjectStore], object], prepare: Callable[[], MemoryStore]) -> int:
    """Count the calls that a piece of work makes to its store."""
    for call in range(1, 1000):
        try:
            work(DyingStore(prepare(), call, after=False))
        except DyingError:
            continue
        return call - 1
    raise AssertionError("the work never ends")


def with_old_checkpoint() -> MemoryStore:
    memory = MemoryStore()
    publish(Mirror(memory, "r"), 10, OLD)
    return memory


@pytest.mark.parametrize("after", [False, True])
def test_a_death_at_any_call_of_a_publication_leaves_the_old_or_the_new_checkpoint(after: bool) -> None:
    calls = calls_of(lambda store: publish(Mirror(store, "r"), 20, NEW), with_old_checkpoint)
    assert calls > len(NEW)
    found = []
    for call in range(1, calls + 1):
        memory = with_old_checkpoint()
        with pytest.raises(DyingError):
            publish(Mirror(DyingStore(memory, call, after=after), "r"), 20, NEW)
        mirror = Mirror(memory, "r")
        newest = mirror.newest()
        assert newest is not None
        found.append(newest.step)
        assert restored(mirror, newest) == {10: OLD, 20: NEW}[newest.step]
        publish(mirror, 20, NEW)
        assert restored(mirror, mirror.newest()) == NEW
    assert found == [10] * (calls - 1) + [20 if after else 10]


def with_many_checkpoints() -> MemoryStore:
    memory = MemoryStore()
    mirror = Mirror(memory, "r")
    for step in (10, 20, 30, 40):
        publish(mirror, step, {**OLD, "state.json": str(step).encode()})
    mirror.pin("best", 20)
    return memory


@pytest.mark.parametrize("after", [False, True])
def test_a_death_at_any_call_of_a_pruning_loses_nothing_that_is_kept(after: bool) -> None:
    calls = calls_of(lambda store: Mirror(store, "r").prune(1), with_many_checkpoints)
    for call in range(1, calls + 1):
        memory = with_many_checkpoints()
        with pytest.raises(DyingError):
            Mirror(DyingStore(memory, call, after=after), "r").prune(1)
        mirror = Mirror(memory, "r")
        assert restored(mirror, mirror.newest())["state.json"] == b"40"
        for key in memory.keys("r/manifests/"):
            mirror.verify(Manifest.from_bytes(memory.read(key)))
        mirror.prune(1)
        assert memory.keys("r/manifests/") == ["r/manifests/00000020.json", "r/manifests/00000040.json"]
        assert len(memory.keys("r/blobs/")) == 4


def lose(content: bytes, data: st.DataObject) -> None:
    return None


def flip(content: bytes, data: st.DataObject) -> bytes:
    position = data.draw(st.integers(0, len(content) - 1))
    return (
        content[:position] + bytes([content[position] ^ (1 << data.draw(st.integers(0, 7)))]) + content[position + 1 :]
    )


def cut(content: bytes, data: st.DataObject) -> bytes:
    return content[: data.draw(st.integers(0, len(content) - 1))]


@settings(max_examples=80, deadline=None)
@given(data=st.data(), damage=st.sampled_from([lose, flip, cut]))
def test_a_damaged_checkpoint_is_passed_over_and_mended_by_publishing_it_again(
    data: st.DataObject, damage: Callable[[bytes, st.DataObject], bytes | None]
) -> None:
    memory = MemoryStore()
    mirror = Mirror(memory, "r")
    publish(mirror, 10, OLD)
    of_old = set(memory.objects)
    publish(mirror, 20, NEW)
    victim = data.draw(st.sampled_from(sorted(memory.objects)))
    damaged = damage(memory.objects.pop(victim), data)
    if damaged is not None:
        memory.objects[victim] = damaged
    newest = mirror.newest()
    if victim not in of_old:
        assert restored(mirror, newest) == OLD
    elif newest is not None:
        assert restored(mirror, newest) == NEW
    else:
        assert victim.endswith(shared_digest())
    publish(mirror, 20, NEW)
    assert restored(mirror, mirror.newest()) == NEW


def shared_digest() -> str:
    memory = MemoryStore()
    return publish(Mirror(memory, ""), 0, {"shared": OLD["tokenizer.json"]}).files["shared"].sha256


def test_why_a_checkpoint_is_passed_over_is_said(
    mirror: Mirror, memory: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    publish(mirror, 10, OLD)
    files = publish(mirror, 20, NEW).files
    memory.objects[f"train-1/blobs/sha256/{files['state.json'].sha256}"] = b"{}"
    publish(mirror, 30, {**NEW, "state.json": b"30"})
    memory.objects["train-1/manifests/00000030.json"] = b"{}"
    with caplog.at_level(logging.WARNING):
        assert newest_step(mirror) == 10
    of_30, of_20 = (record.getMessage() for record in caplog.records)
    assert "manifests/00000030.json was altered or is of another version; trying the checkpoint before" in of_30
    assert "checkpoint of step 20, state.json was altered; trying the checkpoint before" in of_20


def test_publishing_the_same_again_changes_nothing(mirror: Mirror, memory: MemoryStore) -> None:
    first = publish(mirror, 10, OLD)
    before = dict(memory.objects)
    assert publish(mirror, 10, OLD) == first
    assert memory.objects == before


def test_another_checkpoint_of_the_same_step_is_refused(mirror: Mirror) -> None:
    publish(mirror, 10, OLD)
    with pytest.raises(InputError, match="another checkpoint of step 10"):
        publish(mirror, 10, NEW)
    assert restored(mirror, mirror.newest()) == OLD


def test_a_manifest_under_another_name_is_not_taken(mirror: Mirror, memory: MemoryStore) -> None:
    publish(mirror, 10, OLD)
    memory.objects["train-1/manifests/00000099.json"] = memory.objects["train-1/manifests/00000010.json"]
    assert newest_step(mirror) == 10


def test_trainings_in_one_store_do_not_meet(memory: MemoryStore) -> None:
    first, second = Mirror(memory, "train-1"), Mirror(memory, "train-11")
    publish(first, 10, OLD)
    publish(second, 20, NEW)
    for step in (30, 40):
        publish(second, step, {"a": b"a"})
    second.prune(1)
    assert restored(first, first.newest()) == OLD
    assert newest_step(second) == 40


@settings(max_examples=40, deadline=None)
@given(
    steps=st.sets(st.integers(0, 99), min_size=1, max_size=8),
    keep=st.integers(1, 4),
    data=st.data(),
)
def test_pruning_keeps_the_newest_and_the_pinned_whole_and_nothing_else(
    steps: set[int], keep: int, data: st.DataObject
) -> None:
    memory = MemoryStore()
    mirror = Mirror(memory, "")
    files = {step: {"weights": f"weights {step // 3}".encode(), "state": f"{step}".encode()} for step in steps}
    for step in sorted(steps):
        publish(mirror, step, files[step])
    best = data.draw(st.sampled_from(sorted(steps)))
    mirror.pin("best", best)
    mirror.prune(keep)
    kept = {best, *sorted(steps)[-keep:]}
    manifests = [Manifest.from_bytes(memory.read(key)) for key in memory.keys("manifests/")]
    assert {manifest.step for manifest in manifests} == kept
    assert all(restored(mirror, manifest) == files[manifest.step] for manifest in manifests)
    assert len(memory.keys("blobs/")) == len({content for step in kept for content in files[step].values()})


def test_a_pin_moves(mirror: Mirror, memory: MemoryStore) -> None:
    for step in (10, 20, 30):
        publish(mirror, step, {"state": str(step).encode()})
    mirror.pin("best", 10)
    mirror.pin("best", 20)
    mirror.pin("best", 20)
    mirror.prune(1)
    assert memory.keys("train-1/manifests/") == ["train-1/manifests/00000020.json", "train-1/manifests/00000030.json"]
    with pytest.raises(InputError, match="step 10 to pin as best"):
        mirror.pin("best", 10)


def test_pruning_keeps_all_bytes_where_a_manifest_cannot_be_read(
    mirror: Mirror, memory: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    for step in (10, 20, 30):
        publish(mirror, step, {"state": str(step).encode()})
    memory.objects["train-1/manifests/00000020.json"] = b'{"version": 2}'
    mirror.prune(1)
    assert memory.keys("train-1/manifests/") == ["train-1/manifests/00000020.json", "train-1/manifests/00000030.json"]
    assert len(memory.keys("train-1/blobs/")) == 3
    assert "[20]" in caplog.text


def test_a_mirror_is_never_pruned_to_nothing(mirror: Mirror) -> None:
    with pytest.raises(ValueError, match="keep_last is 0"):
        mirror.prune(0)


def test_a_restored_folder_is_whole_or_not_there(mirror: Mirror, memory: MemoryStore, tmp_path: Path) -> None:
    manifest = publish(mirror, 10, OLD)
    memory.objects[f"train-1/blobs/sha256/{manifest.files['tokenizer.json'].sha256}"] = b"THE SAME"
    with pytest.raises(InputError, match=r"tokenizer\.json was altered"):
        mirror.restore(manifest, tmp_path / "checkpoint")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_already_is_left_alone(mirror: Mirror, tmp_path: Path) -> None:
    manifest = publish(mirror, 10, OLD)
    (tmp_path / "mine").write_text("a file")
    with pytest.raises(InputError, match="mine is there already"):
        mirror.restore(manifest, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "a file"


def test_a_folder_that_cannot_be_written_is_told(mirror: Mirror, tmp_path: Path) -> None:
    manifest = publish(mirror, 10, OLD)
    (tmp_path / "work").write_text("a file where the folder should be")
    with pytest.raises(InputError, match="cannot be restored to"):
        mirror.restore(manifest, tmp_path / "work" / "checkpoint")
