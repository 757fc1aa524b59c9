"""The data of reasons: whole, and refused in one sentence where it is broken."""

from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.commerce.churn.profile import FILE, read_phrases


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('aponta = "fica"', 'aponta = "volta"', "campos.0.faixas.0.aponta"),
        ("ate = 30\n", "", "rise"),
        ("ate = 90", "ate = 20", "rise"),
        ("peso = 44\n", "", "peso"),
        ("comprou há", "comprou {quando} há", "quando"),
        ("{conclusao}: {motivos}", "{conclusao}: {motivo}", "motivo"),
        ('ressalva = "Por', 'ressalvas = "Por', "ressalva"),
        ("[texto]", "[texto", "correct"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = FILE.read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "churn.toml"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_phrases(file)
    message = str(caught.value)
    assert said in message
    assert str(file) in message
    assert "\n" not in message


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read.*correct the file"):
        read_phrases(tmp_path / "none.toml")
