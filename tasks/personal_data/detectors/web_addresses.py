"""E-mail addresses, and web addresses with a secret, in a lower-case text.

Nothing here uses an unbounded search pattern: an e-mail is read to both sides of its `@`, and a web address from its
beginning, each character a bounded number of times.

A secret is recognized by its name (`?token=`, `/redefinir-senha/9f8e7d`) or by its form: an e-mail, a telephone, a CPF,
long random text. A bare CPF counts wherever its check digits are right: one in 100 other numbers of 11 digits is
replaced too.
"""

import re
from collections.abc import Sequence
from typing import Final

from tasks.personal_data.detectors.context import Span
from tasks.personal_data.detectors.profiles import known_words, shape_of
from tasks.personal_data.detectors.spelled_digits import NUMBER_WORDS
from tasks.personal_data.detectors.taxpayers import is_cpf

_LONGEST_NAME: Final = 64
_SUFFIX: Final = (
    r"(?:com|net|org|gov|edu|ind|info|biz|app|dev|art|adv|eng|eco|blog|shop|store|online|site|me|io|ai|co|br|pt"
    r"|us|uk|eu|es|it|fr|de|ar|cl|mx|uy|py)"
)
_PROVIDER: Final = (
    r"(?:g ?mail|hot ?mail|out ?look|yahoo|uol|bol|i ?cloud|terra|live|msn|ig|globo|proton(?:mail)?|zipmail|oi|r7)"
)
_MAIL: Final = "(?:gmail|hotmail|outlook|yahoo|icloud)"
_AT: Final = r"(?:a ?rr?[ou]{1,2}b(?:[aá@]|(?!\w))|arrb[ao]?)"
_LABEL: Final = r"[^\W_][\w-]{0,62}"
_SIGN: Final = re.compile(
    rf"[ \t]{{0,2}}(?:@{{1,3}}(?:\n(?={_PROVIDER}))?|[(\[{{<*_|/\"'=~-]{{1,2}}[ \t]?(?:@|{_AT}|at|arr)[ \t]?[)\]}}>*_"
    rf"|/\"'=~-]{{1,2}}|(?<=[ \t])[(]?(?:{_AT}|at)(?=[ \t])"
    rf"|{_AT}(?={_PROVIDER}|[ \t])|(?<=[ \t]){_AT}(?=\w)|[#%&](?={_PROVIDER}\.?com))(?: d[oae] (?={_PROVIDER})"
    rf"|[ \t]{{0,2}})|[ \t,.…:]{{1,4}}{_AT}[ \t,.…:]{{1,4}}|(?:[ \t]?[,.…-]{{1,3}}[ \t]?|\n)@(?={_PROVIDER}(?![\w-]))"
    # `(a)` is also a form of address: `Prezado(a) Loja.com`.
    rf"|\(a\)(?={_LABEL}\.[a-z]|{_PROVIDER}(?![\w-]))|[ \t]?[(\[{{][ \t]?a[ \t]?[)\]}}][ \t]?(?={_PROVIDER}(?:\.?com"
    rf"| ?[(]))"
)
_MAY_HOLD_A_SIGN: Final = re.compile(r"[@#%&]|arr|r[ou]{1,2}b|(?<![^\W_])at(?![^\W_])|[(\[{<] ?a")
_DOT: Final = (
    r"(?:\.{1,3}|[ \t]{1,2}\.[ \t]{0,2}|\.[ \t]|[,;]|[(\[{]\.[)\]}]"
    r"|[ \t]{0,2}[(\[{<*_|\"'-]{1,2}[ \t]?(?:ponto|pto?|dot)[ \t]?[)\]}>*_|\"'-]{1,2}[ \t]{0,2}|[ \t,]{1,2}(?:ponto|pto"
    r"|dot)[ \t,]{1,2})"
)
_HOST: Final = re.compile(
    rf"(?:{_LABEL}\.){{1,8}}?{_SUFFIX}(?:\.[a-z]{{2}})?(?![\w-])(?!\.[a-z]{{2,3}}(?![\w-]))"
    rf"|{_LABEL}(?:\.{_LABEL}){{0,8}}\.[^\W\d_]{{2,24}}(?!\w)"
)
_KNOWN_HOST: Final = re.compile(
    rf"(?:(?:{_LABEL}|{_PROVIDER}){_DOT}){{1,4}}?{_SUFFIX}(?:{_DOT}(?:[a-z]{{2}}|b r"
    rf"|b[eê] [eé]rre))?(?![\w-])(?!{_DOT}br(?![\w-]))"
    rf"|{_LABEL}[ \t]com[ \t]br(?!\w)|{_PROVIDER}[_*/-]com(?:[_*/.-]br)?(?!\w)|{_PROVIDER}[ \t]com(?:[ \t]br(?!\w)"
    rf"|(?=[ \t]*(?:[,.;!?)\n]|\Z)))|{_PROVIDER}[ \t]?(?:ponto|pto?|dot)com(?:[ \t]?(?:ponto|pto?"
    rf"|dot)[ \t]?br)?(?![\w-])"
    rf"|[(\[{{]{_PROVIDER}[)\]}}](?:{_DOT}|[ \t])[(\[{{]?com[)\]}}]?(?:{_DOT}[(\[{{]?br[)\]}}]?)?"
    rf"|{_PROVIDER}(?:\.?com)?(?![\w-])"
)
_MAY_HOLD_A_PROVIDER: Final = re.compile("mail|look|yahoo|uol|bol|cloud|terra|live|msn|globo|proton")
_NAME: Final = re.compile(r"[\w.+%&'*=~-]+")
_SPOKEN_NAME: Final = re.compile(
    r"(?:(?<![\w.-])[\w.+-]{1,30}(?:[ \t]{1,2}[(\[]?(?:ponto|pto?|dot|(?:und|and)\w{0,2} ?\w{2,6}|tra[cç]\w{1,5}"
    r"|h[ií]fen|sublinhado)[)\]]?[ \t]{1,2}| \. |[(\[](?:ponto|dot|\.|und\w{0,2} ?\w{2,6}|tra[cç]o)[)\]])){1,4}\Z"
)
_REMARK: Final = re.compile(
    r",?[ \t][(\[]?(?:tudo junto|(?:em |tudo )?(?:letra )?min[uú]scul\w{1,2})[)\]]?[ \t,]{0,2}\Z"
)
_WORD_BEFORE: Final = re.compile(r"(?<![\w@.-])([\w-]{1,20}) \Z")
_MOST_WORDS_BEFORE: Final = 4
_NUMBER_WORD: Final = re.compile(rf"(?:{'|'.join(NUMBER_WORDS)})(?![^\W_])")
_INTRODUCING: Final = frozenset(
    ("contato", "aqui", "endereço", "email", "e-mail", "responde", "responder", "manda", "mandar")
)
_UNSIGNED: Final = re.compile(
    rf"(?<![\w.@/-])(?P<name>[\w.-]{{4,40}})(?:[ \t]"
    rf"|(?<=[^\W_])(?={_MAIL}\.com)){_PROVIDER}(?:{_DOT}com(?:{_DOT}br)?(?![\w-])"
    r"|[ \t]com(?:[ \t]br(?!\w)|(?=[ \t]*(?:[,.;!?)\n]|\Z))))"
)
"""An address whose sign was forgotten: `ana.lima gmail.com`."""
_BEHIND_ITS_PROVIDER: Final = re.compile(
    rf"(?<!\w){_MAIL}[ \t]?(?:(?:é|eh|:|=)[ \t]?){{1,2}}(?P<name>[a-z0-9_.-]{{5,40}})(?![\w@.-])"
)
_BEFORE_ITS_PROVIDER: Final = re.compile(
    rf"(?<![\w.@-])(?P<name>[a-z0-9_.-]{{5,40}})(?:,? (?:e )?(?:no|d[oe]|é|eh) |,[ ]| ?[(]"
    rf"| (?=[gh]o?t?mail[ ]*(?:[,;!?)\n]|\Z))){_MAIL}[)]?(?![\w@.-])"
)
"""A name beside its provider: `meu gmail é analima85`, `analima85 no gmail`."""
_DESCRIBED: Final = re.compile(
    r"(?<!\w)e-?mail[ \t]?(?:(?:é|eh|e|:|=)[ \t]?)?(?:o[ \t])?(?P<name>[a-z0-9_.-]{5,40}),?[ \t]"
    rf"(?:(?:no|do|da|pelo)[ \t])?(?:{_PROVIDER})(?![\w@-])"
)
"""An address that is described: `meu e-mail é analima85, do gmail`."""
_LETTER_BY_LETTER: Final = re.compile(r"(?<!\w)(?:[\w.-][ \t]){3,40}@(?:[ \t][\w.-]){4,40}(?!\w)")
_NO_NAMES: Final = re.compile(
    r"(?:e-?mail|conta|provedor|endere[cç]o|servidor|site|pelo|pela|para|como|apenas|tamb[eé]m|usando|usei|uso"
    r"|cadastrado"
    r"|cadastrada|antigo|novo|nova|outro|outra|problema|criei|tenho|nosso|deles|errado|correto|certo|acessei|entrei)\Z"
)
_LITTLE_WORDS: Final = frozenset(
    (  # noqa: SIM905 - a list of words is read as words
        "a ao as insta instagram perfil face tiktok siga sigam segui com da das de do dos e em eh email é já "
        "la lá mail meu na nas no nos o os ou para por pra pro que se sem the um uma vi"
    ).split()
)

_URL: Final = re.compile(
    r"(?:(?:https?|ftp)://|(?<![\w@.-])www\.)[^\s<>\"]+"
    rf"|(?<![\w@.-])(?:[a-z0-9][a-z0-9-]{{0,62}}\.){{1,6}}{_SUFFIX}(?::\d{{2,5}})?[/?#][^\s<>\"]*"
)
_CLOSING: Final = ".,;:!?)]}'*"
_AUTHORITY: Final = re.compile(r"(?:[a-z]+://)?([^/?#]*)")
_PART: Final = re.compile(r"[/?#&;]")
_SECRET_NAME: Final = re.compile(
    r"(?:.*(?:token|secret|segredo|session|sessao|sessid|password|passwd|senha|signature|credential|apikey"
    r"|authkey|jwt)(?:id|key)?"
    r"|key|auth|authorization|code|codigo|sid|sess|pass|pwd|pin|otp[a-z]*|chave|sig|hash|ticket|.*e?mail|cpf|cnpj"
    r"|cpfcnpj|documento"
    r"|.*telefone|(?:tele|cell|user)?phone|fone|tel|celular|cel|whatsapp|cep|cartao|card|tk|tkn|tok|magic(?:link)?"
    r"|convite|invite)"
)
_SECRET_STEP: Final = re.compile(
    r"(?:.*(?:token|session|sessao|senha|password|magiclink|convite|invite|invitation)"
    r"|(?:reset|redefin(?:ir|icao)|recover|recuper(?:ar|acao)|confirm(?:ar|acao|e|ation)?|verif(?:y|icar|icacao"
    r"|ication)|valid(?:ar|acao|ate|ation)|ativ(?:ar|acao)|activat(?:e|ion)|autenticar|unsubscribe|descadastr(?:ar|o))"
    r"(?:d[aeo]|minha|your)?(?:conta|account|e?mail|acesso|access|cadastro|login|link|code|telefone|phone)?"
    r"|oauth|auth|login|entrar|(?:primeiro)?acesso|otp|sso|jwt)"
)
"""Path segment that precedes a secret: `/redefinir-senha/9f8e7d`."""
_CODE: Final = re.compile(r"(?<![a-z0-9])(?=[a-z]*\d)(?:[a-z0-9]{6,}|(?=\d+[a-z]|[a-z])[a-z0-9]{4,5})")
_MAYBE_CPF: Final = re.compile(r"(?<![a-z0-9])\d{11}(?![a-z0-9])")
_SECRET_VALUE: Final = re.compile(
    r"[^@]@[^@]{1,80}\.[a-z]|.%40|eyj[\w-]{8}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?<![\d])\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)|(?<!\d)\+?55[1-9]{2}9\d{8}(?!\d)"
)
_OF_A_PHONE: Final = re.compile(r"(?:https?://)?(?:www\.)?(?:wa\.me|api\.whatsapp\.com)/\+?\d{8}")
_LONG: Final = re.compile(r"[a-z0-9]{20,}")
_FEWEST_OF_EACH: Final = 3
_LONGEST_WORD: Final = 30


def find_emails(text: str) -> list[Span]:
    """Find e-mail addresses, also spaced and obfuscated ones (`ana (arroba) uol ponto com`).

    Beside spaces or a spelled-out sign, a host must have a known ending: `o @loja.oficial` is a social network name.
    """
    found: list[Span] = []
    if _MAY_HOLD_A_SIGN.search(text):
        found += _signed(text)
    if _MAY_HOLD_A_PROVIDER.search(text):
        found += _unsigned(text, found)
    return sorted(found)


def _unsigned(text: str, signed: Sequence[Span]) -> list[Span]:
    """Find addresses of well-known providers without their sign, beside those with one."""
    found: list[Span] = []
    for pattern in (_DESCRIBED, _UNSIGNED, _BEHIND_ITS_PROVIDER, _BEFORE_ITS_PROVIDER):
        for match in pattern.finditer(text):
            start, end = match.start("name"), match.end()
            is_name = pattern in {_DESCRIBED, _UNSIGNED} or shape_of(match["name"]) > 0
            apart = all(end <= other[0] or start >= other[1] for other in (*signed, *found))
            if apart and is_name and not (_NO_NAMES.match(match["name"]) or match["name"] in _LITTLE_WORDS):
                found.append((start, end))
    return found


def _signed(text: str) -> list[Span]:
    found = [match.span() for match in _LETTER_BY_LETTER.finditer(text)] if "@" in text else []
    end = found[-1][1] if found else 0
    for sign in _SIGN.finditer(text):
        is_apart = sign[0].strip("@") != ""
        remark = _REMARK.search(text, max(end, sign.start() - _LONGEST_NAME), sign.start())
        last = remark.start() if remark else sign.start()
        start = _spoken_start(text, end, _name_start(text, end, last))
        if start < sign.start() and not (is_apart and text[start:last] in _LITTLE_WORDS):
            start = _words_start(text, end, start) if is_apart else start
            host = (None if is_apart else _HOST.match(text, sign.end())) or _KNOWN_HOST.match(text, sign.end())
            if host:
                end = host.end()
                found.append((start, end))
    return found


def _spoken_start(text: str, least: int, start: int) -> int:
    """Return the beginning of a name that is dictated: `ana ponto lima arroba uol ponto com`."""
    spoken = _SPOKEN_NAME.search(text, max(least, start - _LONGEST_NAME), start)
    return start if spoken is None else spoken.start()


def _words_start(text: str, least: int, start: int) -> int:
    """Return the beginning of a name of several words: `meu e-mail é vera lucia 85 arroba uol ponto com`.

    It begins behind a little word, such as `é`, at the beginning of a clause, or behind the last everyday word.
    """
    unknown = first = start
    for _ in range(_MOST_WORDS_BEFORE):
        word = _WORD_BEFORE.search(text, max(least, first - _LONGEST_NAME), first)
        if word is None:
            begins = first == 0 or text[first - 1] in ":=\n" or text[max(first - 2, 0) : first] in {": ", "= "}
            return first if begins else unknown
        joins = word[1] == "e" and _NUMBER_WORD.match(text, first) is not None
        if not joins and (word[1] in _LITTLE_WORDS or word[1] in _INTRODUCING):
            return first
        if unknown == first and (joins or word[1].isdigit() or word[1] in NUMBER_WORDS or word[1] not in known_words()):
            unknown = word.start()
        first = word.start()
    return unknown


def _name_start(text: str, least: int, end: int) -> int:
    first = max(least, end - _LONGEST_NAME)
    start = end
    while start > first and _NAME.match(text, start - 1, start):
        start -= 1
    while start < end and not (text[start].isalnum() or text[start] == "_"):
        start += 1
    return start


def find_urls(text: str) -> tuple[list[Span], list[Span]]:
    """Find the web addresses with a secret, and the others, both without trailing punctuation."""
    secret: list[Span] = []
    plain: list[Span] = []
    for match in _URL.finditer(text):
        url = match[0].rstrip(_CLOSING)
        (secret if _carries_secret(url) else plain).append((match.start(), match.start() + len(url)))
    return secret, plain


def _carries_secret(url: str) -> bool:
    authority = _AUTHORITY.match(url)
    if authority and "@" in authority[1]:
        return True
    behind = url[authority.end() :] if authority else url
    leads = False
    for part in _PART.split(behind):
        name, _, value = part.partition("=")
        name = re.sub(r"[^a-z]", "", name)
        if (value and _SECRET_NAME.fullmatch(name)) or (leads and _CODE.search(part)):
            return True
        leads = not value and _SECRET_STEP.fullmatch(name) is not None
        if any(map(is_cpf, _MAYBE_CPF.findall(part))):
            return True
        if _SECRET_VALUE.search(part) or any(map(_is_random, _LONG.findall(part))):
            return True
    return _OF_A_PHONE.match(url) is not None


def _is_random(text: str) -> bool:
    figures = sum(map(str.isdigit, text))
    return min(figures, len(text) - figures) >= _FEWEST_OF_EACH or (not text.isdigit() and len(text) >= _LONGEST_WORD)
