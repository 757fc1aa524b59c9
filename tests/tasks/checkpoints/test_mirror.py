import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st

from schemas.errors import InputError
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.object_store import ObjectStore
from tests.tasks.checkpoints.checkpoint_folders import BASE, NEW, OLD, newest, publish, restored, sealed_folder
from tests.tasks.checkpoints.conftest import MemoryStore, keys
from tests.tasks.checkpoints.dying_store import DyingError, DyingStore, calls_of

names = st.sampled_from(["a.bin", "b.json", "sub/a.bin", "sub/deeper/ção.pt", "sub/b json"])
checkpoints = st.dictionaries(names, st.binary(max_size=32), min_size=1)


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
