"""Task weighting: improvement-aware weights and ratio-preserving sampler of MT-GRPO (2602.05547)."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from decimal import Context
from math import fsum
from statistics import fmean
from typing import Any, Final

from schemas.errors import InputError
from schemas.tasks import TaskName

MOST_CORRECTION: Final = 5.0
"""Largest multiple of its share that a task's prompts may reach, to compensate for those without a gradient."""
_EXACT: Final = Context(prec=28)
"""Decimal's exponential is correctly rounded, so equal on every machine; the C library's is not."""
_STATE: Final = ("xi", "rewards", "zero_gradients", "due", "steps", "window_rewards", "window_zeros")


class TaskWeights:
    """Shares of the tasks that rise where the reward is low and does not improve.

    The mean reward J_k of task k is taken over a window of steps, as one step holds too few prompts to separate
    improvement from chance. When a window ends,

        I_k = J_k(t + 1) - J_k(t),  s_k = I_k + level * J_k(t + 1),
        xi_k <- xi_k - rate * z_k * (s_k - sum_j z_j * s_j),  z = softmax(xi).

    It begins with xi = 0, equal shares, as the authors' code does: the objective is the worst task's reward, and a
    dataset's mix does not reveal which task that is. The first window only sets J. A task missing from a window keeps
    its J and so has I = 0; one never seen is left out of the update.

    J is made of true rewards. A loss would not do: it is zero where all answers are right and where all are wrong.
    """

    def __init__(self, tasks: Sequence[TaskName], *, every: int, rate: float = 0.025, level: float = 0.2) -> None:
        self._tasks = tuple(tasks)
        self._every = every
        self._rate = rate
        self._level = level
        self._xi = dict.fromkeys(self._tasks, 0.0)
        self._rewards: dict[TaskName, float] = {}
        """J of each task seen so far."""
        self._zero_gradients = dict.fromkeys(self._tasks, 0.0)
        self._due = dict.fromkeys(self._tasks, 0.0)
        """Prompts that each task is behind its share; negative if ahead."""
        self._begin_window()

    def _begin_window(self) -> None:
        self._steps = 0
        self._window_rewards: dict[TaskName, list[float]] = {task: [] for task in self._tasks}
        self._window_zeros: dict[TaskName, list[float]] = {task: [] for task in self._tasks}

    def observe(self, means: Mapping[TaskName, float], zero_fractions: Mapping[TaskName, float]) -> None:
        """Record one step."""
        for task, mean in means.items():
            self._window_rewards[task].append(mean)
        for task, fraction in zero_fractions.items():
            self._window_zeros[task].append(fraction)
        self._steps += 1
        if self._steps == self._every:
            self._end_window()

    def _end_window(self) -> None:
        before = dict(self._rewards)
        self._rewards |= {task: fmean(values) for task, values in self._window_rewards.items() if values}
        self._zero_gradients |= {task: fmean(values) for task, values in self._window_zeros.items() if values}
        if before:
            signals = {task: now - before.get(task, now) + self._level * now for task, now in self._rewards.items()}
            shares = self.shares()
            mean = fsum(shares[task] * signals[task] for task in signals) / fsum(shares[task] for task in signals)
            for task, signal in signals.items():
                self._xi[task] -= self._rate * shares[task] * (signal - mean)
        self._begin_window()

    def shares(self) -> dict[TaskName, float]:
        """Return z: each task's share, in (0, 1), with sum 1."""
        highest = max(self._xi.values())
        powers = {
            task: float(_EXACT.exp(_EXACT.create_decimal_from_float(xi - highest))) for task, xi in self._xi.items()
        }
        total = fsum(powers.values())
        return {task: power / total for task, power in powers.items()}

    def loss_weights(self) -> dict[TaskName, float]:
        """Return z times the number of tasks: factors of mean 1 for the advantages of each task's rollouts.

        For prompts in a fixed mix. Where `prompts_by_task` decides the mix, z is in it already.
        """
        return {task: share * len(self._tasks) for task, share in self.shares().items()}

    def prompts_by_task(self, count: int) -> dict[TaskName, int]:
        """Distribute the next `count` prompts over the tasks: the ratio-preserving sampler.

        Each task's part is its z, times 1 / (1 - its zero-gradient rate) but at most `MOST_CORRECTION`, so that the
        groups with a gradient come in the ratio of z. Rounding remainders carry over to the next call: while the parts
        stay constant, no task is ever a whole prompt ahead of its part or behind it. The paper rounds by largest
        remainders, which can fall behind by more than one when carried over; so each prompt goes to the task whose next
        one is due first (Tijdeman 1980, the chairman assignment problem).
        """
        parts = self._parts()
        slack = 1 / (2 * max(len(parts) - 1, 1))
        counts = dict.fromkeys(self._tasks, 0)
        for _ in range(count):
            for task, part in parts.items():
                self._due[task] += part
            # Sums of floats may differ in their last bits where two tasks share equally.
            ready = [task for task in self._tasks if self._due[task] >= slack - 1e-9]
            chosen = min(ready, key=lambda task: (1 - slack - self._due[task]) / parts[task])
            self._due[chosen] -= 1
            counts[chosen] += 1
        return counts

    def _parts(self) -> dict[TaskName, float]:
        corrected = {
            task: share / max(1 - self._zero_gradients[task], 1 / MOST_CORRECTION)
            for task, share in self.shares().items()
        }
        total = fsum(corrected.values())
        return {task: part / total for task, part in corrected.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return all that `observe` and `prompts_by_task` changed, as JSON-compatible values."""
        return deepcopy({name: getattr(self, f"_{name}") for name in _STATE})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state`."""
        if set(state["xi"]) != set(self._tasks):
            raise InputError(
                f"the checkpoint weighed the tasks {', '.join(sorted(state['xi']))} and this run has "
                f"{', '.join(sorted(self._tasks))}; resume with the dataset that it was trained on"
            )
        for name in _STATE:
            setattr(self, f"_{name}", deepcopy(state[name]))
        self._xi = {task: self._xi[task] for task in self._tasks}
