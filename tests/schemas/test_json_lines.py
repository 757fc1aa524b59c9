import os
import tracemalloc
from pathlib import Path

import pytest

from schemas import json_lines
from schemas.documents import PairedScore
from schemas.errors import InputError
from schemas.json_lines import read_json_lines, stream_json_lines

GOOD = PairedScore(prompt_id="a\u2028b", task="push", seed=0, sample=0, score=0.5)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"prompt_id":"b","task":"push","seed":0,"sample":0,"score":NaN}', "score"),
        ('{"prompt_id":"b","task":"push","seed":0,"sample":0,"score":1.2}', "less than or equal to 1"),
        ('{"prompt_id":"b","task":"push","seed":0,"score":0.5}', "sample"),
        ("not json", "JSON"),
        ("", "nothing is there"),
    ],
)
def test_names_the_line_that_is_no_such_document(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(f"{GOOD.model_dump_json()}\n{line}\n{GOOD.model_dump_json()}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"scores .*scores\.jsonl: line 2.*{complaint}"):
        read_json_lines(path, PairedScore, "scores")


@pytest.mark.parametrize("size", [None, 10**6])
def test_a_file_that_lacks_its_line_feeds_is_not_read_whole(
    tmp_path: Path, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, good = tmp_path / "scores.jsonl", f"{GOOD.model_dump_json()}\n"
    monkeypatch.setattr(json_lines, "_LONGEST", len(good.encode()))
    path.write_text(good * 2, encoding="utf-8")
    assert len(list(stream_json_lines(path, PairedScore, "scores", size))) == 2
    path.write_text(good + good.rstrip("\n") * 3, encoding="utf-8")
    with pytest.raises(InputError, match=r"scores\.jsonl: line 2 is longer than 0 MB; write one JSON object a line"):
        list(stream_json_lines(path, PairedScore, "scores", size))
    os.truncate(path, 10**8)
    tracemalloc.start()
    with pytest.raises(InputError, match="line 2 is longer"):
        list(stream_json_lines(path, PairedScore, "scores", size and 10**8))
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
