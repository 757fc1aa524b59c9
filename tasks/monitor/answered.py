"""Detection of answers that are none: nothing, a refusal, an echo, or one of these in the task's form.

The rewards ask less (`tasks.commerce.text.text_form.refuses`), since a word more there changes what a model learns.
Here a doubtful phrase does little harm: the champion's answers to the test split are read in the same way, and only
more of them than there count. But a season's pushes may have more of them, so the phrases are no shop's words.
"""

import re
import unicodedata
from typing import Any, Final

from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.parser import parse_object
from tasks.commerce.text.text_form import MAX_CHARACTERS, REFUSAL_REACH, Phrases, fold, folded_words, refuses

DATA_FILES: Final = ("data/lexicons/declining.txt", "data/lexicons/non_answers.txt")
DECLINING: Final = Phrases("declining")
NON_ANSWERS: Final = frozenset(" ".join(folded_words(fold(text))) for text in read_lexicon("non_answers"))
FEWEST_ECHOED: Final = 6
"""Words of a prompt from which on their repetition is an echo, and no name of a product."""
_VALUE: Final = "none"
"""A value that fields have too: that of no complaint."""
_READS_A_TABLE: Final = re.compile(r"\bfrom\b")


def is_answer(task: TaskName, prompt: str, completion: str) -> bool:
    """Return whether a completion is an answer of any kind, right or wrong.

    Args:
        task: Its task: JSON is read by its values, a query has to read a table.
        prompt: What was asked; its repetition is no answer.
        completion: The completion, however long and hostile.
    """
    text = _visible(completion)
    if _says_nothing(text) or refuses(text):
        return False
    if TASKS[task].answers_in_json and (value := parse_object(completion).value) is not None:
        return _holds_a_value(value)
    folded = fold(text)
    if task == "sql_qa" and folded.lstrip().startswith("select"):
        return bool(_READS_A_TABLE.search(folded))
    if _declines(folded):
        return False
    # Where no score depends on the prompt, equal answers are scored once, whatever was asked.
    return TASKS[task].prompt_is_unread or not _echoes(folded, fold(_visible(prompt)))


def _visible(text: str) -> str:
    """Return a text's beginning without characters that nobody sees, such as a space of no width."""
    normal = unicodedata.normalize("NFKC", text.strip()[:MAX_CHARACTERS])
    if normal.isascii():
        return normal
    return "".join(character for character in normal if unicodedata.category(character) != "Cf")


def _says_nothing(text: str) -> bool:
    words_there = folded_words(fold(text[:REFUSAL_REACH]))
    return not any(map(str.isalnum, text)) or (len(text) < REFUSAL_REACH and " ".join(words_there) in NON_ANSWERS)


def _declines(folded: str) -> bool:
    beginning = folded[:REFUSAL_REACH]
    return DECLINING.are_in(beginning, set(folded_words(beginning)))


def _holds_a_value(value: dict[str, Any]) -> bool:
    """Return whether any text of an object says something; where it has no text, whether any value is known."""
    texts = [each for each in value.values() if isinstance(each, str) and each and each != _VALUE]
    if not texts:
        return any(each is not None and each != "" for each in value.values())
    return not all(_says_nothing(text) or _declines(fold(text)) for text in map(_visible, texts))


def _echoes(folded: str, prompt: str) -> bool:
    said, asked = (" ".join(folded_words(text)) for text in (folded, prompt))
    return said.count(" ") + 1 >= FEWEST_ECHOED and said in asked
