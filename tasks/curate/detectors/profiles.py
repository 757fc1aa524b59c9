"""Addresses and names of people's profiles: `instagram.com/ana.lima92`, `@ana.lima92`, `meu insta é ana.lima92`.

Profiles of shops and brands stay: the words of `data/privacy/companies.txt` in the name, or before it, tell them.
"""

import re
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

from tasks.curate.detectors.context import PLACEHOLDER, Span, holds_any

DATA_FILES: Final = ("data/privacy/companies.txt",)
_REPOSITORY: Final = Path(__file__).parents[3]
_NAME: Final = r"[\w.][\w.-]{1,29}(?:#\d{4})?"
_DOT: Final = r"(?: ?\. ?| ?\(\.\) ?| ponto )"
_SLASH: Final = r"(?: ?[/\\] ?| barra )"
_HOSTS: Final = (
    rf"(?:instagram{_DOT}com|instagr{_DOT}am|ig{_DOT}me|facebook{_DOT}com|fb{_DOT}(?:com|me)|t{_DOT}me"
    rf"|telegram{_DOT}me|tiktok{_DOT}com"
    rf"|twitter{_DOT}com|x{_DOT}com(?!\.br)|threads{_DOT}(?:net|com)|linkedin{_DOT}com{_SLASH}(?:in|pub)"
    rf"|m{_DOT}me|kwai{_DOT}com"
    rf"|snapchat{_DOT}com{_SLASH}add|linktr{_DOT}ee|pinterest{_DOT}com|youtube{_DOT}com(?={_SLASH}(?:@|user/|c/))"
    rf"|wa{_DOT}me|whatsapp{_DOT}com|chat{_DOT}whatsapp{_DOT}com|discord{_DOT}(?:gg|com)|github{_DOT}com|about{_DOT}me"
    rf"|twitch{_DOT}tv|onlyfans{_DOT}com|privacy{_DOT}com{_DOT}br{_SLASH}profile|behance{_DOT}net|soundcloud{_DOT}com"
    rf"|steamcommunity{_DOT}com{_SLASH}id|gitlab{_DOT}com|lattes{_DOT}cnpq{_DOT}br|vk{_DOT}com|[\w-]{{1,40}}{_DOT}com{_DOT}br"
    rf"{_SLASH}perfil|reddit {_SLASH}?(?:u|user)(?={_SLASH})"
    rf"|reddit{_DOT}com{_SLASH}(?:u|user)|bsky{_DOT}app{_SLASH}profile|picpay{_DOT}me|(?:insta|face){_DOT}com"
    rf"|[\w-]{{1,40}}{_DOT}com(?:{_DOT}br)?(?=/@)|instagram|insta|facebook|face|fb|twitter|tiktok|telegram)"
)
_ADDRESS: Final = re.compile(
    rf"(?<![\w@.-])(?:https?:?{_SLASH}{{1,2}})?(?:(?:www|m|pt-br|br|web|l|mobile|vm|api){_DOT})?{_HOSTS}(?:\.br)?"
    rf"{_SLASH}(?:(?:stories|people|user|c|u|s|add){_SLASH}|profile\.php\?id="
    rf"|send/?\?phone=)?(?P<at>@ ?)?\+?(?P<name>{_NAME})[^\s<>\"\])]*"
)
_HAS_SLASH: Final = re.compile(r"[/\\]| barra ")
_HINT: Final = re.compile(
    r"insta|face|fb|ig|t ?\.|m ?\.|wa ?\.|x ?\.|telegram|tiktok|twitter|threads|linked|kwai|snap|linktr|pinter"
    r"|youtube|whats"
    r"|discord|github|about|reddit|bsky|picpay|/@| ponto |twitch|onlyfans|privacy|behance|soundcloud"
    r"|steam|gitlab|lattes|vk ?\.|perfil"
)
_NO_PROFILE: Final = re.compile(
    r"(?:p|reels?|tv|explore|marketplace|groups|events|watch|sharer|share|help|search|hashtag|i|tag|joinchat"
    r"|about|legal"
    r"|terms|privacy|login|home|intent|pages|ads|business|pin|video)(?![\w.])"
)
_HANDLE: Final = re.compile(rf"(?<![\w@])@ ?(?P<name>{_NAME})(?![\w@])")
_NETWORK: Final = (
    r"insta(?:gram)?|ig|tik ?tok|twitter|telegram|facebook|face|threads|kwai|snap(?:chat)?|discord|skype|linkedin"
)
_CUES: Final = (
    *("insta", "tik", "twitter", "telegram", "face", "threads", "kwai", "snap", "discord", "skype", "linkedin"),
    *("@", "arroba", "ig ", "ig:", "ig=", "ig-", "ig,", "ig.", "ig/", "ig(", "ig*", 'ig"', "ig'", "ig>", "ig\t"),
)
_NAMES_OF_NAMES: Final = ("nick", "user", "usuario", "usuário", "perfil", "dm ", "dm:", "direct", "arroba")
_LEAD: Final = (
    r"(?:[ \t:=,./(*\"'>-]|(?:é|eh|e|o|a|no|na|do|da|meu|minha|user|usu[aá]rio|usuario|perfil|pessoal|arroba|nick"
    r"|nome|conta|como"
    r"|pelo|ai|aí)(?![^\W]))"
)
_NAMED: Final = re.compile(
    rf"(?<![^\W_])(?P<mine>meu |minha )?(?:@ (?:do"
    rf"|no) )?(?:{_NETWORK})(?![^\W_])(?P<lead>{_LEAD}{{1,8}}+)(?P<at>@ ?)?(?P<name>{_NAME})"
    r"(?![\w@])"
)
_IS: Final = re.compile(r"(?<![^\W_])(?:é|eh|e|como)(?![^\W_])")
_PLAIN: Final = re.compile(
    rf"(?<![^\W_])(?:me (?:segue|segu[ie]|cham|adicion|ach|procur|mand|marca)\w{{0,3}}|meu|minha|sou)(?: (?:l[aá]"
    rf"|no|na|pelo|o|a|@|arroba))*"
    rf" (?:{_NETWORK}|@|arroba)(?: (?:é|eh|e|como|por))? (?:@ ?"
    rf"|arroba )?(?P<name>[a-z0-9_.]{{6,30}})(?=[ \t]*(?:[,.;!?)\n]|\Z))"
)
_CALLED: Final = re.compile(
    rf"(?<![^\W_])(?:(?P<mine>meu|minha) )?(?:nick(?:name)?|user(?:name)?|usu[aá]rio|perfil(?: del[ae])?|dm|direct)"
    rf"(?: (?:l[aá]|(?:no|do|na) (?:{_NETWORK})))?(?P<is>[ \t]?:|[ \t](?:é|eh)(?![^\W_]))?[ \t]"
    rf"(?P<name>[a-z0-9_.]{{6,30}})(?=[ \t]*(?:[,.;!?)\n]|\Z))"
)
"""A name behind the word for it: `nick ana_lima`, `o perfil dela é analima85`."""
_FOUND_AS: Final = re.compile(
    rf"(?<![^\W_])(?:procur|ach|busc|segu|cham|adicion|marc)\w{{0,4}}(?: (?:por|pelo|pela|como|o|a|l[aá]))*[ \t]"
    rf"(?P<name>[a-z0-9_.]{{6,30}}) (?:no|do|pelo|l[aá] no) (?:{_NETWORK})(?![^\W_])"
)
"""A name before its network: `me procura por ana.lima no instagram`."""
_SPOKEN: Final = re.compile(rf"(?<![^\W_])arroba (?P<name>{_NAME})(?![\w@])")
_MARKED: Final = re.compile(r"[\d_]|[a-z0-9]\.[a-z0-9]")
_OWN: Final = re.compile(
    r"(?<![^\W_])(?:meu|minha|sou|me (?:segue|segu[ie]|cham|adicion|ach|procur|mand|marca)\w{0,3}|comigo)(?![^\W_])"
)
_OF_A_COMPANY: Final = re.compile(
    r"(?<![^\W_])(?:lojas?|marcas?|empresas?|vendedor(?:es|a)?|oficial|fabricante|transportadora|site|p[aá]gina"
    r"|perfil d[aeo]"
    r"|segui(?:r|mos|ndo)?|sigo|marquei|marcar|marcando|influenciador[a]?|blogueir[ao]|canal)"
    r"(?:[ :(,]+(?:o|a|os|as|da|do|de|no|na|oficial|insta|instagram|perfil|p[aá]gina|loja|voc[eê]s|vcs|twitter"
    r"|tiktok|arroba))*[ :(,]*\Z"
)
_PARTS: Final = re.compile(r"[\d_.-]+")
_WINDOW: Final = 40
_LEAST: Final = 3


def find_profile_addresses(text: str) -> list[Span]:
    """Find the addresses of people's profiles."""
    found: list[Span] = []
    if not (_HAS_SLASH.search(text) and _HINT.search(text)):
        return found
    for match in _ADDRESS.finditer(text):
        name = match["name"].strip(".")
        is_own = _OWN.search(text, max(match.start() - _WINDOW, 0), match.start()) is not None
        is_page = match["at"] is None and _NO_PROFILE.match(name)
        if not is_page and not _is_telephone(match) and (is_own or not _is_company(name)):
            found.append((match.start(), match.start() + len(match[0].rstrip(".,;:!?'*"))))
    return found


def find_handles(text: str) -> list[Span]:
    """Find the names of people's profiles, in a text whose addresses are hidden."""
    found: dict[int, Span] = {}
    if "@" in text:
        for match in _HANDLE.finditer(text):
            before = text[max(match.start() - _WINDOW, 0) : match.start()]
            if match[0][1] != " " or _MARKED.search(match["name"].rstrip(".")) or _OWN.search(before):
                _keep(found, match, match.start())
    named = holds_any(text, _CUES)
    for match in _NAMED.finditer(text) if named else ():
        name = match["name"].rstrip(".")
        names_it = ":" in match["lead"] or (match["mine"] and _IS.search(match["lead"]))
        is_name = match["at"] or _MARKED.search(name) or names_it
        if is_name or "arroba" in match["lead"]:
            _keep(found, match, match.start("at") if match["at"] else match.start("name"), is_own=bool(match["mine"]))
    for match in _PLAIN.finditer(text) if named else ():
        _keep(found, match, match.start("name"), is_own=True)
    if named or holds_any(text, _NAMES_OF_NAMES):
        _find_described(text, found)
    return _apart(sorted(found.values()))


def _find_described(text: str, found: dict[int, Span]) -> None:
    """Add the names that words around them tell, without a sign or a network before them."""
    for match in chain(_FOUND_AS.finditer(text), _SPOKEN.finditer(text)):
        if _MARKED.search(match["name"].rstrip(".")):
            _keep(found, match, match.start("name"))
    for match in _CALLED.finditer(text):
        if (match["mine"] and match["is"]) or _MARKED.search(match["name"].rstrip(".")):
            _keep(found, match, match.start("name"))


def _keep(found: dict[int, Span], match: re.Match[str], start: int, *, is_own: bool = False) -> None:
    name = match["name"].rstrip(".")
    end = match.start("name") + len(name)
    if len(name) < _LEAST or name.replace(".", "").isdigit():
        return
    least = max(match.start() - _WINDOW, 0)
    for placeholder in PLACEHOLDER.finditer(match.string, max(least - 12, 0), match.start()):
        least = placeholder.end()
    before = match.string[least : match.start()]
    if is_own or _OWN.search(before) or not (_is_company(name) or _OF_A_COMPANY.search(before)):
        found[end] = (min(start, found.get(end, (start, end))[0]), end)


def _apart(spans: list[Span]) -> list[Span]:
    """Drop the spans that begin within an earlier one."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _is_company(name: str) -> bool:
    words = _company_words()
    return name.startswith(words) or name.endswith(words) or any(part in words for part in _PARTS.split(name))


def _is_telephone(match: re.Match[str]) -> bool:
    """Leave the address of a telephone to the search for web addresses, if it is written as one."""
    return (
        match["name"].strip(".").isdigit()
        and " " not in match[0]
        and ("wa.me" in match[0] or "whatsapp.com" in match[0])
    )


@cache
def _company_words() -> tuple[str, ...]:
    lines = (_REPOSITORY / DATA_FILES[0]).read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))
