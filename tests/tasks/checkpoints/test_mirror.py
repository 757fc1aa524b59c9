"""A mirror: checkpoints come back whole, whatever dies or is damaged, and what is not its own is left alone."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from tasks.checkpoints import segments
from tasks.checkpoints.manifest import Manifest, ManifestTooNew
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.object_store import ObjectStore
from tests.tasks.checkpoints.checkpoint_folders import (
    BASE,
    NEW,
    OLD,
    blob_key,
    files_of,
    newest,
    publish,
    restored,
    sealed_folder,
)
from tests.tasks.checkpoints.conftest import MemoryStore, keys
from tests.tasks.checkpoints.dying_store import DyingError, DyingStore, calls_of
from tests.tasks.checkpoints.test_manifest import sealed


@pytest.mark.parametrize("prefix", ["", "team/models/"])
def test_a_checkpoint_comes_back_from_any_store(store: ObjectStore, prefix: str) -> None:
    mirror = Mirror(store, prefix, "train-1")
    publish(mirror, 10, OLD)
    published = publish(mirror, 20, NEW)
    other = Mirror(store, prefix, "train-1")
    assert newest(other, BASE) == published
    assert published.metrics == {"reward": 0.2}
    assert restored(other, published) == NEW
    mirror.pin("best", published)
    assert other.pins() == {"best": "00000020-00000001"}
    assert other.prune(1).manifests == 1
    assert other.manifests() == [published]
    # Within the grace time no bytes go.
    assert len(keys(store, f"{prefix}train-1/blobs/")) == 5
    assert restored(mirror, newest(mirror)) == NEW


@pytest.mark.parametrize("after", [False, True])
def test_a_death_at_any_call_of_a_publication_leaves_the_old_or_the_new_checkpoint(after: bool) -> None:
    def with_old_checkpoint() -> MemoryStore:
        memory = MemoryStore()
        publish(Mirror(memory, "", "train-1"), 10, OLD)
        return memory

    def work(store: ObjectStore) -> object:
        return publish(Mirror(store, "", "train-1"), 20, NEW)

    found = []
    for call in range(1, calls_of(work, with_old_checkpoint) + 1):
        memory = with_old_checkpoint()
        with pytest.raises(DyingError):
            work(DyingStore(memory, call, after=after))
        mirror = Mirror(memory, "", "train-1")
        whole = newest(mirror)
        assert whole is not None
        found.append(whole.step)
        assert restored(mirror, whole) == {10: OLD, 20: NEW}[whole.step]
        publish(mirror, 20, NEW)
        assert restored(mirror, newest(mirror)) == NEW
    # The last call only looks whether a pruning elsewhere took something meanwhile.
    assert found == [10] * (len(found) - 2) + [20 if after else 10, 20]


def test_another_checkpoint_of_the_same_name_is_refused(mirror: Mirror, memory: MemoryStore) -> None:
    publish(mirror, 10, OLD)
    before = memory.list("")
    with pytest.raises(InputError, match="another checkpoint 00000010-00000001"):
        publish(mirror, 10, NEW)
    assert memory.list("") == before
    publish(mirror, 10, NEW, fencing=2)
    assert restored(mirror, newest(mirror)) == NEW


def test_a_file_that_was_changed_after_sealing_is_not_published(store: ObjectStore, tmp_path: Path) -> None:
    mirror = Mirror(store, "", "train-1")
    folder = shutil.copytree(sealed_folder(10, OLD), tmp_path / "checkpoint")
    (folder / "state.json").write_bytes(b"[]")
    with pytest.raises(InputError, match=r"state\.json was changed after its checkpoint was written"):
        mirror.publish(folder)
    (folder / "state.json").unlink()
    with pytest.raises(InputError, match=r"state\.json cannot be read"):
        mirror.publish(folder)
    assert mirror.manifests() == []
    publish(mirror, 10, OLD)
    assert restored(mirror, newest(mirror)) == OLD


def test_only_bytes_that_changed_are_sent(memory: MemoryStore) -> None:
    mirror = Mirror(memory, "", "train-1")
    publish(mirror, 10, OLD)
    assert memory.sent == sum(map(len, OLD.values()))
    memory.clock = lambda: datetime.now(UTC) + timedelta(days=1)
    publish(mirror, 20, NEW)
    whole = sum(map(len, {*OLD.values(), *NEW.values()}))
    publish(mirror, 20, NEW)
    assert memory.sent == whole
    assert sum(stored.size for stored in memory.list("train-1/blobs/")) == whole


def lose(content: bytes, data: st.DataObject) -> None:
    return None


def flip(content: bytes, data: st.DataObject) -> bytes:
    position = data.draw(st.integers(0, len(content) - 1))
    flipped = content[position] ^ (1 << data.draw(st.integers(0, 7)))
    return content[:position] + bytes([flipped]) + content[position + 1 :]


def cut(content: bytes, data: st.DataObject) -> bytes:
    return content[: data.draw(st.integers(0, len(content) - 1))]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), damage=st.sampled_from([lose, flip, cut]))
def test_publishing_mends_damage(data: st.DataObject, damage: Callable[[bytes, st.DataObject], bytes | None]) -> None:
    memory = MemoryStore()
    mirror = Mirror(memory, "", "train-1")
    shared = blob_key(publish(mirror, 10, OLD), "tokenizer.json")
    of_old = set(memory.objects)
    publish(mirror, 20, NEW)
    victim = data.draw(st.sampled_from(sorted(memory.objects)))
    damaged = damage(memory.objects.pop(victim), data)
    if damaged is not None:
        memory.objects[victim] = damaged
    whole = newest(mirror)
    if victim not in of_old:
        assert restored(mirror, whole) == OLD
    elif whole is not None:
        assert restored(mirror, whole) == NEW
    else:
        assert victim == shared
    publish(mirror, 20, NEW)
    assert restored(mirror, newest(mirror)) == NEW


def unwanted(manifest: Manifest) -> Path:
    raise AssertionError(f"{manifest.name} is restored")


def test_the_newest_that_verifies_is_restored(mirror: Mirror, memory: MemoryStore, tmp_path: Path) -> None:
    for step, files in ((10, OLD), (20, NEW), (30, {**NEW, "state.json": b"30"})):
        publish(mirror, step, files)
    for step in (20, 30):
        manifest = next(found for found in mirror.manifests() if found.step == step)
        memory.objects[blob_key(manifest, "state.json")] = b"!!"
    reported: list[tuple[int, str]] = []

    def report(manifest: Manifest, sentence: str) -> None:
        reported.append((manifest.step, sentence))

    def place_for(manifest: Manifest) -> Path:
        return tmp_path / manifest.name

    found = mirror.restore_newest(place_for, base=BASE, passed_over=report)
    assert found is not None
    assert files_of(place_for(found)) == OLD
    assert list(tmp_path.iterdir()) == [tmp_path / "00000010-00000001"]
    assert reported == [
        (step, f"in the mirrored checkpoint {step:08d}-00000001, state.json was altered") for step in (30, 20)
    ]
    assert mirror.restore_newest(place_for, newer_than=(10, 1)) is None
    assert mirror.restore_newest(unwanted, newer_than=(30, 1)) is None


def test_a_damaged_manifest_is_inspected_like_the_others_of_its_branch(mirror: Mirror, memory: MemoryStore) -> None:
    for step in (10, 20, 30):
        publish(mirror, step, OLD)
    # One under the name of another.
    key = "train-1/manifests/00000010-00000001.json"
    for step in (20, 30):
        memory.objects[f"train-1/manifests/{step:08d}-00000001.json"] = memory.read(key)
    memory.put_new("train-1/manifests/notes.txt", b"mine")
    segments.begin(memory, mirror.root, 2, 20)
    whole, damaged = mirror.inspect()
    assert [manifest.step for manifest in whole] == [10]
    assert damaged == {
        (20, 1): "the manifest train-1/manifests/00000020-00000001.json was altered or is of an older version"
    }


def test_a_newer_version_is_refused_and_nothing_deleted(mirror: Mirror, memory: MemoryStore) -> None:
    for step in (10, 20):
        publish(mirror, step, OLD)
    memory.put_new("train-1/manifests/00000005-00000001.json", sealed({"version": 3}))
    before = [stored for stored in memory.list("") if "/clock/" not in stored.key]
    work: list[Callable[[], object]] = [
        mirror.manifests,
        mirror.inspect,
        lambda: mirror.restore_newest(unwanted),
        lambda: mirror.prune(1),
        lambda: publish(mirror, 30, NEW),
    ]
    for refused in work:
        with pytest.raises(ManifestTooNew, match=r"00000005-00000001\.json: .*update this installation"):
            refused()
    assert memory.list("") == before


def test_a_mirror_of_another_base_model_is_refused_and_nothing_deleted(mirror: Mirror, memory: MemoryStore) -> None:
    publish(mirror, 10, OLD)
    before = memory.list("")
    of_another_base: list[Callable[[], object]] = [
        lambda: mirror.restore_newest(unwanted, base="c" * 64),
        lambda: mirror.publish(sealed_folder(20, NEW, base="c" * 64)),
    ]
    for refused in of_another_base:
        with pytest.raises(InputError, match=r"another base model \(bbbbbbbbbbbb, here cccccccccccc\)"):
            refused()
    assert memory.list("") == before
