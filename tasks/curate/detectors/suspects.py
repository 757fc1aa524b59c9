"""Fast test of which texts may hold personal data: all that the detectors would change, and few others.

Every pattern is a wider form of a detector's: what it does not match, no detector reads. A detector that reads more
needs a wider pattern here; the tests compare the two.
"""

from typing import Final

import polars as pl

_NO_WIDTH: Final = r"[\p{Mn}\p{Me}\p{Cf}]+"
_ALONE: Final = (
    r"(?i)\p{Nd}(?:(?:[\p{Zs}\p{Pd}\x{2212}\t.,;:·•*~=\\/_()\[\]+]*|\p{Zs}(?:ponto|tra[cç]o|h[ií]fen|barra)\p{Zs})\p{Nd}){7}"
    # addresses
    r"|@|\x{fe6b}|arr?oba|[(\[{<]\s?at?\s?[)\]}>]|(?:^|[^\p{L}\p{Nd}])at(?:$|[^\p{L}\p{Nd}])|#\p{L}"
    r"|://|www\.|\.[a-z]{2,6}(?::\p{Nd}{2,5})?[/?#]"
    # a CNPJ with letters
    r"|cnpj|[a-z\p{Nd}]{8}0001\p{Nd}{2}|[a-z\p{Nd}]{3}\p{Zs}?/\p{Zs}?[a-z\p{Nd}]{4}[\p{Zs}./\p{Pd}\x{2212}]{0,3}\p{Nd}{2}"
    r"|[a-z\p{Nd}]{3}[\p{Zs}./\p{Pd}\x{2212}]{0,3}\p{Nd}{4}[\p{Zs}./\p{Pd}\x{2212}]{0,3}\p{Nd}{2}"
    # full-width letters and digits
    r"|[\x{ff01}-\x{ff5e}]"
)
_LABELS: Final = (
    r"(?i)\br\.?g\b|\br\.?g\p{Nd}|identidade|\bident\.|registro geral|\bc\.?i\.?[:.º\s]{1,3}\p{Nd}|\bc\.?e\.?p(?:\b|\p{Nd}|_)|postal"
    r"|cv[vcn]|c\.v|ccv|\bc\.c\.?v|\bc\.?s\.?c|security code|seguran[cç]|\bseg\.|verso|tr[aá]s|verifica|\[cartao\]"
    r"|c[oó]d(?:igo)?\.?\s(?:de|do|cart|seg|verif|verso)|placa"
    r"|nasc|anivers|\bniver|natal[ií]cio|\bdob|\bd\.?\p{Zs}?n\b"
    r"|insta|\big(?:\b|_)|tik\s?tok|twitter|telegram|face|threads|kwai|snap|discord|skype|linkedin"
)
"""With a digit, or as the name of a network."""
_PLATE: Final = r"(?i)[a-z]{3}[\p{Zs}.·•\p{Pd}\x{2212}]{0,3}\p{Nd}[a-z\p{Nd}]\p{Nd}{2}"
_VEHICLE: Final = (
    r"(?i)carro|moto|ve[ií]culo|autom[oó]ve|caminh|camionete|\bvan\b|kombi|fiorino|furg|entregador|mercosul|renavam|emplacad"
    r"|detran|ipva|multa|estacion|garagem|uber|\bgol\b|\buno\b|palio|onix|hb20|civic|corolla|fiesta|strada|saveiro|celta"
    r"|corsa|fusca|sandero|kwid|honda|fiat|toyota|volkswagen|\bvw\b|chevrolet|\bford\b|renault|hyundai|jeep|peugeot"
    r"|citroen|nissan|titan|\bbiz\b|scooter"
)
_KEY: Final = r"(?i)(?:[a-f\p{Nd}][\p{Zs}\p{Pd}\x{2212}_./:]*){32}"
_KEY_CUE: Final = (
    r"(?i)pix|evp|aleat|chave|copia e cola|estorn|devol|reembols|transf|deposit|favorecid|nubank|banco|conta"
)
_SLASH: Final = r"(?i)[/\\]|\bbarra\b"
_HOST: Final = (
    r"(?i)insta|face|\bfb|telegram|tiktok|twitter|threads|linked|kwai|snap|linktr|pinter|youtube|whats|discord|github"
    r"|about|reddit|bsky|picpay|/@|\b(?:t|m|x|wa|ig)(?:\p{Zs}?\.|\p{Zs}?\(\.\)|\p{Zs}ponto)"
)
_DIGIT_WORD: Final = (
    r"(?:zero|hum|uma?|dois|duas|tr[eê]s|quatro|cinco|seis|meia|sete|oito|nove|dez|onze|doze|treze|[cq]u?atorze|quinze"
    r"|dezesseis|dezessete|dezoito|dezenove|vinte|trinta|quarenta|cinquenta|sessenta|setenta|oitenta|noventa)"
)
_SPELLED: Final = (
    rf"(?i)(?:^|[^\p{{L}}]){_DIGIT_WORD}(?:[^\p{{L}}]|e|tra[cç]o|ponto|h[ií]fen|ddd){{1,24}}?{_DIGIT_WORD}"
)


def may_hold_personal_data(column: str) -> pl.Expr:
    """Mark, by a fast test, the texts that may hold personal data: all that `scrub` would change, and few others."""
    text = pl.col(column).str.replace_all(_NO_WIDTH, "")
    return (
        text.str.contains(_ALONE)
        | text.str.contains(_LABELS)
        | text.str.contains(_SPELLED)
        | (text.str.contains(_PLATE) & text.str.contains(_VEHICLE))
        | (text.str.contains(_KEY) & text.str.contains(_KEY_CUE))
        | (text.str.contains(_SLASH) & text.str.contains(_HOST))
    )
