"""Invented exports of a small shop, written as the programs of shops write them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape
from zipfile import ZipFile

Cell = str | float | None
Rows = Sequence[Sequence[Cell]]

ROWS: Final = 80
MONTHS: Final = ("janeiro", "fevereiro", "março", "abril", "maio", "junho")
OPINIONS: Final = (
    "O produto {n} chegou quebrado e ninguém responde",
    "O produto {n} atrasou,\nmas chegou",
    "O produto {n} é ok pelo preço",
    "Gostei do produto {n}; embalagem boa",
    "Adorei o produto {n}, chegou antes do prazo",
)
CPF: Final = "111.444.777-35"
BUYER: Final = ("Ana Souza", CPF, "SP")


def stars(number: int) -> int:
    return 1 + number % 5


def opinion(number: int) -> str:
    return OPINIONS[number % 5].format(n=number)


def orders() -> Rows:
    header = ["Pedido", "Data", "Situação", "CPF", "E-mail", "UF", "SKU", "Valor", "Custo de envio", "Obs", ""]
    rows = [
        f"{1000 + n}|{1 + n % 28:02}/03/2025 10:00|Entregue|{CPF}|a{n}@b.com|SP|A-{n % 9}|1.0{n + 10},90|12,50||".split(
            "|"
        )
        for n in range(ROWS)
    ]
    return [header, *rows]


def reviews() -> Rows:
    header = ["Pedido", "Data da avaliação", "Produto", "Nota", "Comentário", "Situação"]
    rows = [
        [
            str(1000 + n),
            f"{1 + n % 28:02}/04/2025",
            f"Caneca {n % 9}",
            str(stars(n)),
            opinion(n) if n % 8 else "",
            "Publicada",
        ]
        for n in range(ROWS)
    ]
    return [header, *rows]


def marketplace() -> Rows:
    """Write titles and headings of groups above the header, which names two columns alike, and a line of totals."""
    header = ["N.º de venda", "Data da venda", "Estado", "Unidades", "Total (BRL)", "SKU"]
    header += ["Preço unitário de venda do anúncio (BRL)", "Comprador", "CPF", "Estado"]
    rows: list[list[Cell]] = [
        [
            n,
            f"{1 + n % 28} de {MONTHS[n % 6]} de 2025 22:04 hs.",
            "Venda concluída",
            2,
            20.5,
            f"B-{n % 9}",
            10.25,
            *BUYER,
        ]
        for n in range(ROWS)
    ]
    total: list[Cell] = ["Total", None, None, 2 * ROWS, 20.5 * ROWS, *[None] * 5]
    groups: list[Cell] = ["Vendas", *[None] * 6, "Compradores", None, None]
    return [["Vendas de Loja da Ana"], [], groups, header, *rows, total]


def promoters() -> Rows:
    rows = [[f"{1 + n % 28:02}/05/2025", str(n % 11), opinion(n), f"ana{n}@exemplo.com"] for n in range(ROWS)]
    return [["Pesquisa NPS"], [], ["Respondido em", "Nota", "Comentário", "E-mail"], *rows]


def tickets() -> Rows:
    header = ["Ticket ID", "Created at", "Subject", "Satisfaction Score", "Satisfaction Comment", "Requester email"]
    scores = ("Good", "Bad", "Offered")
    return [
        header,
        *(
            [str(n), f"2025-05-{1 + n % 28:02} 10:00", "Troca", scores[n % 3], opinion(n), f"a{n}@exemplo.com"]
            for n in range(2 * ROWS)
        ),
    ]


def form() -> Rows:
    header = ["Carimbo de data/hora", "De 1 a 5, qual a sua satisfação?", "Conte o que achou da compra", "Seu WhatsApp"]
    return [
        header,
        *(
            [f"2025/05/{1 + n % 28:02} 9:15:22 PM GMT-3", f"{stars(n)} estrelas", opinion(n), "(11) 98888-7777"]
            for n in range(ROWS)
        ),
    ]


EXPORTS: Final[Mapping[str, Callable[[], Rows]]] = {
    "pedidos.csv": orders,
    "avaliacoes.csv": reviews,
    "mercado.xlsx": marketplace,
    "nps.csv": promoters,
    "tickets.csv": tickets,
    "respostas.csv": form,
}


def write_export(folder: Path, name: str, rows: Rows | None = None) -> Path:
    """Write one of the exports, or other rows, as a workbook or as CSV of Excel in Brazil."""
    path, rows = folder / name, EXPORTS[name]() if rows is None else rows
    if path.suffix == ".xlsx":
        return write_workbook(path, {"Vendas BR": rows}, merged=["A3:G3", "H3:J3"])
    lines = (";".join(quoted(cell) for cell in row) for row in rows)
    path.write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    return path


def quoted(cell: Cell) -> str:
    text = "" if cell is None else str(cell)
    return f'"{text}"' if {";", "\n"} & {*text} else text


def write_workbook(
    path: Path, sheets: Mapping[str, Rows], *, merged: Sequence[str] = (), hidden: Sequence[str] = ()
) -> Path:
    """Write a workbook; a text that begins with `=` is a formula that nobody has computed."""
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    entries, targets, types = [], [], []
    with ZipFile(path, "w") as archive:
        for number, (name, rows) in enumerate(sheets.items(), 1):
            state = ' state="hidden"' if name in hidden else ""
            entries.append(f'<sheet name="{name}" sheetId="{number}"{state} r:id="r{number}"/>')
            targets.append(
                f'<Relationship Id="r{number}" Type="{relation}/worksheet" Target="worksheets/{number}.xml"/>'
            )
            types.append(f'<Override PartName="/xl/worksheets/{number}.xml" ContentType="application/xml"/>')
            cells = "".join(f'<row r="{r}">{"".join(map(_cell, row))}</row>' for r, row in enumerate(rows, 1))
            spans = "".join(f'<mergeCell ref="{each}"/>' for each in merged)
            text = (
                f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData><mergeCells>{spans}</mergeCells></worksheet>'
            )
            archive.writestr(f"xl/worksheets/{number}.xml", text)
        book = f'<workbook xmlns="{main}" xmlns:r="{relation}"><sheets>{"".join(entries)}</sheets></workbook>'
        archive.writestr("xl/workbook.xml", book)
        relations = f'<Relationships xmlns="{package}/relationships">{{}}</Relationships>'
        archive.writestr("xl/_rels/workbook.xml.rels", relations.format("".join(targets)))
        office = f'<Relationship Id="b" Type="{relation}/officeDocument" Target="xl/workbook.xml"/>'
        archive.writestr("_rels/.rels", relations.format(office))
        content = f'<Types xmlns="{package}/content-types">{"".join(types)}</Types>'
        archive.writestr("[Content_Types].xml", content)
    return path


def _cell(cell: Cell) -> str:
    if cell is None:
        return "<c/>"
    if not isinstance(cell, str):
        return f"<c><v>{cell}</v></c>"
    if cell.startswith("="):
        return f"<c><f>{escape(cell[1:])}</f><v></v></c>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'
