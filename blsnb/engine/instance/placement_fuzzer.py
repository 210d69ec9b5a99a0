"""HostilePlacement: moves tensors at random, to find models that rely on placement."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict


class HostilePlacement:
    """Decides pseudo-randomly, and reproducibly for a seed, which tensors are moved.

    The decision depends on the model, the tensor's name and role, and its running
    number only, not on what other models do.

    Parameters
    ----------
    seed
        Seed of the decisions.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._numbers: dict[tuple[str, str, str], itertools.count[int]] = defaultdict(
            itertools.count
        )

    def __repr__(self) -> str:
        return f"<HostilePlacement {self.seed}>"

    def moves(self, model: str, tensor: str, role: str) -> bool:
        """Whether a tensor is moved.

        Parameters
        ----------
        role
            ``"input"`` or ``"output"``.
        """
        number = next(self._numbers[model, tensor, role])
        words = f"{self.seed}/{model}/{tensor}/{role}/{number}"
        # A string seed gives the same number in every process.
        return random.Random(words).random() < 0.5


def parse_hostile(seed: object) -> HostilePlacement | None:
    """Return the hostile placement for a seed; None if the seed is None.

    Raises
    ------
    ValueError
        The seed is not an integer.
    """
    if seed is None or seed is False:
        return None
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(
            f"hostile_placement={seed!r} is not valid; expected a seed, such as 7, or "
            "None"
        )
    return HostilePlacement(seed)
