"""Addresses and names of people's profiles: `instagram.com/ana.lima92`, `@ana.lima92`, `meu insta é ana.lima92`.

Profiles of shops and brands stay: the words of `data/privacy/companies.txt` in the name, or before it, tell them.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Final

from tasks.personal_data.detectors.context import PLACEHOLDER, Span, holds_any

DATA_FILES: Final = (
    "data/privacy/companies.txt",
    "data/fluency/composed.txt",
    "data/fluency/interfaces.txt",
    "data/fluency/simulated.txt",
)
_REPOSITORY: Final = Path(__file__).parents[3]
_NAME: Final = r"[\w.][\w.-]{1,29}(?:#\d{4})?"
_DOT: Final = r"(?: ?\. ?| ?\(\.\) ?| ponto | (?=com[ /\\]))"
_SLASH: Final = r"(?: ?[/\\] ?| barra )"
_HOSTS: Final = (
    rf"(?:instagram{_DOT}com|instagr{_DOT}am|ig{_DOT}me|facebook{_DOT}com|fb{_DOT}(?:com|me)|t{_DOT}me"
    rf"|telegram{_DOT}me|tiktok{_DOT}com"
    rf"|twitter{_DOT}com|x{_DOT}com(?!\.br)|threads{_DOT}(?:net|com)|linkedin(?:{_DOT}com)?{_SLASH}(?:in|pub)"
    rf"|m{_DOT}me|kwai{_DOT}com"
    rf"|snapchat{_DOT}com{_SLASH}add|linktr{_DOT}ee|pinterest{_DOT}com|youtube{_DOT}com(?={_SLASH}(?:@|user/|c/))"
    rf"|wa{_DOT}me|whatsapp{_DOT}com|chat{_DOT}whatsapp{_DOT}com|discord{_DOT}(?:gg|com)|github{_DOT}com|about{_DOT}me"
    rf"|twitch{_DOT}tv|onlyfans{_DOT}com|privacy{_DOT}com{_DOT}br{_SLASH}profile|behance{_DOT}net|soundcloud{_DOT}com"
    rf"|steamcommunity{_DOT}com{_SLASH}id|gitlab{_DOT}com|lattes{_DOT}cnpq{_DOT}br|vk{_DOT}com"
    rf"|[\w-]{{1,40}}{_DOT}com{_DOT}br{_SLASH}(?:perfil|usuario|profile)|beacons{_DOT}ai|bio{_DOT}link|wa{_DOT}link"
    rf"|reddit(?: {_SLASH}?|{_DOT}com{_SLASH})(?:u|user)(?={_SLASH})"
    rf"|bsky{_DOT}app{_SLASH}profile|picpay{_DOT}me|(?:insta|face){_DOT}com"
    rf"|[\w-]{{1,40}}{_DOT}com(?:{_DOT}br)?(?=/@)|instagram|insta|facebook|face|fb|twitter|tiktok|telegram)"
)
_ADDRESS: Final = re.compile(
    rf"(?<![\w@.-])(?:https?:?{_SLASH}{{1,2}})?(?:(?:www|m|pt-br|br|web|l|mobile|vm|api){_DOT})?{_HOSTS}(?:\.br)?"
    rf"(?:{_SLASH}|(?<=[/ ]in) )(?:(?:stories|people|user|c|u|s|add){_SLASH}|profile\.php\?id="
    rf"|send/?\?phone=)?(?P<at>@ ?)?\+?(?P<name>{_NAME})[^\s<>\"\])]*"
)
_HAS_SLASH: Final = re.compile(r"[/\\]| barra ")
_HINT: Final = re.compile(
    r"insta|face|fb|ig|t ?\.|m ?\.|wa ?\.|x ?\.|telegram|tiktok|twitter|threads|linked|kwai|snap|linktr|pinter"
    r"|youtube|whats"
    r"|discord|github|about|reddit|bsky|picpay|/@| ponto |twitch|beacons|bio|onlyfans|privacy|behance|soundcloud"
    r"|steam|gitlab|lattes|vk ?\.|perfil"
)
_NO_PROFILE: Final = re.compile(
    r"(?:p|reels?|tv|explore|marketplace|groups|events|watch|sharer|share|help|search|hashtag|i|tag|joinchat"
    r"|about|legal|terms|privacy|login|home|intent|pages|ads|business|pin|video)(?![\w.])"
)
_HANDLE: Final = re.compile(rf"(?<![\w@])@ ?(?P<name>{_NAME})(?![\w@])")
_NETWORK: Final = (
    r"i[ns]{1,2}tr?agr?a[mn]|insta|ig|tik ?tok|tt|twitter|telegram|facebook|face|fb|threads|kwai|snap(?:chat)?|discord"
    r"|skype|linkedin|bluesky|psn|steam|gamertag|roblox|twitch|pinterest|onlyfans|badoo|tinder|youtube|📷|📸"
)
_CUES: Final = (
    *("insta", "ig", "tik", "tt", "twitter", "telegram", "face", "fb", "threads", "kwai", "snap", "discord", "skype"),
    *(
        "linkedin",
        "bluesky",
        "psn",
        "steam",
        "gamertag",
        "roblox",
        "twitch",
        "pinterest",
        "onlyfans",
        "badoo",
        "tinder",
    ),
    *("youtube", "📷", "📸", "gram", "gran", "nick", "apelido", "user", "usu", "perfil", "dm", "direct", "arroba"),
    *("me ", "@ é", "@ eh", "@:", "eu @", "o @ d", "login", "xbox", "segu", "siga", "procur", "busc"),
)
_NETWORKS: Final = re.compile(rf"(?<![^\W_])(?:{_NETWORK})(?![^\W_])")
_CUE: Final = re.compile(
    rf"(?<![^\W_])(?:(?P<network>{_NETWORK})|"
    r"(?P<word>nick(?:name)?|apelido|user(?:name)?|usu[aá]rio|login|xbox|perfil|dms?|direct|arroba"
    r"|(?<=[ms]eu )@(?=[ :=\n])|(?<=o )@(?= d)|(?<!\w)@(?=:| (?:é|eh) ))"
    r"|(?P<follow>me (?:add?|segu[ei]\w{0,3}|(?:cham|adicion|ach|procur|mand|marc|marqu)\w{0,3})"
    r"|(?:segue|segui|sigam?|segu[ei]r|procur\w{1,3}|busc\w{1,3}) (?=l[aá][ :]|(?:no|o|por|pelo) )))(?![^\W_]|\.\w)"
)
"""Words that a name may follow: its network, a word for a name, an invitation."""
_LEAD: Final = re.compile(
    r"(?:[ \t:=,;./(*\"'>?\U0001f3fb-\U0001f4ff-]|\n(?:[^\W\d_]{2,15}(?: [^\W\d_]{2,15})?[:>])?|@ (?=d[oe] |n[oa] "
    r"|[ée] )|(?:é|eh|e|o|a|em|no|na|do|da|de|l[aá]|aqui|meu|minha|del[ea]"
    r"|filh[oa]|marido|esposa|irm[aã]o?|m[aã]e|pai|amig[oa]|user|usu[aá]rio|perfil|pessoal|arroba|nick|nome|conta|como"
    r"|pel[oa]|por|pr[oa]|ai|aí|sou|t[aá]|est[aá]|estou|t[oô]|me|chamo|tudo junto|ml|mercado livre|direct|dm|id"
    rf"|{_NETWORK})(?![^\W]|\.\w)){{1,12}}"
)
_NAMED: Final = re.compile(
    rf"(?P<at>@ ?)?(?P<name>(?:live:)?{_NAME}(?: (?:under ?line|under ?score|ponto) [a-z0-9]{{2,20}})*)(?![\w@])"
)
_AMBIGUOUS: Final = re.compile("face|tt|fb|steam|snap")
_IS: Final = re.compile(r":|=|(?<![^\W_])(?:é|eh|como|sou|arroba)(?![^\W_])")
_CLAUSE_END_BEFORE: Final = re.compile(r"[!?;\n]|\.[ \n]")
_CLAUSE_END: Final = re.compile(r"[ \t]*(?:[,.;!?)\n]|\Z)")
_FOUND_AS: Final = re.compile(
    rf"(?<![\w.@])(?P<name>(?:@ )?[a-z0-9_.]{{5,30}})(?: (?:(?:no|do|pelo|l[aá] no) (?:meu )?"
    rf"|[(](?:meu )?)(?:{_NETWORK})"
    rf"|,? (?:ess?e |este )?(?:é|eh) (?:o )?meu (?:{_NETWORK}|usu[aá]rio|user|nick|perfil|arroba|@))(?![^\W_])"
)
"""A name before its network: `me procura por ana.lima no instagram`, `ana.lima é meu insta`."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_ENDING: Final = re.compile(r"\.(?:com|net|org|br|app|shop|store|online)\b")
_OWN: Final = re.compile(
    r"(?<![^\W_])(?:meu|minha|sou|cmg|comigo|me (?:add?|segu[ei]|cham|adicion|ach|procur|mand|marc)\w{0,3})(?![^\W_])"
)
_OF_A_COMPANY: Final = re.compile(
    r"(?<![^\W_])(?:lojas?|marcas?|empresas?|oficial|fabricante|transportadora|site|p[aá]gina)"
    r"(?:[ :(,]+(?:o|a|os|as|da|do|de|no|na|oficial|insta|instagram|perfil|p[aá]gina|loja|voc[eê]s|vcs|twitter"
    r"|tiktok|arroba))*[ :(,]*\Z"
)
_PARTS: Final = re.compile(r"[\d_.-]+")
_WINDOW: Final = 40
_LEAST: Final = 3
_LEAST_OF_A_WORD: Final = 6
_SURE: Final = 2


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
            if match[0][1] != " " or shape_of(match["name"]) or _OWN.search(before):
                _keep(found, match, match.start(), before)
    if not holds_any(text, _CUES):
        return _apart(sorted(found.values()))
    for cue in _CUE.finditer(text):
        lead = _LEAD.match(text, cue.end())
        named = _NAMED.match(text, lead.end()) if lead else None
        if lead and named and (not named["at"] or cue["network"]):
            before = text[max(cue.start() - _WINDOW, 0) : named.start()]
            if named["at"] or _is_name(named, cue, lead[0], before):
                _keep(found, named, named.start(), before[: -len(lead[0])], is_own=_OWN.search(before) is not None)
    for match in _FOUND_AS.finditer(text):
        if match["name"].startswith("@") or shape_of(match["name"]):
            _keep(found, match, match.start("name"), text[max(match.start() - _WINDOW, 0) : match.start()])
    return _apart(sorted(found.values()))


def shape_of(name: str) -> int:
    """Return how much a word looks like a name of a profile: 2 by `_`, `#` or joined unknown words, 1 by a digit."""
    letters = _LETTERS.findall(name)
    if sum(map(len, letters)) < _LEAST or _ENDING.search(name):
        return 0
    if "_" in name or "#" in name or " " in name:
        return 2
    if "." in name.strip(".") and not known_words().issuperset(letters):
        return 2
    return int(len(letters) > 1 or name[-1].isdigit() or name[0].isdigit())


def _is_name(match: re.Match[str], cue: re.Match[str], lead: str, before: str) -> bool:
    """Return whether a word behind a cue is a name: by its shape, or a word of no dictionary that is said to be one."""
    name = match["name"].rstrip(".")
    shape = shape_of(name)
    if " ponto " in name and _IS.search(lead) is None:
        return False
    if "\n" in lead and not (shape and _CLAUSE_END.match(match.string, match.end())):
        return False
    if shape == _SURE:
        return True
    near = cue["network"] is not None or _NETWORKS.search(lead) is not None
    says = _IS.search(lead) is not None or cue["follow"] is not None or cue[0] == "arroba"
    if shape:
        ends = _CLAUSE_END.match(match.string, match.end()) is not None
        return near or (ends and len(name) >= _LEAST_OF_A_WORD)
    is_word = not (name.isascii() and name.isalpha()) or name in known_words() or len(name) < _LEAST_OF_A_WORD
    if is_word or not says:
        ends = _CLAUSE_END.match(match.string, match.end()) is not None
        return not is_word and ends and cue["network"] is not None and not _AMBIGUOUS.fullmatch(cue[0])
    return near or cue[0] == "arroba" or (cue["word"] is not None and _OWN.search(before) is not None)


def _keep(found: dict[int, Span], match: re.Match[str], start: int, before: str, *, is_own: bool = False) -> None:
    name = match["name"].rstrip(".")
    end = match.start("name") + len(name)
    if len(name) < _LEAST or name.replace(".", "").isdigit():
        return
    before = _CLAUSE_END_BEFORE.split(PLACEHOLDER.split(before)[-1])[-1]
    if name in _company_words()[2]:
        return
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
    words, brands, _ = _company_words()
    parts = _PARTS.split(name)
    return name.startswith(words) or name.endswith(words) or not {*words, *brands}.isdisjoint(parts)


def _is_telephone(match: re.Match[str]) -> bool:
    """Leave the address of a telephone to the search for web addresses, if it is written as one."""
    return (
        match["name"].strip(".").isdigit()
        and " " not in match[0]
        and ("wa.me" in match[0] or "whatsapp.com" in match[0])
    )


@cache
def known_words() -> frozenset[str]:
    """Return the everyday words that the model of word order was made of, without accents: none is a person's name."""
    text = "\n".join(_REPOSITORY.joinpath(file).read_text(encoding="utf-8").lower() for file in DATA_FILES[1:])
    plain = unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode()
    return frozenset({*_LETTERS.findall(text), *_LETTERS.findall(plain)})


@cache
def _company_words() -> tuple[tuple[str, ...], tuple[str, ...], frozenset[str]]:
    """Return the words that tell a company's name at either end, the brands, which are whole parts, and whole names."""
    lines = (_REPOSITORY / DATA_FILES[0]).read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if line and not line.startswith("#")]
    brands = tuple(entry.removeprefix("=") for entry in entries if entry.startswith("="))
    whole = frozenset(entry.removeprefix("@") for entry in entries if entry.startswith("@"))
    return tuple(entry for entry in entries if entry[0] not in "=@"), brands, whole
