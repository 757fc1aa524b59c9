"""What cells look like decides beside their column's name."""

import polars as pl
import pytest

from tasks.synthesize.columns.look import is_personal, looks_like


@pytest.mark.parametrize(
    ("kind", "like", "unlike"),
    [
        ("dates", ["31/01/2025", "2025-01-31T10:00:00Z", "1-2-2025 10:30"], ["Janeiro", "2025", "31/01"]),
        ("stars from 1 to 5", ["5", "1,0", "3"], ["0", "10", "6"]),
        ("whole numbers", ["12", "3,0"], ["1,5", "dois"]),
        ("numbers", ["R$ 1.234,56", "-12.5", "7"], ["sete", "12kg"]),
        ("states", ["SP", "Rio de Janeiro", "BR-MG", "sao paulo"], ["1", "XX", "Lisboa"]),
        ("texts", ["Chegou antes do prazo, adorei", "Ainda não recebi o produto"], ["Camiseta", "Caneca"]),
    ],
)
def test_cells_are_of_their_kind_only(kind: str, like: list[str], unlike: list[str]) -> None:
    assert looks_like(pl.Series(like), kind)
    assert not looks_like(pl.Series(unlike), kind)
    assert not looks_like(pl.Series([None], dtype=pl.String), kind)


@pytest.mark.parametrize(
    ("cells", "personal"),
    [
        ("ana@exemplo.com.br|11144477735|11444777000161|111.444.777-35|12.345.678/0001-95|(11) 98888-7777", True),
        ("1001|13063316861001|2025-01-31|R$ 10,00|35.182|Chegou bem, ligue para (11) 98888-7777", False),
    ],
)
def test_personal_data_is_found_whatever_its_column_is_called(cells: str, personal: bool) -> None:
    assert [is_personal(pl.Series([cell, None])) for cell in cells.split("|")] == [personal] * 6
