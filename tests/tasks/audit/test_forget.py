"""A person's rows leave a sheet, and every other row stays."""

import os
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.audit.forget import remove_prompts
from tasks.audit.sheet import COLUMNS, read_rows

THEIRS, OTHERS = "a" * 64, "b" * 64


def row(prompt: str, completion: str, delimiter: str, score: str = "4,0") -> str:
    cells = {"audit_id": f"a{completion[:3]}", "task": "push", "prompt_id": prompt, "stratum": "random"}
    cells |= {"prompt": "Escreva", "completion": f'"{completion}"', "human_score": f'"{score}"', "rater": "ana-1"}
    return delimiter.join(cells.get(name, "") for name in COLUMNS)


@pytest.mark.parametrize(("delimiter", "end", "encoding"), [(";", "\n", "utf-8-sig"), (",", "\r", "cp1252")])
def test_the_other_rows_stay(tmp_path: Path, delimiter: str, end: str, encoding: str) -> None:
    kept = [row(OTHERS, f"é de aqui; não{end}é, “não”", delimiter), row(OTHERS, "açaí", delimiter, "5")]
    sheet = tmp_path / "sheet.csv"
    gone = row(THEIRS, f"minha{end}vida", delimiter)
    sheet.write_bytes(end.join([delimiter.join(COLUMNS), kept[0], gone, kept[1], gone, ""]).encode(encoding))
    sheet.chmod(0o640)
    before = read_rows(sheet)
    assert remove_prompts(sheet, {THEIRS}) == 2
    assert read_rows(sheet) == (before[0], before[2])
    assert b"minha" not in sheet.read_bytes()
    assert sheet.stat().st_mode & 0o777 == 0o640
    assert remove_prompts(sheet, {THEIRS}) == 0


def test_a_faulty_sheet_is_refused_and_a_kill_leaves_it_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("\n".join([";".join(COLUMNS), row(THEIRS, "sim", ";"), "só;isto"]), encoding="utf-8")
    before = sheet.read_bytes()
    with pytest.raises(InputError, match="row 3: it has fewer cells"):
        remove_prompts(sheet, {THEIRS})
    assert sheet.read_bytes() == before
    sheet.write_bytes(before.removesuffix("só;isto".encode()))

    def killed(_: int) -> None:
        raise KeyboardInterrupt

    (tmp_path / ".sheet.csv.12345.draft").write_text(THEIRS, encoding="utf-8")
    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        remove_prompts(sheet, {THEIRS})
    assert THEIRS in sheet.read_text(encoding="utf-8")
    assert not list(tmp_path.glob("*.draft"))
