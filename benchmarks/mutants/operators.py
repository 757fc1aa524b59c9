"""Mutation operators of the audit's test: those of cosmic-ray that meet rewards, and boundary operators of our own.

Ours have cosmic-ray's interface: an operator says where in a syntax tree it applies, and changes one such place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import parso
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.python.tree import Name

Node = Any
"""Node of parso, which has no types."""
Position = tuple[tuple[int, int], tuple[int, int]]

COMPARISONS: Final = ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is")
ARITHMETIC: Final = ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "Pow_Mul", "BitOr_BitAnd", "BitAnd_BitOr", "Sub_Mul")
OF_COSMIC_RAY: Final = (
    "NumberReplacer",
    *(f"ReplaceComparisonOperator_{pair}" for pair in COMPARISONS),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ARITHMETIC),
    "ReplaceUnaryOperator_Delete_Not",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ZeroIterationForLoop",
)
"""Operators of cosmic-ray that are used: its others replace each arithmetic sign by each, which any test notices."""


class _Ours(Operator):  # type: ignore[misc]
    """An operator that replaces a node's text by each of some others."""

    def texts(self, node: Node) -> Sequence[str]:
        """Return the texts that may stand for a node's; none where the operator does not apply."""
        raise NotImplementedError

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        """Yield the node's place once for each text."""
        for _ in self.texts(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Node, index: int) -> Node:
        """Return a leaf with the text."""
        return Name(self.texts(node)[index], node.start_pos, prefix=node.get_first_leaf().prefix)

    @classmethod
    def before_and_after(cls) -> tuple[str, str]:
        """Return an example."""
        raise NotImplementedError

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return the example as cosmic-ray wants it."""
        return (Example(*cls.before_and_after()),)


class ScaledNumber(_Ours):
    """Twice and half of a number: tolerances, weights and bounds; numbers that one more or less reaches are left."""

    def texts(self, node: Node) -> Sequence[str]:
        """Return both."""
        if node.type != "number":
            return ()
        value: int | float
        try:
            value = int(node.value, 0)
        except ValueError:
            value = float(node.value)
        scaled = (2 * value, value // 2 if isinstance(value, int) else value / 2)
        return [repr(each) for each in scaled if each != value and abs(each - value) != 1]

    @classmethod
    def before_and_after(cls) -> tuple[str, str]:
        """Return an example."""
        return "x = 0.25", "x = 0.5"


class CountedOnce(_Ours):
    """A count or a sum of at most one: several faults cost what one does."""

    def texts(self, node: Node) -> Sequence[str]:
        """Return the call within `min`."""
        return [f"min(1, {_code(node)})"] if _called(node) in ("len", "sum") else ()

    @classmethod
    def before_and_after(cls) -> tuple[str, str]:
        """Return an example."""
        return "x = len(faults)", "x = min(1, len(faults))"


class ExchangedCall(_Ours):
    """The least for the greatest, any for all, and the other way round."""

    OTHER: Final[Mapping[str, str]] = {"min": "max", "max": "min", "any": "all", "all": "any"}

    def texts(self, node: Node) -> Sequence[str]:
        """Return the call of the other."""
        name = _called(node)
        return [f"{self.OTHER[name]}{_code(node)[len(name) :]}"] if name in self.OTHER else ()

    @classmethod
    def before_and_after(cls) -> tuple[str, str]:
        """Return an example."""
        return "x = min(a, b)", "x = max(a, b)"


class UnknownField(_Ours):
    """None for a field that is looked up by its name: a reference or an answer without it."""

    def texts(self, node: Node) -> Sequence[str]:
        """Return None."""
        if node.type != "atom_expr" or (node.parent.type == "expr_stmt" and node.parent.children[0] is node):
            return ()
        code = _code(node)
        last = node.children[-1].get_code().strip()
        is_named = last[:2] in ('["', "('", '("') and last[-1] in "])"
        looks_up = last[0] == "[" or (len(node.children) > 2 and node.children[-2].get_code().strip() == ".get")
        return ["None"] if is_named and looks_up and "{" not in code else ()

    @classmethod
    def before_and_after(cls) -> tuple[str, str]:
        """Return an example."""
        return 'x = fields.get("score")', "x = None"


class DroppedItem(_Ours):
    """A constant set, sequence or mapping of a module without one of its items: each value of an enumeration."""

    def texts(self, node: Node) -> Sequence[str]:
        """Return the display without each item."""
        if node.type not in ("testlist_comp", "dictorsetmaker") or _is_in_function(node):
            return ()
        items: list[list[Node]] = [[]]
        for child in node.children:
            if child.type == "operator" and child.value == ",":
                items.append([])
            else:
                items[-1].append(child)
        items = [item for item in items if item]
        if len(items) < 2 or any("comp_for" in part.type for item in items for part in item):
            return ()
        codes = ["".join(part.get_code() for part in item).strip() for item in items]
        return [f"{', '.join(codes[:place] + codes[place + 1 :])}," for place in range(len(codes))]

    @classmethod
    def before_and_after(cls) -> tuple[str, str]:
        """Return an example."""
        return 'X = {"a", "b"}', 'X = {"b",}'


class DroppedStatement(_Ours):
    """`pass` for a call whose value nobody takes, an addition to a variable, and a return under a condition."""

    def texts(self, node: Node) -> Sequence[str]:
        """Return `pass`."""
        if node.parent is None or node.parent.type != "simple_stmt" or not _is_in_function(node):
            return ()
        is_call = node.type == "atom_expr"
        is_added = node.type == "expr_stmt" and node.children[1].type == "operator" and len(node.children[1].value) > 1
        suite = node.parent.parent
        is_early = node.type == "return_stmt" and suite is not None and suite.type == "suite"
        is_early = is_early and suite.parent.type in ("if_stmt", "for_stmt")
        return ["pass"] if is_call or is_added or is_early else ()

    @classmethod
    def before_and_after(cls) -> tuple[str, str]:
        """Return an example."""
        return "def f():\n    x.add(1)\n", "def f():\n    pass\n"


class NegatedMembership(_Ours):
    """`not in` for `in`, and the other way round."""

    def texts(self, node: Node) -> Sequence[str]:
        """Return the other."""
        if node.parent is None or node.parent.type != "comparison":
            return ()
        return {"in": ("not in",), "not in": ("in",)}.get(" ".join(_code(node).split()), ())

    @classmethod
    def before_and_after(cls) -> tuple[str, str]:
        """Return an example."""
        return "x = a in b", "x = a not in b"


OURS: Final = (
    ScaledNumber,
    CountedOnce,
    ExchangedCall,
    UnknownField,
    DroppedItem,
    DroppedStatement,
    NegatedMembership,
)


def operators() -> dict[str, Operator]:
    """Return all operators by name."""
    known = OperatorProvider()
    return {name: known[name]() for name in OF_COSMIC_RAY} | {each.__name__: each() for each in OURS}


def parsed(source: str) -> Node:
    """Return a source's syntax tree."""
    return parso.parse(source)


def _code(node: Node) -> str:
    return str(node.get_code(include_prefix=False))


def _called(node: Node) -> str:
    """Return the name of the function that a node calls; nothing where it is no plain call."""
    if node.type != "atom_expr" or len(node.children) != 2 or node.children[0].type != "name":
        return ""
    return str(node.children[0].value) if node.children[1].get_code().startswith("(") else ""


def _is_in_function(node: Node) -> bool:
    return parso.tree.search_ancestor(node, "funcdef") is not None
