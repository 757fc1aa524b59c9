"""Portuguese names of the months."""

from typing import Final

# fmt: off
MONTHS: Final = (
    "janeiro", "fevereiro", "março", "abril", "maio", "junho",
    "julho", "agosto", "setembro", "outubro", "novembro", "dezembro",
)
# fmt: on
