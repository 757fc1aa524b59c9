"""Patterns of personal data, wider than it: no task needs an order number or an address of the web from a text.

All read small letters, ASCII digits, spaces and hyphens (`tasks.personal_data.scrub`). What was found is hidden behind
`HIDDEN` from the patterns that follow. Every repetition is bounded or possessive, so that a text is read in time linear
in its length.
"""

import re
from typing import Final, Literal, get_args

Kind = Literal[
    "CPF", "CNPJ", "EMAIL", "TELEFONE", "CEP", "CARTAO", "URL", "RG", "CNH", "PIS", "TITULO", "PLACA", "NASCIMENTO",
    "CVV", "PIX", "PERFIL", "NOME", "ENDERECO", "NUMERO",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
HIDDEN: Final = "\ue000"
"""Stands for each character of what was found, and is part of no value."""
HIDDEN_CARD: Final = "\ue001"

_WORD: Final = r"(?<![\w\[])"
"""No letter before a label, and no bracket: that of a placeholder is none."""
_IS: Final = (
    r"(?:(?:é|eh|e|era|foi|n[º°o]?|num(?:ero)?|número|o|a|do|da|de|meu|minha|seu|sua|esse|este|aqui)\b|[^\w\n]|\n)"
)
"""Word or sign between a label and its value: `cpf nº: `, `meu insta é o `."""
_DOT: Final = (
    r"(?:\.{1,3}|[,;]|(?:[^\w\n]{1,3}|_)(?:ponto|pto?|dot)(?:[^\w\n]{1,3}|_|(?=com))|[ ]?(?:ponto"
    r"|dot)(?=com)|[(\[{\"'|<]{1,2}\.[)\]}\"'|>]{1,2} ?| \. ?|\. )"
)
"""Dot of an address as people write it: `ponto`, `(.)`, ` . `."""
_PROVIDER: Final = (
    r"(?:g ?mail|hot ?mail|out ?look|yahoo|uol|bol|i ?cloud|terra|live|msn|ig|globo|proton(?:mail)?|zipmail|oi|r7)"
)
_AT_PROVIDER: Final = rf"[(\[{{]?{_PROVIDER}[)\]}}]?(?:(?:{_DOT}| )[(\[{{]?com[)\]}}]?(?:(?:{_DOT}| )br)?)?(?!\w)"
_TLD: Final = r"(?:com|net|org|gov|edu|ind|info|biz|app|dev|art|adv|med|me|io|ai|co|br|pt|us|shop|store|online|site)"
_SHORT_TLD: Final = r"(?:gl|gd|gg|ly|cc|to|tv|pe|vc|be|am|im|fm|is|ws|link|page|top|xyz|club|tk|ml)"
"""Endings of shorteners, which are addresses before a path only."""
_HOST: Final = (
    rf"[a-z0-9][\w-]{{0,40}}(?:{_DOT}\w[\w-]{{0,30}}){{0,3}}?{_DOT}(?:{_TLD}|b r)(?:{_DOT}[a-z]{{2}})?(?![\w-])"
)
_NAME: Final = (
    r"(?<![\w.+%-])(?>[\w.+%-]{1,64}(?:(?: ?[(\[]? ?(?:ponto|pto?|dot|und\w{0,8}|underl\w{2,3}|tra[cç]\w{1,5}|h[ií]fen"
    r"|sublinhado) ?[)\]]? ?| \. )[\w.+-]{1,30}){0,3})"
)
"""Part before the sign. The group is atomic: `a ponto a ponto` would be read again from each of its words."""
_NO_FIRST: Final = (
    r"(?:com|para|pr[ao]|por|que|é|eh|o|a|em|n[ao]|d[eo]|e?-?mail|contato|meu|minha|aqui"
    r"|manda\w?|responde\w?|endere[cç]o|escreve|certo)\b"
)
"""Words that lead to a dictated address and are no part of it."""
_AT: Final = r"(?:a ?r ?r? ?[ou]{1,2} ?b ?\w{0,2}|arrb\w{0,1})"
_MONTH: Final = (
    r"(?:jan(?:eiro)?|fev(?:ereiro)?|mar(?:[cç]o)?|abr(?:il)?|mai(?:o)?|jun(?:ho)?|jul(?:ho)?|ago(?:sto)?"
    r"|set(?:embro)?|out(?:ubro)?|nov(?:embro)?|dez(?:embro)?)(?![^\W\d_])"
)
_UNIT: Final = r"(?:zeros?|hum|uma?|dois|duas|tr[eê]s|quatro|cinco|seis|meia|sete|oito|nove)"
_NUMERAL: Final = (
    rf"(?:{_UNIT}|dez|onze|doze|treze|[cq]u?atorze|quinze|dezesseis|dezessete|dezoito|dezenove"
    rf"|(?:vinte|trinta|quarenta|[cq]inq?uenta|sessenta|setenta|oitenta|noventa)(?:e{_UNIT})?|cem|cento"
    r"|(?:du|tre)zentos|quinhentos|(?:quatro|seis|sete|oito|nove)centos)(?!\w)"
)
_DATE: Final = (
    r"(?:(?:dia )?\d{1,2},? m[eê]s \d{1,2},? (?:d[eo] )?(?:ano )?\d{2,4}"
    r"|\d{1,2} ?[/.|\\ -] ?\d{1,2} ?[/.|\\ -] ?\d{2}(?:\d{2})?(?!\d)|\d{4}-\d\d-\d\d|\d{8}(?!\d)|\d{6}(?!\d)"
    rf"|(?:\d{{1,2}}[º°o]?|primeiro|{_NUMERAL}(?: e {_UNIT}(?!\w))?)[ /.-]{{0,3}}(?:d[eo] (?:m[eê]s "
    rf"(?:de )?)?)?(?:{_MONTH}|(?<=d[eo] )(?:\d{{1,2}}|{_NUMERAL}))"
    rf"(?:[ /.,-]{{0,3}}(?:d[eo] (?:ano (?:de )?)?)?(?:\d{{4}}|\d{{2}}(?!\d)|(?:dois )?mil(?: e|"
    rf"(?: e)? {_NUMERAL}){{0,6}}|{_NUMERAL}(?: e {_UNIT}(?!\w))?))?|mil novecentos(?: e {_NUMERAL}){{1,2}}"
    rf"|{_MONTH}[ /]{{1,2}}(?:de )?(?:19|20)?\d\d(?!\d)|\d{{1,2}}[/.-]\d{{1,2}}(?![\d/.])|(?:19\d\d|200\d)(?!\d))"
)
"""Any date, down to a year: that of a birth only beside a word for it."""
_BORN: Final = (
    rf"{_WORD}(?:(?:d(?:a?t)?a?\.? ?(?:de )?nas|nas[cç]|aniv)\w{{0,10}}|niver|natal[ií]cio|dob|bday|d\. ?n\b\.?|dn\b)"
)
_ACCOUNT: Final = r"(?:ag(?:[eê]ncia)?|conta|c ?[/.]? ?c|poupan[cç]a|corrente)"
_CODE: Final = (
    rf"{_WORD}(?:c[vs][vcn]2?|ccv|c\.v\.[vc]\.?|(?:c[oó]d\w{{0,6}}|d[ií]g\w{{0,6}}|n[uú]m\w{{0,9}}|senha)\.? ?"
    r"(?:d[eo] |da )?(?:a?tr[aá][sz]|seg\w{0,7}|verso|verif\w{0,9}|cart[aã]o)|seguran[cç]a|verificador|seg|(?:de "
    r"|a)tr[aá][sz](?: d[oe] cart[aã]o)?"
    r"|(?:[34]|tr[eê]s|quatro) (?:n[uú]m\w{1,9}|d[ií]g\w{1,7})(?: (?:de |a)tr[aá][sz]| do verso)?)(?![^\W\d_])"
)
_SITES: Final = (
    r"facebook|fb|tiktok|twitter|threads|linkedin|kwai|snapchat|pinterest|youtube|telegram|discord|twitch|ig"
)
_SOCIAL: Final = rf"(?:instagram|instagr|{_SITES}|linktr|youtu|whatsapp|t|m|x|wa)"
_NETWORK: Final = (
    rf"(?:{_SITES}|insta|in\w{{1,4}}gra[mn]|face|tik tok|snap|skype|psn|xbox|steam|(?:nick|user)\w{{0,4}}|usu[aá]rio"
    r"|perfil|login|apelido|bluesky|direct|dm|tt|gamertag|roblox|onlyfans|badoo|tinder|reddit|picpay|orkut|shopee|enjoei)"
)
_HANDLE: Final = r"(?=[a-z._-]*[\d._-]*[a-z\d])[a-z\d_.][\w.-]{2,30}"
_POINTS: Final = "[:=>\u2190-\u2bff\U0001f000-\U0001faff]"
"""Sign, arrow or picture before a name in a network."""
_PLATE: Final = r"[a-z]{3}[ ._·•/-]{0,3}\d[a-z\d]\d{2}(?!\w)"
_SPELT: Final = (
    r"(?:[a-záéíó](?: de \w{2,12})?|[b-dgp-tvz]u?[eê]|k[aá]|efe|el[ei]|e[mn][ei]|erre|esse|ag[aá]|jota"
    r"|xis|d[aá]bl\w{2,3}|[ií]psilon)"
)
"""Letter by its name, or with a word that begins with it: `M de maria`."""
_CALLS: Final = (
    r"(?:meu (?:nome(?: completo)?|face(?:book)?)(?: ?:| é ?:?| eh? ?:?|,)|me chamo|fal(?:ar|em?) com|cuidados de"
    r"|procurar (?:por|pel[oa])|(?:titular|nome|ass(?:inado|\.)?) ?:|(?:atte?\.?|(?:atenciosa|cordial)mente)[,:\n])"
)
_CALLED: Final = (
    r"(?:e|que|q|tenho|comprei|moro|estou|t[oô]|mas|sou|n[aã]o|quero|fiz|com|cpf|rg|meu|minha|na|no|em|para|pra|por"
    r"|pois|pq|porque|aguardo|favor|obrigad[oa]|tel(?:efone)?|fone|cel(?:ular)?|email|e-mail|nascid[oa]|ele|ela|se|ou"
    r"|mais|recebi|vou)\b"
)
"""Words that end a name: `me chamo Ana Lima e comprei`."""
_NO_NAME: Final = (
    r"(?:uma?|algu[eé]m|ningu[eé]m|voc[eê]s?|vcs?|el[ea]s?|[ao]s?|d[eao]s?|atendente"
    r"|vendedor\w{0,2}|loja|suporte|gerente)\b"
)
_PERSON: Final = rf"(?!{_CALLED})[^\W\d_]{{2,20}}(?:['. ]{{1,2}}(?!{_CALLED})[^\W\d_]{{1,20}}){{0,4}}"
_STREETS: Final = (
    r"(?:rua|r\.|av\.?|avenida|travessa|trav\.?|tv\.|alameda|al\.|estrada|rodovia|rod\.|pra[cç]a"
    r"|p[cç]a\.?|largo|viela|beco|ladeira|servid[aã]o|vila|quadra|condom[ií]nio|conjunto|residencial"
    r"|endere[cç]o|(?:moro|resido) n[ao])"
)
_UNITS: Final = r"reais|centavos|dias|horas|meses|anos|vezes|unid\w{0,4}|pe[cç]as|pares|itens|pontos|estrelas|[cm]m|kg"
_COUNTED: Final = rf" ?(?:%|x\b|(?:{_UNITS})(?!\w))"
_PART: Final = (
    r"(?:[ ,.\n-]{1,3}(?:ap(?:to?|artamento)?|bloco|bl|casa|lote|lt|quadra|qd|sala|sl|fundos|torre|andar|km|bairro|jd"
    r"|jardim|cj|conjunto|n[º°o]?)(?!\w)[.: º°]{0,2}[\w-]{0,12}){0,4}"
)
_BEGIN: Final = r"(?:^|[^a-z])"
"""Edge of a word in a cue: `\\b` is slow in Rust beside letters with accents."""
_END: Final = r"(?:[^a-z]|$)"
_SIGNS: Final = r"[^a-z\d]{0,4}"
_MAIL_CUE: Final = (
    r"(?:g|hot|zip|proton) ?mail|out ?look|yahoo|i ?cloud"
    rf"|(?:^|[^a-z\d])(?:uol|bol|terra|live|msn|ig|globo|proton|oi|r7){_SIGNS}(?:ponto|pto?|dot)?{_SIGNS}com{_END}"
)
_BORN_CUE: Final = (
    rf"nas[cç]|{_BEGIN}d(?:a?t)?a?\.? ?(?:de )?nas|aniv|{_BEGIN}niver|natal[ií]c|{_BEGIN}(?:dob|bday|d\. ?n|dn){_END}"
)
_NETWORK_CUE: Final = rf"{_BEGIN}{_NETWORK}{_END}"
_CODE_CUE: Final = (
    rf"c[vs][vcn]|ccv|c\.v\.|seguran|{_BEGIN}seg{_END}|tr[aá]s{_END}|verso|verif|(?:c[oó]d|d[ií]g|n[uú]m"
    rf"|senha)[a-z]{{0,9}}\.? ?(?:d[eo] |da )?(?:seg|cart)|(?:[34]|tr[eê]s|quatro) (?:n[uú]m|d[ií]g)"
)


def _search(kind: Kind, cue: str, pattern: str) -> tuple[Kind, re.Pattern[str], re.Pattern[str]]:
    return kind, re.compile(cue), re.compile(pattern)


LABELLED: Final = (
    _search(
        "PERFIL",
        rf"{_SOCIAL}[^a-z\d]{{0,3}}(?:[.,;]|ponto|pto?|dot){_SIGNS}(?:com|net|me|am|ee|gg|tv|be|app)?"
        r"[^a-z\d]{0,2}(?:[/\\]|barra )",
        rf"(?:https?://)?(?:www\.)?(?<![a-z\d.-])(?:[a-z\d-]{{1,20}}\.)?{_SOCIAL}{_DOT}(?:com|net|me|am|ee"
        r"|gg|tv|be|app)?(?: ?[/\\] ?| barra )(?:(?:in|pub|add|user|c|u)(?: ?[/\\] ?| barra ))?@?[\w.@?=&%+/-]{2,80}",
    ),
    _search("URL", r"://|www\.", r"(?:(?:https?|ftp)://|(?<!\w)www\.)[^\s<>\"\ue000]{1,2000}+"),
    _search(
        "EMAIL",
        r"@",
        rf"{_NAME}[ \t\n]?[(\[{{<]?@{{1,3}}[)\]}}>]?[ \t]?(?:{_AT_PROVIDER}|{_HOST})"
        rf"|[\w.+-]{{1,64}}@[\w-]{{1,60}}(?:\.[\w-]{{1,30}}){{1,4}}",
    ),
    _search(
        "EMAIL",
        r"a ?r ?r? ?[ou]{1,2} ?b|arrb|[(\[{<*_|/\"'=~-] ?(?:@|a|at|arr) ?[)\]}>*_|/\"'=~-]| at |[#%&]\w{3,9}\.com",
        # The sign in words, brackets or another's place.
        rf"(?:(?<!\w)(?!{_NO_FIRST})[^\W_]{{1,15}} ){{0,2}}{_NAME},?(?:[ \t,.…]{{0,3}}"
        rf"(?:[(\[{{<*_|/\"'=~-]{{1,2}} ?(?:@|{_AT}|at|a(?=[)\]}}] ?{_PROVIDER})|arr) ?[)\]}}>*_|/\"'=~-]{{1,2}}|{_AT})"
        rf"[ \t\n,.…]{{0,3}}| at |[#%&](?=\w{{3,9}}\.com))(?:d[oae] )?(?:{_AT_PROVIDER}|{_HOST})"
        rf"|(?<![\w.+-])[\w.+-]{{3,40}}?arroba(?:{_AT_PROVIDER}|{_HOST})",
    ),
    _search(
        "EMAIL",
        _MAIL_CUE,
        # No sign: `analima85 no gmail`.
        rf"(?<![\w.])(?!e-?mail|conta|site|pelo)(?=\w*[._\d-]|[a-z]{{6}})[\w.-]{{4,40}}[ \t,(]{{1,3}}(?:"
        rf"(?:e |é )?(?:no|do|da|pelo) )?{_PROVIDER}"
        rf"(?:{_DOT}com(?:{_DOT}br)?|(?<=mail)|(?<=look)|(?<=yahoo)|(?<=cloud)| com(?: br)?)(?![\w-])",
    ),
    _search(
        "EMAIL",
        rf"(?:{_PROVIDER}|mail) ?(?:é|eh|:|=)",
        # The provider before the name: `meu gmail é analima85`.
        rf"(?<!\w)(?:{_PROVIDER}|e-?mail) ?(?:é|eh|:|=){_IS}{{0,3}}(?=[a-z]*[\d_.-])[\w.-]{{5,40}}(?![\w@-])",
    ),
    _search(
        "EMAIL",
        _MAIL_CUE,
        # Whatever stands for the sign.
        rf"(?<![\w.+%-])[\w.+%-]{{3,64}}?[\W_]{{0,4}}(?:(?:at?|em|n[oa]|arr\w{{0,4}}|arroba)[\W_]{{1,4}})?"
        rf"(?<![^\W_]){_PROVIDER}(?:{_DOT}|[ _])com(?:(?:{_DOT}|[ _])br)?(?![^\W_])",
    ),
    _search("EMAIL", r"@", r"(?<!\w)(?:[\w.-][ \t]){3,40}@(?:[ \t][\w.-]){4,40}(?!\w)"),
    _search(
        "PERFIL",
        r"@|\bu/|[📷📸]",
        r"[\w.-]{0,40}@{1,2}(?:[\w.-]{2,60}|(?<!\d @) [\w.-]{3,60}| ?(?::|é|eh|=) ?[\w.-]{3,60})"
        r"|\bu/[\w-]{3,40}|[📷📸] ?[\w.-]{4,40}",
    ),
    _search(
        "URL",
        r"\.[a-z]{2}",
        rf"(?<![\w@.-])(?:[a-z0-9][a-z0-9-]{{0,62}}\.){{1,5}}(?:{_TLD}(?::\d{{2,5}})?[/?#][^\s<>\"\ue000]{{0,2000}}+"
        rf"|(?:com|net|org)\.br(?!\w)|{_SHORT_TLD}/\w[^\s<>\"\ue000]{{0,2000}}+)",
    ),
    _search(
        "PIX",
        r"[a-f\d][\da-f ._:/-]{30}",
        r"(?<![\da-z])(?:[a-f\d]{8}[ ._:/-]{0,3}(?:[a-f\d]{4}[ ._:/-]{0,3}){3}[a-f\d]{12}|[a-f\d]{32})(?![\da-z])",
    ),
    _search(
        "CNPJ",
        r"[a-z\d]{3} ?/ ?[a-z\d]{4}[ ./-]{0,3}\d\d|000\d\d\d",
        r"(?<![a-z\d])(?:[a-z\d]{2}[. ]?[a-z\d]{3}[. ]?[a-z\d]{3} ?/ ?[a-z\d]{4}[ ./-]{0,3}\d{2}"
        r"|[a-z\d]{8}000\d\d\d)(?![a-z\d])",
    ),
    _search(
        "NUMERO",
        rf"{_ACCOUNT}[^\d\n]{{1,30}}\d[\d .]{{1,14}}-[\dx]",
        rf"{_WORD}{_ACCOUNT}\b{_IS}{{0,4}}(?P<value>\d[\d .]{{1,14}}-[\dx](?!\w))",
    ),
    _search("NASCIMENTO", _BORN_CUE, rf"{_BORN}(?:[^\d\n\ue000]{{0,20}}?\n?)(?:(?<![a-z])|(?=\d))(?P<value>{_DATE})"),
    # The word behind its date.
    _search("NASCIMENTO", r"nas[cç]|aniv|niver", rf"(?<!\d){_DATE}(?=[^\d\n\ue000]{{0,25}}(?:nas[cç]|aniv|niver))"),
    _search(
        "NASCIMENTO",
        r"(?:19\d|200)\d|\d ?[/.-] ?\d{1,2} ?[/.-] ?[3-9]\d|\d de \d{1,2} de \d",
        # No order is as old as these dates, so they need no word.
        rf"(?<!\d)(?:\d{{1,2}} ?[/.-] ?\d{{1,2}} ?[/.-] ?(?:19\d\d|200\d|[3-9]\d)(?![\d/.-])"
        rf"|(?:\d{{1,2}}[º°o]?[ /.-]?(?:de )?)?{_MONTH}[ /.-]?(?:de )?(?:19\d\d|200\d)(?!\d)|\d{{1,2}} de (?:0?[1-9]"
        rf"|1[0-2]) de (?:19|20)?\d\d(?!\d)|\d{{1,2}}/(?:19\d\d|200\d)(?!\d)|(?:19\d\d|200\d)-\d\d-\d\d(?!\d))",
    ),
    _search(
        "CVV",
        _CODE_CUE,
        rf"{_CODE}(?:[^\d\n\ue000]|(?:final|termina\w{{0,3}} em) \d{{4}}){{0,30}}?(?:\n(?:\w{{2,15}}: ?)?)?"
        rf"(?<!\$)(?<!\$ )(?P<value>\d ?\d ?\d ?\d?(?!\d|,\d|{_COUNTED})"
        rf"|(?<![a-z]){_NUMERAL}(?:(?:[ ,-]{{1,2}}| e ){_NUMERAL}){{1,3}}+(?!{_COUNTED}))",
    ),
    _search(
        "CVV",
        _CODE_CUE,
        # The code before its word: `837 é o cvv`.
        rf"(?<![\d,.$-])(?<!\d )\d{{3,4}}(?= ?[(,é-]? ?(?:é |eh |s[aã]o |os? |como |d[eo] |meu "
        rf"|a[ií] ){{0,3}}{_CODE}(?![^\d\n]{{0,12}}\d))",
    ),
    _search(
        "PLACA",
        r"[a-z]{3}[-·•]?\d[a-z\d]\d\d|[a-z]{3} \d[a-j]\d\d",
        r"(?<![\w-])(?:[a-z]{3}[-·•]?\d[a-z]\d{2}|[a-z]{3} \d[a-gij]\d{2}|(?!sku|ref|mod|cod)[a-z]{3}-?\d{4})(?![\w-])",
    ),
    _search(
        "PLACA",
        rf"{_BEGIN}(?:pla[ck]as?|plca|carro|moto|ve[ií]culo|van|caminh\w+|fiat|gol|uno){_END}",
        r"(?<!\w)(?!por|com|at[eé]|dia|mil|que|foi|d[oa]s|uns|ano|s[aã]o|era|tem|n[oa]s|pr[ao]|cor|sem|deu)" + _PLATE,
    ),
    _search(
        "PLACA",
        r"pla[ck]a",
        # Letter by letter, or in words.
        rf"{_WORD}pla[ck]as?{_IS}{{0,6}}(?P<value>(?:letras? )?(?=[a-z .,-]{{3,12}}\d)"
        rf"(?:[a-z\d][ .,-]{{0,3}}){{7}}(?!\w)|(?:{_SPELT}[ ,.-]{{1,3}}){{3}}(?:(?:\d{{1,4}}|{_SPELT}|{_NUMERAL})(?!\w)"
        rf"[ ,.-]{{0,3}}){{1,4}}|(?:[^\W\d_]{{1,4}}[ ,.-]{{1,3}}){{1,3}}{_NUMERAL}[\w ]{{3,40}})",
    ),
    _search(
        "PERFIL",
        _NETWORK_CUE,
        rf"{_WORD}\b{_NETWORK}\b(?:{_IS}|\b(?:no|na|perfil|usu[aá]rio|user|insta|nome|l[aá]|por|pelo|como|estou|sou)\b)"
        rf"{{0,6}}(?<!\w)(?!arroba\b)(?P<value>(?=[a-z]*[._\d]){_HANDLE}|(?:(?<={_POINTS})|(?<={_POINTS} ))"
        r"[a-z]{5,30}(?= *(?:[,.;!)\n]|$))|(?<=[éh] )[a-z]{7,30}(?!\w)|(?:(?<=(?:insta|agram|itter|iktok|egram| kwai"
        r"| face| snap|scord)[ /])|(?<=como ))[a-z]{6,30}(?!\w))",
    ),
    _search("PERFIL", r"arroba", r"(?<!\w)arroba(?: d[oe] \w{2,9})?[ :]{1,3}(?:é )?(?P<value>[a-z][\w.]{3,30})"),
    _search(
        "PERFIL",
        _NETWORK_CUE,
        # Beside the word for a network: what is written as no word is, but for the key of an object.
        r"(?<![\w.@\"-])(?:[a-z]\w{1,20}(?:[._-]{1,2}\w{1,20}){1,3}|\w{1,20}_+\w{0,20}|[a-z]{4,20}\d{1,4}"
        r"|\d{1,4}[a-z]{4,20})(?![\w@])",
    ),
    _search(
        "NOME",
        _CALLS,
        rf"{_WORD}{_CALLS}[ \n]{{1,2}}(?P<value>(?:(?:[oa]|seu|dona|sra?\.?) )?(?!{_NO_NAME}){_PERSON})",
    ),
    _search(
        "ENDERECO",
        rf"{_BEGIN}{_STREETS}[^a-z\d;!?][^\d\n;!?]{{1,45}}\d",
        rf"{_WORD}{_STREETS}(?!\w)\n?[^\n;!?\d\ue000]{{2,45}}?(?:\d{{1,5}}+(?![\d.,]\d|-\d{{3}}(?!\d)|{_COUNTED}){_PART})",
    ),
)
"""Kinds with a cue and a pattern each, in the order of their claims.

A text without the cue need not be searched; Rust reads it too. The pattern's group `value`, or all of it, is the value.
"""

_NOT_BEHIND: Final = r"(?<![\d\ue000])(?<!\d[ .,/()-])(?<!\d[ .,/()-][ .,/()-])"
_NOT_BEFORE: Final = r"(?![ ./()_*~=-]{0,3}\d)(?!,\d)"
"""A price or quantity is no part of a longer number, whatever separates the two."""
KEPT: Final = re.compile(
    # Money, and numbers with their separators.
    r"r ?\$ ?(?:\d{1,3}(?:\.\d{3}){1,3}|\d{1,7})(?:,\d{1,2})?(?!\d|[.,-]\d)"
    rf"|{_NOT_BEHIND}\d{{1,3}}\.\d{{3}}(?:,\d{{1,2}})?{_NOT_BEFORE}|{_NOT_BEHIND}\d{{1,6}},\d{{1,2}}{_NOT_BEFORE}"
    r"|(?<![\d.,])\d{1,3}(?:\.\d{3}){0,3}(?:,\d{1,2})? ?(?:reais(?!\w)|%)"
    # Cells of a prompt's table.
    r"|(?<=\| )\d{1,3}(?:\.\d{3}){1,3}(?= ?(?:\||\n|\Z))"
    # Days and months since 2010, and spans of years.
    r"|(?<!\d)(?:0?[1-9]|[12]\d|3[01]) ?[/.|-] ?(?:0?[1-9]|1[0-2]) ?[/.|-] ?(?:20[1-3]\d|[12]\d)(?!\d|[/.-]\d)"
    r"|(?<![\d./-])(?:0?[1-9]|[12]\d|3[01])/(?:0?[1-9]|1[0-2])(?!\d|[/.-]\d)|(?<!\d)(?:0?[1-9]|1[0-2])/20[1-3]\d(?!\d|-\d)"
    r"|(?<!\d)20[1-3]\d[-/](?:0[1-9]|1[0-2])(?:[-/](?:0[1-9]|[12]\d|3[01]))?(?:[t ]\d\d:\d\d(?::\d\d)?)?(?!\d|[-/.]\d)"
    r"|(?<!\d)20[0-3]\d ?[-/] ?20[0-3]\d(?!\d|[-/]\d)"
    # Quantities with their unit.
    rf"|{_NOT_BEHIND}\d{{1,3}}(?:\.\d{{3}}){{0,2}}\d{{0,3}} ?(?:{_UNITS}|h|min\w{{0,4}}|gr?|mg|ml|litros?|metros|[gmt]b"
    r"|km|mah|btus?|w(?:atts?)?|v(?:olts)?|hz|rpm|pol\w{0,6}|pedidos|clientes|produtos|vendas|avalia[cç][oõ]es|pessoas"
    r"|lumens|dpi|fios|p[aá]ginas|%)(?!\w)"
    # Limits of a query, and digests.
    rf"|(?:[<>]=? ?|(?:between|and|limit) )\d{{1,7}}(?!\d){_NOT_BEFORE}"
    r"|(?<!\w)[\da-f]{40,64}(?!\w)"
)
"""Digits that are no run in the sense of `RUN`."""
_BETWEEN: Final = r"[ \t().\[\]\\/_*·•+~=-]"
_DIGIT: Final = r"(?:\d|(?<=\d)[oilzb](?=[\d .-]{1,2}\d|\d|\b)|(?<![a-z])[oilzb]{1,2}(?=\d))"
"""Digit, or a letter in its place: `9876O-4321`."""
RUN: Final = re.compile(
    rf"(?<!\d)(?:[+(]{{0,2}}(?=[^(]{{1,9}}\))|\+?){_DIGIT}(?:(?:{_BETWEEN}{{0,4}}|,){_DIGIT}){{4,}}+"
    r"(?:[ .-]{0,2}x(?!\w))?|[a-z]{2} ?(?:\d ?){9}br(?!\w)|(?<!\d)\d(?:, ?\d){6,}+"
)
_JOIN: Final = (
    r"(?:d[ií]g\w{0,6}|dv|tra[cç]\w{1,5}|h[ií]fen|barra|ponto|espa[cç]o|(?:ao )?contr[aá]\w{0,4}|(?:no )?final"
    r"|dupl[oa]|tripl[oa]|ddd|depois)"
)
_STEP: Final = rf"[ \t,.…;/\n()-]{{1,5}}(?:(?:e|a[ií]|{_JOIN})[ ,.-]{{1,2}}){{0,3}}"
_TOKEN: Final = rf"(?:{_NUMERAL}|(?:mil(?:h[oõ]es)?|\d{{1,4}})(?!\w)|\[(?:c\w{{2,5}}|rg|pis|t\w{{5,7}}|numero)\])"
SPELLED: Final = re.compile(rf"(?:(?<!\w)|(?=\[))(?:{_JOIN} )?{_TOKEN}(?:{_STEP}{_TOKEN})++(?P<unit>{_COUNTED})?")
"""Numbers in words, alone, among digits, or beside a number that was found."""
_APART: Final = rf"[oilzb]?(?:{_BETWEEN}{{0,4}}|, ?)[oilzb]{{0,2}}"
_WORDS: Final = r"(?:mil(?:h[oõ]es)?|" + _NUMERAL.removesuffix(r"(?!\w)") + ")"
NUMBER_CUES: Final = (
    rf"\d{{5}}|\d(?:{_APART}\d){{6}}|\d(?:[oilzb]?(?:{_BETWEEN}{{1,4}}|,|[oilzb])[oilzb]{{0,2}}\d){{4}}",
    rf"(?:{_WORDS}|\]){_STEP}(?:{_WORDS}|\d)|\d{_STEP}{_WORDS}|(?:{_WORDS}|\d){_STEP}\[",
    rf"\d[ \t,.;/\n-]{{1,3}}(?:e[ ,.-]{{1,2}})?{_JOIN}[ ,.-]",
    r"[\d .()/-]\n-?\d{3}|[a-f\d]-\n",
    r"\[cart[aã]o\]",
)
"""One of them matches each text with a number in the sense of `RUN`, `SPELLED`, `BROKEN` or `BEHIND_CARD`."""
NUMERAL: Final = re.compile(rf"(?<!\w){_NUMERAL}")
JOIN: Final = re.compile(_JOIN)
BEHIND_CARD: Final = re.compile(
    r"(?:\ue001(?!\ue001)|\[cartao\])(?:[^\d\n\ue000\[]|\n(?!\n)|[34] (?=n[uú]m|d[ií]g|alg)|\d\d ?[/.-] ?"
    r"(?:20)?\d\d(?!\d)){0,50}?(?<![\d$.,/-])(?<!\$ )(?P<value>\d{3,4})(?![\d/]|[.,]\d| ?reais| ?x\b)"
)
NAMES: Final = re.compile(
    rf"{_WORD}(?:(?P<CPF>c\.?p\.?f)|(?P<CNPJ>c\.?n\.?p\.?j)|(?P<CEP>c\.?e\.?p|postal)|(?P<CARTAO>cart[aã]o|visa"
    rf"|master\w*|elo|amex|hipercard)|(?P<RG>r\.?g|identidade)|(?P<CNH>cnh|habilita\w+|carteira de motorista)"
    rf"|(?P<PIS>pis|nis|pasep)|(?P<TITULO>t[ií]tulo|eleitor)|(?P<TELEFONE>tel\w*|fone|cel\w*|w\w*ts\w*|zap\w*|fixo"
    rf"|lig\w+|contato|n[uú]mero|recado|chama\w*)|(?P<NUMERO>pedido|protocolo|nota|rastreio|c[oó]digo|nf|boleto))(?!\w)"
)
"""Words that name the kind of the number behind them."""
BROKEN: Final = re.compile(
    rf"(?:{NAMES.pattern}|(?=\(\d\d\)))[^\d\n\]]{{0,20}}\n?\d[\d .()/-]{{0,20}}"
    rf"(?:\n-?\d{{3}}(?!{_COUNTED})[\d .()/-]{{0,18}}){{1,4}}|(?<=[a-f\d]-)\n(?=[a-f\d])"
)
