"""Bugs of insights and push."""

from typing import Final

from schemas.tasks import TaskName
from tasks.audit.mutations.breaking import SPEC, Mutant, edit, replace_attribute, replace_entry, wrap
from tasks.commerce.insights import scorer as insights
from tasks.commerce.push import scorer as push
from tasks.commerce.reward import Reference, Score, Scorer
from tasks.commerce.sql_qa.sandbox import Databases

PROSE_TASKS: Final[tuple[TaskName, ...]] = ("insights", "push")


def _guessed_task(whole: Scorer) -> Scorer:
    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        if "campanha" not in completion:
            return whole(completion, prompt, reference, databases)
        scored = push.score(completion, prompt, reference, databases)
        return Score(dict(zip(insights.WEIGHTS, scored.components.values(), strict=False)))

    return score


PROSE: Final = (
    Mutant(
        "quoting the prompt is free",
        "Lines of the prompt, its table and its labels count as the answer's own.",
        PROSE_TASKS,
        (
            edit("text.text_form:originality", ("    theirs = _runs_of(sources)", "    return 1.0\n    theirs = ()")),
            edit("insights.scorer:own_lines", ('    lines = text.split("\\n")', "    return text")),
            edit("push.scorer:_talks", ("len(present & _LABELS) > 1 or ", "")),
        ),
    ),
    Mutant(
        "quoting the prompt is paid",
        "What is copied from the prompt counts, and what is not does not.",
        PROSE_TASKS,
        (edit("text.text_form:originality", ("return 1.0", "return 0.0"), ("0.9, 0.5)", "0.0, 0.5)")),),
    ),
    Mutant(
        "heaps of keywords are sentences",
        "Words need neither articles nor prepositions to be prose.",
        (*PROSE_TASKS, "churn"),
        (
            edit(
                "text.text_form:fluency",
                (
                    "binding * ramp(longest, 11, 7) * ramp(novelty, 0.3, 0.42) * _portuguese(kinds)",
                    "_portuguese(kinds)",
                ),
                ("sentences * _in_order(folded_words) if sentences", "sentences if sentences"),
            ),
        ),
    ),
    Mutant(
        "any words",
        "Words that the closed lists do not have cost nothing.",
        ("extraction", *PROSE_TASKS, "churn"),
        (edit("text.vocabulary:Vocabulary.unknown", ("    foreign = [", "    return []\n    foreign = [")),),
    ),
    Mutant(
        "accents stripped from references only",
        "References lose their accents, and answers keep theirs.",
        PROSE_TASKS,
        (
            edit("insights.scorer:score", ('lower_case(ORDINAL.sub("", text) if ordinals else text)', "text.lower()")),
            edit("push.scorer:score", ("folded = fold(text)", "folded = text.lower()")),
        ),
    ),
    Mutant(
        "capitals matter",
        "Plain text is not put into small letters before it is compared.",
        PROSE_TASKS,
        (edit("text.text_form:fold", ("return text.lower()", "return text")),),
    ),
)

_IDLE_IS_FREE: Final = edit(
    "insights.idleness:Idleness.left",
    ("IDLE_STRANGE**self.idle_strange * IDLE**self.idle * UNPROVED**self.unproved", "1.0"),
)

INSIGHTS: Final = (
    Mutant(
        "insights: scored as push",
        "An analysis is scored as a push notification, by a classifier's mistake (V4.2 report, hotfix V4.2.1).",
        ("insights",),
        (replace_entry(insights.REWARDS, SPEC, lambda _: push.REWARDS[SPEC]),),
    ),
    Mutant(
        "insights: task guessed from the text",
        "An analysis that speaks of campaigns is scored as a push notification.",
        ("insights",),
        (wrap("insights", _guessed_task),),
    ),
    Mutant(
        "insights: reference ignored",
        "The facts are not looked at: structure, verbs and length alone are paid.",
        ("insights",),
        (
            edit(
                "insights.scorer:score",
                ("table_of(facts) if facts else None", "None"),
                ("_quoted(folded, known, prompt) if facts else None", "None"),
            ),
        ),
    ),
    Mutant(
        "insights: rows unchecked",
        "A number of the table is right whichever row it is said of.",
        ("insights",),
        (
            edit(
                "insights.figures:_is_cell",
                ("for index, row in enumerate(owners):", "for row in range(len(table.names)):"),
                ("index < sure", "True"),
            ),
        ),
    ),
    Mutant(
        "insights: columns unchecked",
        "A number of the right row is right, and worth all, whatever it is said to measure.",
        ("insights",),
        (
            edit(
                "insights.figures:_is_cell",
                ("said, strict = _column_said(each, sentence, table)", "said, strict = None, False"),
                ('UNNAMED_REAIS if unit == "r$" else UNNAMED', "1.0"),
            ),
            edit(
                "insights.reading:AnalysisReading.coverage",
                ("grade * (1.0 if place in compared else table.worths[place])", "grade"),
            ),
            edit("insights.derivations:has_unit", ("return each.unit == unit", "return True or each.unit == unit")),
        ),
    ),
    Mutant(
        "insights: invented numbers are free",
        "Numbers that the table does not have cost nothing.",
        ("insights",),
        (edit("insights.reading:AnalysisReading.sound", ("len(self.figures.false) + ", "")),),
    ),
    Mutant(
        "insights: one fact is enough",
        "A single quoted fact counts as all of them.",
        ("insights",),
        (edit("insights.scorer:score", ("enough = min(ENOUGH, len(facts))", "enough = 1")),),
    ),
    Mutant(
        "insights: narrow word list",
        "Of the verbs of action only five are known, which the reference answer has.",
        ("insights",),
        (
            edit(
                "insights.scorer:score",
                (
                    "reading.advice.credit()",
                    'len(reading.advice.verbs.keys() & {"priorizar", "manter", "renegociar", "reduzir", "investir"})',
                ),
            ),
        ),
    ),
    Mutant(
        "insights: structure is free",
        "A paragraph is as good as a heading and items.",
        ("insights",),
        (
            edit(
                "insights.scorer:score",
                ("analysis * (0.3 * any(headings) + 0.7 * min(len(items), ENOUGH) / ENOUGH)", "analysis"),
            ),
        ),
    ),
    Mutant(
        "insights: actions are free",
        "An analysis that recommends nothing is as good as one that does.",
        ("insights",),
        (edit("insights.scorer:score", ("analysis * advised / ENOUGH", "analysis")), _IDLE_IS_FREE),
    ),
    Mutant(
        "insights: length only",
        "The longer a text, the more it earns.",
        ("insights",),
        (
            edit(
                "insights.scorer:score",
                (
                    "text = stripped[:MAX_CHARACTERS]",
                    "return Score(dict.fromkeys(WEIGHTS, ramp(len(stripped), 0, LENGTHS[1])))\n    text = stripped",
                ),
            ),
        ),
    ),
    Mutant(
        "insights: padding is free",
        "An analysis has no largest length, and nothing that it says beside its facts is checked.",
        ("insights",),
        (
            edit(
                "insights.scorer:score",
                (" * ramp(len(stripped), 1200, LENGTHS[1])", ""),
                ("sound *= reading.sound()", "sound = 1.0"),
            ),
        ),
    ),
    Mutant(
        "insights: thousands as decimals",
        "12.345 is read as twelve and a third.",
        ("insights",),
        (edit("text.portuguese_numbers:value_of", ("if _THOUSANDS.fullmatch(written):", 'if "," in written:')),),
    ),
)

PUSH: Final = (
    Mutant(
        "push: no formal penalty",
        "The manner of an e-mail costs nothing (V4.2 report, hotfix V4.2.1).",
        ("push",),
        (edit("push.scorer:_style", ("        return 0.0", "        pass")),),
    ),
    Mutant(
        "push: no length cliff",
        "A push of 200 characters is as good as one of 120 (V4.2 report, hotfix V4.2.1).",
        ("push",),
        (edit("push.scorer:_short", ("ramp(shown, HOPELESS_GRAPHEMES, MAX_GRAPHEMES) ** 2", "1.0")),),
    ),
    Mutant(
        "push: length only",
        "A short text earns everything, whatever it says.",
        ("push",),
        (
            edit(
                "push.scorer:score",
                (
                    "shown = graphemes(text)",
                    "shown = graphemes(text)\n    return Score(dict.fromkeys(WEIGHTS, _short(shown)))",
                ),
            ),
        ),
    ),
    Mutant(
        "push: bytes counted",
        "The length is that of the text's bytes, so that an accent counts twice and an emoji many times.",
        ("push",),
        (edit("push.scorer:score", ("shown = graphemes(text)", 'shown = len(text.encode("utf-8", "replace"))')),),
    ),
    Mutant(
        "push: narrow calls to action",
        "Only `aproveite` calls to action.",
        ("push",),
        (replace_attribute(push, "_CALLS", lambda _: frozenset(("aproveite",))),),
    ),
    Mutant(
        "push: product ignored",
        "Any product is the campaign's.",
        ("push",),
        (edit("push.scorer:score", ("share_present(campaign.product, present)", "1.0")),),
    ),
    Mutant(
        "push: amounts unchecked",
        "An offer may have another amount or unit than the campaign's.",
        ("push",),
        (
            edit("push.offers:grade_offer", ("offer.amounts - amounts if offer.amounts else ()", "()")),
            edit("push.statements:grade_statements", ("if not amounts <= campaign.offer.amounts:", "if False:")),
        ),
    ),
    Mutant(
        "push: denial is free",
        "An offer that is denied counts as made.",
        ("push",),
        (edit("push.statements:grade_statements", (" * DENIED**found.denials", "")),),
    ),
    Mutant(
        "push: several pushes are free",
        "Two pushes are as good as one.",
        ("push",),
        (edit("push.scorer:score", ("if has_several_messages(lines, text_words, campaign):", "if False:")),),
    ),
    Mutant(
        "push: invented offers are free",
        "Numbers and benefits that nobody offers cost nothing.",
        ("push",),
        (edit("push.statements:grade_statements", ("CLAIMED**found.claims * ", "")),),
    ),
    Mutant(
        "push: any words",
        "Words that no list of harmless ones has cost nothing, and no manner does.",
        ("push",),
        (
            edit("push.statements:grade_statements", (" * unknown", "")),
            edit("push.scorer:score", ("    message *= manner(text, folded, text_words)\n", "")),
            edit(
                "text.text_form:_portuguese", ("ramp(foreign / len(kinds), 0.2, 0.08) if foreign > 1 else 1.0", "1.0")
            ),
        ),
    ),
)
