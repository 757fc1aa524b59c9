"""Grammar of a query: one SELECT over the tables and columns that the prompt names, which SQLite can always prepare.

It is made from those tables, since which columns may stand in a query depends on the tables that it reads. Each set of
tables that can be joined has rules of what stands behind FROM, and the items before it are chains that remember which
tables they read. Names are bare where USING joins, and qualified by one alias a table where ON does; an inner query in
FROM gives one of a few lists of names. The rules themselves are data (`data/grammars/sql_qa.toml`).

Nothing is recursive. A query is written as the references are. Left out are WITH, EXISTS and other subqueries that
refer to the outer one, joins in subqueries of a condition and with a subquery, `||`, `group_concat`, names of the query
in its own ORDER BY, and set operations but of single columns of a table.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any, Final, NamedTuple

from schemas.errors import InputError
from tasks.commerce.sql_qa.sandbox import KEYS, TABLES
from tasks.commerce.text.lexicons import read_data, read_lexicon
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = (
    "data/grammars/sql_qa.toml",
    "data/lexicons/query_names.txt",
    "data/lexicons/query_words.txt",
    "data/lexicons/sql_keywords.txt",
)
SHORTEST_WORD: Final = 3
KEPT_WORDS: Final = frozenset(("index", "table", "unique"))
MOST_READ: Final = 3  # Tables whose columns the items of a query name; of an inner query one less.
MOST_JOINED: Final = 5  # Tables that USING joins: a question of the bank needs as many.
MOST_ALIASED: Final = 3
MOST_MEANS: Final = 2
"""Numbers of a table that an inner query gives beside their mean: each takes a place in the first token's mask."""
_TIME: Final = re.compile(r"_(?:timestamp|date)$")
_TEXT: Final = re.compile(r"_(?:id|status|type|state|city|name|english|prefix|title|message)$|^(?:name|state)$")
_COUNTED: Final = frozenset(("number", "time"))
_LAST: Final = "windowed"
_INNER: Final = "_n"  # Beginning of the suffixes of inner queries: over what they give is no window.
_OF_ONE_TABLE: Final = frozenset(("plain", "mean"))
_WITHOUT_TABLE: Final = {"said": "counted", "measure": "counted", "window": 'RANK " OVER ()"'}

Kinds = Mapping[str, Sequence[str]]
Tables = Mapping[str, Sequence[str]]


class _Source(NamedTuple):
    """What a FROM reads."""

    suffix: str
    rows: frozenset[str]
    text: str


def sql_grammar(system: str) -> str:
    """Return the grammar of a query on the tables that a system prompt names; InputError where it names none."""
    rules = _read_rules()
    shown = re.findall(r"\b(\w+)\(([\w, ]+)\)", system)
    tables = {name: columns.split(", ") for name, columns in shown if name in TABLES}
    if not tables:
        raise InputError(f"a SQL grammar needs a prompt with tables, as in {TABLES[0]}(order_id), and found none")
    aliases = _aliases(tables)
    kinds = {f"_{aliases[name]}": _kinds(columns) for name, columns in tables.items()}
    lines = [rules["query"], f"NAME: /{_name_of({name for columns in tables.values() for name in columns})}"]
    lines += [rules["one"].replace("{x}", f"_{aliases[name]}").replace("{table}", name) for name in tables]
    lines.append(f"one: {' | '.join(f'one{suffix}' for suffix in kinds)}")
    joined, aliased = list(_joined(tables, aliases)), list(_aliased(tables, aliases))
    pairs = sorted({pair for source in joined for pair in combinations(sorted(source.rows), 2)})
    lines += [_rules_of_pair(*pair, kinds) for pair in pairs]
    chains = _Chains(joined, pairs, MOST_READ - 1)
    given: list[_Source] = []
    for number, (names, starts) in enumerate(_given(chains, dict(kinds))):
        suffix = f"{_INNER}{number}"
        kinds[suffix] = _kinds(names)
        given.append(_Source(suffix, frozenset((suffix,)), f'"(SELECT " ({" | ".join(starts)}) ")" (" t" | " AS t")?'))
    lines.append(f"inner: {' | '.join(chains.add(start, steps) for start, steps in rules['counted'].items())}")
    kinds |= {f"_q{aliases[name]}": _kinds(columns, f"{aliases[name]}.") for name, columns in tables.items()}
    sources = [*joined, *aliased, *given]
    outer = _Chains(sources, pairs, MOST_READ)
    items, *grouped = (outer.add(start, steps) for start, steps in rules["chains"].items())
    lines.append(f'query: "DISTINCT "? {items} | {" | ".join(grouped)} | "*" {outer.end(["rows_end"], frozenset())}')
    lines += [*chains.rules(), *outer.rules()]
    lines += [_rules_of_table(suffix, columns) for suffix, columns in kinds.items()]
    lines += [_rules_of_source(source) for source in sources]
    return "\n".join(lines)


@cache
def _read_rules() -> dict[str, Any]:
    return read_data("grammars/sql_qa.toml")


def _given(chains: "_Chains", kinds: Mapping[str, Kinds]) -> Iterator[tuple[Sequence[str], list[str]]]:
    """Yield the names of each inner query and the rules that give them: the fixed ones, and a number with its mean."""
    readers: dict[str, list[str]] = {}
    for suffix, columns in kinds.items():
        for column in columns.get("number", ())[:MOST_MEANS]:
            readers.setdefault(column, []).append(suffix)
    for number, inner in enumerate(_read_rules()["inner"]):
        yield inner["names"], [chains.add(f"given{number}_{place}", each) for place, each in enumerate(inner["chains"])]
    for column, suffixes in readers.items():
        ends = {suffix: chains.end(["source"], frozenset((suffix,))) for suffix in suffixes}
        yield (column, "mean"), [f'mean_{column}{suffix} " AS mean" {end}' for suffix, end in ends.items()]


class _Chains:
    """Chains of items: behind each, FROM names all tables that the items so far read."""

    def __init__(self, sources: Sequence[_Source], pairs: Iterable[tuple[str, str]], most: int) -> None:
        self._sources = sources
        sizes = product(sources, range(most + 1))
        self._readable = {frozenset(read) for source, size in sizes for read in combinations(source.rows, size)}
        singles = sorted({row for source in sources for row in source.rows})
        self._reads = [frozenset(read) for read in ((), *((row,) for row in singles), *pairs)]
        self._rules: dict[str, str] = {}

    def rules(self) -> list[str]:
        """Return the rules of the chains that were added."""
        return [f"{name}: {text}" for name, text in self._rules.items()]

    def add(self, start: str, steps: Sequence[Sequence[str]]) -> str:
        """Add a chain, and return the name of its rule."""
        reached = {frozenset[str](): start}
        for place, (kinds, name, *ends) in enumerate(steps):
            behind: dict[frozenset[str], str] = {}
            for before, rule in reached.items():
                ways: list[str] = []
                for kind, read in product(kinds.split(), self._reads):
                    item, after = _item(kind, read), before | read
                    if item and after in self._readable:
                        if kind != _LAST:
                            behind.setdefault(after, f"{start}{place}{_suffix(after)}")
                        ways.append(f"{item} {name} {self.end(ends, after) if kind == _LAST else behind[after]}")
                self._rules[rule] = " | ".join(ways)
            for read, rule in behind.items():
                more = f'", " {rule}m' if place + 1 < len(steps) else ""
                self._rules[rule] = " | ".join(filter(None, (self.end(ends, read), more)))
            reached = {read: f"{rule}m" for read, rule in behind.items()}
        return start

    def end(self, ends: Sequence[str], read: frozenset[str]) -> str:
        """Return the rule of what follows items that read these tables; empty where an item must follow."""
        name = f"to_{'_or_'.join(ends)}{_suffix(read)}" if ends else ""
        if ends and name not in self._rules:
            fits = [source.suffix for source in self._sources if read <= source.rows]
            self._rules[name] = f"FROM ({' | '.join(f'{end}{suffix}' for end in ends for suffix in fits)})"
        return name


def _item(kind: str, read: frozenset[str]) -> str:
    """Return the rule of an item that reads these tables; empty if there is none."""
    suffix = _suffix(read)
    if not read:
        return _WITHOUT_TABLE.get(kind, "")
    if (kind in _OF_ONE_TABLE and len(read) > 1) or (kind == _LAST and suffix.startswith(_INNER)):
        return ""
    return f"{kind}{suffix}"


def _suffix(rows: Iterable[str]) -> str:
    return "".join(sorted(rows))


def _kinds(columns: Iterable[str], before: str = "") -> dict[str, list[str]]:
    """Return the columns by their kind, each as a query names it."""
    found: dict[str, list[str]] = {}
    for column in columns:
        kind = "time" if _TIME.search(column) else "text" if _TEXT.search(column) else "number"
        found.setdefault(kind, []).append(f"{before}{column}")
    return found


def _rules_of_table(suffix: str, kinds: Kinds) -> str:
    known = _read_rules()
    counts = bool(kinds.keys() & _COUNTED)
    found = {"result": ["NUMBER", "LABEL"], "flag": ["null{x}"], "test": ["flag{x}"], "column": list[str]()}
    for kind in (*kinds, "counted") if counts else kinds:
        for rule, text in known["kind"][kind].items():
            found.setdefault(rule, []).append(" ".join(text.split()))
    for kind, columns in kinds.items():
        found[f"{kind}_column"] = [f"/({'|'.join(columns)})/".replace(".", "\\.")]
        found["column"].append(f"{kind}_column{{x}}")
    for column in kinds.get("number", ())[:MOST_MEANS]:
        if "." not in column:
            found[f"mean_{column}"] = [f'"{column}, " AGGREGATE "{column})" (" OVER ()" | over{{x}})']
    rules = (f"{rule}{{x}}: {' | '.join(texts)}" for rule, texts in found.items())
    text = "\n".join((*rules, known["table"], known["time"] if "time" in kinds else ""))
    return text.replace("{gap}", known["gap"] if counts else "").replace("{x}", suffix)


def _rules_of_pair(one: str, other: str, kinds: Mapping[str, Kinds]) -> str:
    known = _read_rules()
    text: str = known["both"]
    for rule, of_pair in known["pair"].items():
        turned = of_pair.replace("{x}", "{w}").replace("{y}", "{x}").replace("{w}", "{y}")
        text = text.replace(f"{{{rule}}}", " ".join(f"{of_pair} | {turned}".split()))
    counts = (row for row in (one, other) if kinds[row].keys() & _COUNTED)
    gaps = (known["gap"].replace("number{x}", f"number{row}").replace("{x}", "{z}") for row in counts)
    return text.replace("{gap}", "".join(gaps)).replace("{x}", one).replace("{y}", other).replace("{z}", one + other)


def _rules_of_source(source: _Source) -> str:
    text = f"{_read_rules()['source']}from{{s}}: {source.text}"
    for rule in ("column", "plain", "rounded", "test"):
        text = text.replace(f"{{{rule}}}", " | ".join(f"{rule}{row}" for row in sorted(source.rows)))
    return text.replace("{s}", source.suffix)


def _joined(tables: Tables, aliases: Mapping[str, str]) -> Iterator[_Source]:
    """Yield the sets of tables that USING joins, each set after those that it extends."""
    known: dict[frozenset[str], str] = {}
    for size in range(1, MOST_JOINED + 1):
        for names in combinations(tables, size):
            steps = [f'"{names[0]}"'] if size == 1 else []
            for name in names if size > 1 else ():
                before = frozenset(names) - {name}
                shared = set(tables[name]) & {column for other in before for column in tables[other]}
                if before in known and len(shared) == 1 and shared <= set(KEYS):
                    steps.append(f'from{known[before]} JOIN "{name}" " USING ({shared.pop()})"')
            if steps:
                suffix = known[frozenset(names)] = f"s{len(known)}"
                yield _Source(suffix, frozenset(f"_{aliases[name]}" for name in names), " | ".join(steps))


def _aliased(tables: Tables, aliases: Mapping[str, str]) -> Iterator[_Source]:
    """Yield the sets of tables that ON joins, each set after those that it extends."""
    known: dict[frozenset[str], str] = {}
    for size in range(1, MOST_ALIASED + 1):
        for names in combinations(tables, size):
            named = {name: f'"{name}" (" {aliases[name]}" | " AS {aliases[name]}")' for name in names}
            steps = list(named.values()) if size == 1 else []
            for name, other in ((name, other) for name in names for other in names if name != other):
                before = frozenset(names) - {name}
                for key in sorted(set(tables[name]) & set(tables[other]) & set(KEYS)) if before in known else ():
                    ends = (f"{aliases[name]}.{key}", f"{aliases[other]}.{key}")
                    on = " | ".join(f'" ON {left} = {right}"' for left, right in (ends, ends[::-1]))
                    steps.append(f"from{known[before]} JOIN {named[name]} ({on})")
            if steps:
                suffix = known[frozenset(names)] = f"q{len(known)}"
                yield _Source(suffix, frozenset(f"_q{aliases[name]}" for name in names), " | ".join(steps))


def _aliases(tables: Iterable[str]) -> dict[str, str]:
    """Return one short alias for each table: its first letter, or as many as no other has."""
    found: dict[str, str] = {}
    for name in tables:
        length = next(length for length in range(1, len(name) + 1) if name[:length] not in found.values())
        found[name] = name[:length]
    return found


def _name_of(columns: Iterable[str]) -> str:
    keywords = {*read_lexicon("sql_keywords"), *KEPT_WORDS}
    words = {fold(word) for word in (*read_lexicon("query_names"), *read_lexicon("query_words"))}
    known = sorted(word for word in words if len(word) >= SHORTEST_WORD and word not in keywords and word.isalpha())
    word = f"({'|'.join(known)})"
    return f"{word}(_{word})?/ & ~/({'|'.join(sorted(columns))})/"
