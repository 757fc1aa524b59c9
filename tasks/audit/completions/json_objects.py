"""JSON answers, right, flawed and wrong: changes that must affect the reward, and changes that must not."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tasks.audit.completions.any_task import chatter
from tasks.audit.completions.asked import Asked, Completions
from tasks.audit.completions.prose import PADDING

SHARES: Final = ("churn_risk", "risk_score")
"""Fields with a number from 0 to 1."""
STARS: Final = ("sentiment_score", "score")
"""Fields with 1 to 5 stars."""
SENTIMENTS: Final = ("sentiment", "polarity")
FREE_TEXTS: Final = ("main_complaint", "reasoning")
DECISIVE: Final = ("sentiment", "polarity", "churn")
"""The field that decides whether an answer is right."""
IN_OTHER_WORDS: Final[Mapping[str, str]] = {
    "atraso na entrega": "a entrega demorou demais",
    "produto não entregue": "o pedido nunca chegou",
    "pedido cancelado": "cancelaram a compra",
    "produto com defeito": "o item veio quebrado",
    "produto errado": "mandaram outro modelo",
    "produto diferente do anúncio": "não é como na foto",
    "baixa qualidade": "o acabamento é ruim",
    "pedido incompleto": "faltou um item",
    "vendedor não responde": "ninguém dá retorno",
    "embalagem ruim": "a caixa veio amassada",
    "dificuldade na troca": "não consegue devolver",
    "preço alto": "achou muito caro",
    "compra errada": "comprou e se arrependeu",
}
"""Complaints in the reference's words, and paraphrased."""
WORTHLESS_REASONS: Final[Completions] = {
    "name of the field": "reasoning",
    "keywords": "cliente risco churn pedidos atraso nota valor recompra cancelamento",
    "English": "The customer has not bought anything for a long time.",
    "English with small words": "As a rule a buyer like this does not come back to a shop, as they do it once.",
    "refusal": "Não posso avaliar o risco deste cliente com os dados informados.",
    "invented numbers": "O cliente fez 98.765 pedidos e espera há 43.210 dias por uma entrega.",
}


def same_object(asked: Asked) -> Completions:
    """Return the right object, formatted differently."""
    fields = fields_of(asked.right)
    return {
        "spaces": json.dumps(fields, ensure_ascii=False),
        "escapes": json.dumps(fields),
        "many lines": json.dumps(fields, indent=4, ensure_ascii=False),
        "keys backwards": _written(dict(reversed(fields.items()))),
        "space around": f"\n\t{_written(fields)}  \n",
    }


def portuguese_numbers(asked: Asked) -> Completions:
    """Return the right object with its number from 0 to 1 in Brazilian notation."""
    fields = fields_of(asked.right)
    found: dict[str, str] = {}
    for name in SHARES:
        if name not in fields:
            continue
        comma = f"{fields[name]:.2f}".replace(".", ",")
        for how, number in (("comma", comma), ("comma in quotes", f'"{comma}"'), ("percent", f'"{fields[name]:.0%}"')):
            found[how] = _written(fields | {name: "?"}).replace(f'"{name}":"?"', f'"{name}":{number}')
    return found


def wrong_types(asked: Asked) -> Mapping[str, Completions]:
    """Return for each scored field: null first, then values of another wrong type."""
    fields = fields_of(asked.right)
    return {
        name: {
            f"{name} {value!r}": _written(fields | {name: value})
            for value in (None, *_of_wrong_type(name, fields[name]))
        }
        for name in _known(asked)
    }


def missing_fields(asked: Asked) -> Completions:
    """Return the right object without one scored field, for each."""
    fields = fields_of(asked.right)
    return {
        f"without {name}": _written({key: value for key, value in fields.items() if key != name})
        for name in _known(asked)
    }


def wrong_values(asked: Asked) -> Completions:
    """Return the right object with one scored field of the right type and another value, for each."""
    fields = fields_of(asked.right)
    found = {
        f"another {name}": _written(fields | {name: other_value(name, fields[name])})
        for name in _known(asked)
        if name != "reasoning"
    }
    if "main_complaint" in _known(asked):
        several = ", ".join(dict.fromkeys((*list(IN_OTHER_WORDS)[:4], fields["main_complaint"])))
        found["several complaints"] = _written(fields | {"main_complaint": several})
    return found


def same_complaint(asked: Asked) -> Completions:
    """Return the right object with the complaint in other words."""
    fields = fields_of(asked.right)
    complaint = fields.get("main_complaint", "")
    if complaint not in IN_OTHER_WORDS or "main_complaint" not in _known(asked):
        return {}
    return {"other words": _written(fields | {"main_complaint": IN_OTHER_WORDS[complaint]})}


def errors(asked: Asked) -> Completions:
    """Return the right object with one wrong type, and with two."""
    fields = fields_of(asked.right)
    known = sorted(_known(asked), key=lambda name: name not in DECISIVE)
    if len(known) < 2:
        return {}
    return {
        "one error": _written(fields | {known[0]: "?"}),
        "two errors": _written(fields | {known[0]: "?", known[1]: None}),
    }


def without_values(asked: Asked) -> Completions:
    """Return objects with the right names and empty values."""
    fields = fields_of(asked.right)
    return {
        "nulls": _written(dict.fromkeys(fields)),
        "names for values": _written({name: name for name in fields}),
        "question marks": _written(dict.fromkeys(fields, "?")),
    }


def one_field(asked: Asked) -> Completions:
    """Return an object of the decisive field alone, if the reference knows every field."""
    fields = fields_of(asked.right)
    if len(_known(asked)) < len(fields):
        return {}
    return {"one field": _written({name: value for name, value in fields.items() if name in DECISIVE})}


def grave_error(asked: Asked) -> Completions:
    """Return the right object with three details wrong, and then with a sentiment that contradicts the rating."""
    fields = fields_of(asked.right)
    details = ("churn_risk", "repeat_intent", "would_recommend")
    if fields.get("sentiment", "neutral") == "neutral" or not set(details) <= set(_known(asked)):
        return {}
    return {
        "three details wrong": _written(fields | {name: other_value(name, fields[name]) for name in details}),
        "opposite sentiment": _written(fields | {"sentiment": other_value("sentiment", fields["sentiment"])}),
    }


def wrong_answer(asked: Asked) -> Completions:
    """Return a well-formed object with every value wrong."""
    fields = fields_of(asked.right)
    return {"everything wrong": _written({name: other_value(name, value) for name, value in fields.items()})}


def contradictions(asked: Asked) -> Completions:
    """Return contradictory objects: praise with one star, a loyal shopper at high risk."""
    fields = fields_of(asked.right)
    if fields.get("polarity") == "neutral":
        return {}
    return {
        f"another {name}": _written(fields | {name: other_value(name, fields[name])})
        for name in ("polarity", "score", "churn", "risk_score")
        if name in fields
    }


def both_answers(asked: Asked) -> Completions:
    """Return the right object beside its opposite: giving both answers is giving none."""
    right, wrong = asked.right, wrong_answer(asked)["everything wrong"]
    return {
        "right, then wrong": f"{right}\n{wrong}",
        "wrong, then right": f"{wrong}\n{right}",
        "keys repeated": f"{wrong[:-1]},{right[1:]}",
        "keys repeated, right first": f"{right[:-1]},{wrong[1:]}",
        "list": f"[{wrong}, {right}]",
    }


def broken(asked: Asked) -> Completions:
    """Return the right object with a syntax error that a parser has to repair."""
    return {**easily_mended(asked), "keys without quotes": re.sub(r'"(\w+)":', r"\1:", asked.right)}


def easily_mended(asked: Asked) -> Completions:
    """Return the right object with an unambiguous syntax error."""
    right = asked.right
    quotes = {} if "'" in right else {"single quotes": right.replace('"', "'")}
    return {**quotes, "trailing comma": f"{right[:-1]},}}"}


def cut_off(asked: Asked) -> Completions:
    """Return the right object without its end."""
    right = asked.right
    return {"last brace": right[:-1], "last quarter": right[: len(right) * 3 // 4], "half": right[: len(right) // 2]}


def flawed_form(asked: Asked) -> Completions:
    """Return the right object in forms that differ from the requested one but that a program can read."""
    return {
        **chatter(asked),
        **easily_mended(asked),
        "code fence": f"```json\n{asked.right}\n```",
        "thought": f"<think>Vou ler com calma.</think>\n{asked.right}",
    }


def more_fields(asked: Asked) -> Completions:
    """Return the right object with unrequested fields."""
    invented = {"idioma": "pt", "confianca": 0.99, "resumo": "sem resumo", "versao": 2}
    return {"invented fields": _written(fields_of(asked.right) | invented)}


def worthless_reasons(asked: Asked) -> Completions:
    """Return the right answer with an empty reason."""
    fields = fields_of(asked.right)
    reasons = {**WORTHLESS_REASONS, "prompt": asked.prompt, "essay": PADDING}
    return {f"reason: {kind}": _written(fields | {"reasoning": reason}) for kind, reason in reasons.items()}


def other_value(name: str, value: Any) -> Any:
    """Return the most wrong value of the field's type."""
    if isinstance(value, bool):
        return not value
    if name in SENTIMENTS:
        return {"positive": "negative", "negative": "positive"}.get(value, "positive")
    if name in STARS:
        return 1 if value >= 3 else 5
    if name in SHARES:
        return 0.0 if value >= 0.5 else 1.0
    if name == "complaint_category":
        return "price" if value != "price" else "seller"
    return "frete caro" if value != "frete caro" else "atraso na entrega"


def fields_of(right: str) -> dict[str, Any]:
    """Return the fields of a JSON answer."""
    fields: dict[str, Any] = json.loads(right)
    return fields


def _known(asked: Asked) -> list[str]:
    """Return the fields that the reference knows: the others of an answer are guessed."""
    fields = fields_of(asked.right)
    if asked.task != "extraction":
        return list(fields)
    known = asked.reference["fields"] or {}
    return [name for name in fields if known.get(name) is not None]


def _of_wrong_type(name: str, value: Any) -> Iterable[Any]:
    if isinstance(value, bool):
        return ("true" if value else "false", "sim", name, int(value), 0.5)
    if name in STARS:
        return (True, str(value), 0.2, value + 0.5, 0, 6, name)
    if name in SHARES:
        return (True, "alto", 7, -0.5, name)
    if name in FREE_TEXTS:
        return (True, 3, [])
    return (True, 1, "?", name)


def _written(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
