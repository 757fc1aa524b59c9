"""Words of an analysis: an analyst's, those of general Portuguese, and the conjugation of an analyst's verbs.

Words of the prompt, of an analyst and of general Portuguese are free. Any other word is strange, and a strange name
with a capital letter counts twice.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold
from tasks.commerce.text.vocabulary import Vocabulary

DATA_FILES: Final = (
    "data/lexicons/advice_objects.txt",
    "data/lexicons/advice_verbs.txt",
    "data/lexicons/analyst_verbs.txt",
    "data/lexicons/analyst_words.txt",
    "data/lexicons/general_words.txt",
    "data/lexicons/verdicts.txt",
)

_ENDINGS: Final = {
    "ar": "ar a am ou aram e em ando ado ada ados adas o amos emos ei ava avam arem aria ariam ara arao asse assem",
    "er": "er e em eu eram a am endo ido ida idos idas o emos amos i ia iam erem eria eriam era erao esse essem",
    "ir": "ir e em iu iram a am indo ido ida idos idas o imos amos i ia iam irem iria iriam ira irao isse issem",
}
_IRREGULAR: Final = {
    "ser": "e sao era eram foi foram seja sejam sera serao seria sendo sido fosse fossem",
    "estar": "esta estao estava estavam esteve estiveram esteja estejam",
    "ter": "tem tinha tinham teve tiveram tenha tenham tivesse",
    "haver": "ha houve havia haja",
    "ir": "vai vao foi foram ia iam indo ido va",
    "vir": "vem veio vieram vinha vindo venha",
    "poder": "pode podem pude puderam possa possam pudesse poderia poderiam",
    "caber": "cabe cabem coube",
    "querer": "quer querem quis queira queiramos queremos",
    "saber": "sabe sabem soube saiba saibamos",
    "dizer": "diz dizem disse disseram diga",
    "trazer": "traz trazem trouxe trouxeram traga",
    "fazer": "faz fazem fez fizeram faca facam feito feita feitos fazemos facamos",
    "dar": "da dao deu deram de deem demos",
    "ver": "ve veem viu viram veja vejam visto vemos vista",
    "rever": "reveja revejam revisto revemos",
    "manter": "mantem mantinha manteve mantiveram mantenha mantenham mantido",
    "conter": "contem conteve contenha",
    "reter": "retem reteve retenha",
    "sustentar": "sustentacao",
    "valer": "vale valem valha",
    "convir": "convem conveio convenha",
    "cair": "cai caem caiu cairam caia caiam caindo caido",
    "sair": "sai saem saiu sairam saia saiam saindo saido",
    "atrair": "atrai atraem atraiu atrairam atraia atraindo atraido",
    "reduzir": "reduz",
    "produzir": "produz",
    "subir": "sobe sobem",
    "repor": "repoe reponha",
    "propor": "propoe propoem propos proponha",
    "compor": "compoe compoem compos",
    "pedir": "peca pecam peco",
    "medir": "meca mecam",
    "ouvir": "ouca oucam",
    "seguir": "siga sigam sigo",
    "sugerir": "sugira sugiro sugiram",
    "investir": "invista invistam invisto",
    "divergir": "divirja",
    "repetir": "repita repitam",
    "cobrir": "cubra cobrem",
    "ler": "leia leem leu",
    "descobrir": "descubra",
    "converter": "converta",
    "perder": "perca perde",
    "equivaler": "equivale equivalem",
    "satisfazer": "satisfaz satisfeito satisfeitos satisfeita satisfeitas",
    "incluir": "inclui incluem inclua",
    "contribuir": "contribui contribuem",
    "atribuir": "atribui",
    "diminuir": "diminui diminuem diminua",
    "distribuir": "distribui distribua",
    "substituir": "substitui substitua",
    "influir": "influi influem",
    "requerer": "requer requerem",
    "aproveitar": "aproveitamento",
}
_SPELLED: Final = {"car": "qu", "gar": "gu", "çar": "c", "ger": "j", "gir": "j", "cer": "c"}


@lru_cache(maxsize=4_096)
def forms(infinitive: str) -> frozenset[str]:
    """Return the folded forms of a Portuguese verb: all of the regular ones, and the irregular ones that are known."""
    plain = fold(infinitive)
    root, end = plain[:-2], plain[-2:]
    found = {f"{root}{ending}" for ending in _ENDINGS.get(end, "").split()}
    respelled = _SPELLED.get(infinitive[-3:])
    if respelled:
        found |= {f"{root[:-1]}{respelled}{ending}" for ending in ("e", "em", "ei", "emos", "a", "am", "amos", "o")}
    if plain.endswith(("iar", "ear")):
        found |= {f"{root[:-1]}{ending}" for ending in ("eia", "eie", "eiam", "eiem")}
    return frozenset(found | {plain} | set(_IRREGULAR.get(plain, "").split()))


def verbs_of(lexicon: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines `class = words` of a word list."""
    for line in read_lexicon(lexicon):
        name, _, entries = line.partition(" = ")
        yield name, entries.split()


def word_classes(lexicon: str) -> dict[str, frozenset[str]]:
    """Return the folded words of each line `class = words` of a word list."""
    return {name: frozenset(map(fold, entries)) for name, entries in verbs_of(lexicon)}


_LISTS: Final = ("advice_objects", "advice_verbs", "analyst_verbs", "analyst_words", "table_columns")
_WORDS: Final = Vocabulary(*_LISTS)
_ALL_WORDS: Final = Vocabulary(*_LISTS, "general_words")


VERDICTS: Final = frozenset(fold(word) for line in read_lexicon("verdicts") for word in line.split())
"""Words of a plain verdict, which needs no number."""
CONDITIONALS: Final = frozenset(
    form
    for lexicon in ("advice_verbs", "analyst_verbs")
    for line in read_lexicon(lexicon)
    for verb in line.rpartition(" = ")[2].split()
    for form in forms(verb)
    if form.endswith(("ria", "riam"))
)
"""What something would do: `resolveria`."""


def is_known(word: str) -> bool:
    """Return whether a folded word is an analyst's, in any form."""
    return word in _WORDS


def strange_words(text_words: Sequence[str], allowed: AbstractSet[str]) -> list[str]:
    """Return the words that are neither an analyst's, nor general Portuguese, nor allowed."""
    return _ALL_WORDS.unknown(text_words, allowed)


def names_among(text: str, folded: str, strange: Sequence[str]) -> int:
    """Count the strange words that a text writes with a capital letter inside a sentence."""
    wanted = {word for word in strange if text.count(word) != folded.count(word)}
    if not wanted:
        return 0
    found = set()
    pieces = text.split()
    for place in [place for place, word in enumerate(pieces) if place and not word.islower()]:
        plain = pieces[place].strip("*_\"'(),.;:!?#-")
        if plain[:1].isupper() and pieces[place - 1][-1:] not in ".!?:#-*" and fold(plain) in wanted:
            found.add(plain)
    return len(found)
