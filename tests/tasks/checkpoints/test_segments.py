from itertools import zip_longest
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from tasks.checkpoints import segments
from tasks.checkpoints.machine import machine_name
from tasks.checkpoints.object_store import ObjectStore
from tasks.checkpoints.segments import Ended, begin, begun, end, read_segments
from tests.tasks.checkpoints.conftest import MemoryStore

ROOT = "mirror/training/"
REASONS: tuple[Ended, ...] = get_args(Ended)
STEPS = st.integers(0, 10**6)


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(1, 99999999), st.tuples(STEPS, st.none() | st.tuples(STEPS, st.sampled_from(REASONS))))
)
def test_segments_are_read_in_order(noted: dict[int, tuple[int, tuple[int, Ended] | None]]) -> None:
    store = MemoryStore()
    for fencing, (from_step, ending) in noted.items():
        begin(store, ROOT, fencing, from_step)
        if ending:
            end(store, ROOT, fencing, *ending)
    assert begun(store, ROOT) == {fencing: from_step for fencing, (from_step, _) in noted.items()}
    read = read_segments(store, ROOT)
    order = sorted(noted)
    assert [(one.fencing, one.machine) for one in read] == [(fencing, machine_name()) for fencing in order]
    for one, successor in zip_longest(read, order[1:]):
        from_step, ending = noted[one.fencing]
        silent = (None, None) if successor is None else (noted[successor][0], "vanished")
        assert one.from_step == from_step
        assert (one.to_step, one.ended) == (ending or silent)


def test_a_segment_begins_once(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(store, ROOT, 3, 10)
    begin(store, ROOT, 3, 10)
    with pytest.raises(InputError, match=r"00000003-begin\.json is there already"):
        begin(store, ROOT, 3, 20)
    monkeypatch.setattr(segments, "machine_name", lambda: "another")
    with pytest.raises(InputError, match=r"00000003-begin\.json is there already"):
        begin(store, ROOT, 3, 10)
    assert begun(store, ROOT) == {3: 10}
