"""Invented exports of a small shop, written as the programs of shops write them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape
from zipfile import ZipFile

Cell = str | float | None
Rows = Sequence[Sequence[Cell]]

ROWS: Final = 80
CPF: Final = "111.444.777-35"
MONTHS: Final = ("janeiro", "fevereiro", "março", "abril", "maio", "junho")
SCORES: Final = ("Good", "Bad", "Offered")
STATUSES: Final = ("Venda concluída", "A caminho", "Cancelada pelo comprador", "Devolvida")
OPINIONS: Final = (
    "O produto {n} chegou quebrado e ninguém responde",
    "O produto {n} atrasou,\nmas chegou",
    "O produto {n} é ok pelo preço",
    "Gostei do produto {n}; embalagem boa",
    "Adorei o produto {n}, chegou antes do prazo",
)
# The header, and a row of the row's number, its day, stars and opinion.
TEXTS: Final = json.loads(Path(__file__).with_name("exports.json").read_text(encoding="utf-8"))
EXPORTS: Final = (*TEXTS, "mercado.xlsx")


def opinion(number: int) -> str:
    return OPINIONS[number % 5].format(n=number)


def rows_of(name: str) -> Rows:
    if name == "mercado.xlsx":
        return marketplace()
    header, template = TEXTS[name]
    titles: list[Sequence[Cell]] = [["Pesquisa"], []] if name == "tickets.csv" else []
    rows: list[Sequence[Cell]] = [
        template.format(
            cpf=CPF, n=n, m=1000 + n, day=f"{1 + n % 28:02}", stars=1 + n % 5, score=SCORES[n % 3],
            opinion="" if name == "avaliacoes.csv" and n % 8 == 0 else opinion(n),
        ).split("|")
        for n in range(2 * ROWS if name == "tickets.csv" else ROWS)
    ]  # fmt: skip
    return [*titles, header.split("|"), *rows]


def marketplace() -> Rows:
    """Write titles and headings of groups above the header, which names two columns alike, and a line of totals."""
    header = "Venda|Data da venda|Estado|Unidades|Total (BRL)|SKU|Preço unitário de venda do anúncio (BRL)"
    rows: list[list[Cell]] = [
        [n, f"{1 + n % 28} de {MONTHS[n % 6]} de 2025 22:04 hs.", STATUSES[n % 4], 2, 20.5, f"B-{n % 9}", 10.25]
        for n in range(ROWS)
    ]
    buyers: list[list[Cell]] = [["Compradores"], ["Comprador", "CPF", "Estado"]]
    buyers += [["Ana Souza", CPF, "SP"]] * ROWS
    sales: list[list[Cell]] = [["Vendas", *[None] * 6], [*header.split("|")], *rows]
    total: list[Cell] = ["Total", None, None, 2 * ROWS, 20.5 * ROWS]
    return [["Vendas de Loja da Ana"], [], *(s + b for s, b in zip(sales, buyers, strict=True)), total]


def write_export(folder: Path, name: str, rows: Rows | None = None) -> Path:
    """Write one of the exports, or other rows, as a workbook or as CSV of Excel in Brazil."""
    path, rows = folder / name, rows_of(name) if rows is None else rows
    if path.suffix == ".xlsx":
        return write_workbook(path, {"Vendas BR": rows}, merged=["A3:G3", "H3:J3"])
    lines = (";".join(f'"{cell}"' if {";", "\n"} & {*str(cell)} else str(cell) for cell in row) for row in rows)
    path.write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    return path


def write_workbook(
    path: Path, sheets: Mapping[str, Rows], *, merged: Sequence[str] = (), hidden: Sequence[str] = ()
) -> Path:
    """Write a workbook; a text that begins with `=` is a formula that nobody has computed."""
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    entries, targets = [], []
    with ZipFile(path, "w") as archive:
        for number, (name, rows) in enumerate(sheets.items(), 1):
            state = ' state="hidden"' if name in hidden else ""
            entries.append(f'<sheet name="{name}" sheetId="{number}"{state} r:id="r{number}"/>')
            targets.append(
                f'<Relationship Id="r{number}" Type="{relation}/worksheet" Target="worksheets/{number}.xml"/>'
            )
            cells = "".join(f'<row r="{r}">{"".join(map(_cell, row))}</row>' for r, row in enumerate(rows, 1))
            spans = "".join(f'<mergeCell ref="{each}"/>' for each in merged)
            text = (
                f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData><mergeCells>{spans}</mergeCells></worksheet>'
            )
            archive.writestr(f"xl/worksheets/{number}.xml", text)
        book = f'<workbook xmlns="{main}" xmlns:r="{relation}"><sheets>{"".join(entries)}</sheets></workbook>'
        archive.writestr("xl/workbook.xml", book)
        office = f'<Relationship Id="b" Type="{relation}/officeDocument" Target="xl/workbook.xml"/>'
        archive.writestr("_rels/.rels", f"<Relationships>{office}</Relationships>")
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{''.join(targets)}</Relationships>")
    return path


def _cell(cell: Cell) -> str:
    if cell is None:
        return "<c/>"
    if not isinstance(cell, str):
        return f"<c><v>{cell}</v></c>"
    if cell.startswith("="):
        return f"<c><f>{escape(cell[1:])}</f><v></v></c>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'
