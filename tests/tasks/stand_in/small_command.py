"""Command `python -m tasks.stand_in` with a recipe of seconds: the shipped one simulates stores for half a minute."""

import sys
from collections.abc import Mapping
from unittest.mock import patch

from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.stand_in import __main__ as command
from tasks.stand_in.lessons import Recipe
from tasks.stand_in.model import StandInShape


class SmallRecipe(Recipe):
    """A small model of small stores, where nothing else is given."""

    batch_size: int = 4
    orders: int = 120
    prompts: Mapping[TaskName, int] = dict.fromkeys(TASKS, 12)
    shape: StandInShape = StandInShape(
        vocabulary_size=600, hidden_size=64, layers=2, heads=4, key_value_heads=2, feed_forward_size=96
    )


if __name__ == "__main__":
    with patch.object(command, "Recipe", SmallRecipe):
        sys.exit(command.main())
