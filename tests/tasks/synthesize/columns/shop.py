"""Files of a small shop, as a spreadsheet of its would have them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from tasks.synthesize.columns.look import LookedFile

Cells = Mapping[str, Sequence[str | None]]

ORDERS: Final[Cells] = {
    "Nº do Pedido": ["1001", "1002", "1003"],
    "Data da Compra": ["31/01/2025 10:00", "01/02/2025", "02/02/2025"],
    "Código do Cliente": ["7", "8", "9"],
    "Situação": ["Entregue", "Em transporte", None],
}
ITEMS: Final[Cells] = {
    "Nº do Pedido": ["1001", "1002", "1003"],
    "SKU": ["A-1", "B-2", "B-2"],
    "Preço Unitário": ["1.234,50", "12,50", "12,50"],
}
REVIEWS: Final[Cells] = {
    "Nº do Pedido": ["1001", "1002", "1003"],
    "Nota": ["5", "4", "1"],
    "Comentário": ["Chegou antes do prazo, adorei", "Bom, mas a caixa veio amassada", "Ainda não recebi o produto"],
}
FLAT: Final[Cells] = {
    "Pedido": ["1", "2", "3"],
    "Data": ["31/01/2025", "01/02/2025", "02/02/2025"],
    "Nome do cliente": ["Ana Souza", "Bia Lima", "Ana Souza"],
    "CPF": ["111.444.777-35", "529.982.247-25", "111.444.777-35"],
    "E-mail": ["ana@exemplo.com", "bia@exemplo.com", "ana@exemplo.com"],
    "Telefone": ["(11) 98888-7777", "(21) 97777-6666", "(11) 98888-7777"],
    "Endereço": ["Rua Um, 1", "Rua Dois, 2", "Rua Um, 1"],
    "CEP": ["01310-100", "20040-020", "01310-100"],
    "UF": ["SP", "RJ", "SP"],
    "Produto": ["Camiseta", "Caneca", "Caneca"],
    "Valor": ["59,90", "25,00", "25,00"],
}


def looked(cells: Cells, path: Path = Path("loja.csv")) -> LookedFile:
    return LookedFile(path, pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String)))
