"""Patterns of personal data, which are data (`data/personal_data/patterns.toml`).

All read small letters, ASCII digits, spaces and hyphens (`tasks.personal_data.scrub`). What was found is hidden behind
`HIDDEN` from the patterns that follow.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

DATA_FILES: Final = ("data/personal_data/patterns.toml",)
Kind = Literal[
    "CPF", "CNPJ", "EMAIL", "TELEFONE", "CEP", "CARTAO", "URL", "RG", "CNH", "PIS", "TITULO", "PLACA", "NASCIMENTO",
    "CVV", "PIX", "PERFIL", "NOME", "ENDERECO", "NUMERO",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
HIDDEN, HIDDEN_CARD = "\ue000", "\ue001"
"""Stand for each character of what was found, of a card and of anything else, and are part of no value."""
_PART: Final = re.compile(r"<<(\w+)>>")
_DATA: Final[Mapping[str, Any]] = tomllib.loads(
    (Path(__file__).resolve().parents[2] / DATA_FILES[0]).read_text(encoding="utf-8")
)
_PARTS: Final[dict[str, str]] = {}


def _whole(lines: str | list[str]) -> str:
    """Return a pattern with its parts in it."""
    return _PART.sub(lambda part: _PARTS[part[1]], "".join(lines))


for _name, _lines in (*_DATA["parts"].items(), ("NAMES", _DATA["patterns"]["names"])):
    _PARTS[_name] = _whole(_lines)

LABELLED: Final[tuple[tuple[Kind, re.Pattern[str], re.Pattern[str]], ...]] = tuple(
    (each["kind"], re.compile(_whole(each["cue"])), re.compile(_whole(each["pattern"]))) for each in _DATA["labelled"]
)
"""Kinds with a cue and a pattern each, in the order of their claims."""
NUMBER_CUES: Final = tuple(map(_whole, _DATA["patterns"]["number_cues"]))
KEPT, RUN, SPELLED, NUMERAL, JOIN, BEHIND_CARD, NAMES, BROKEN = (
    re.compile(_whole(_DATA["patterns"][name]))
    for name in ("kept", "run", "spelled", "numeral", "join", "behind_card", "names", "broken")
)
