"""HostilePlacement: moves tensors as Triton might, so that luck is found out."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict


class HostilePlacement:
    """Decides by chance, always the same for a seed, which tensors are moved.

    The n-th tensor of a name that a model gets, or answers with, is decided by itself:
    what other models do meanwhile changes nothing.

    Parameters
    ----------
    seed
        Of the chance.
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
        # A text gives the same chance in every process.
        return random.Random(words).random() < 0.5


def parse_hostile(seed: object) -> HostilePlacement | None:
    """Return the hostile placement of a setting; None for none.

    Raises
    ------
    ValueError
        It is no number.
    """
    if seed is None or seed is False:
        return None
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(
            "hostile_placement is the seed of its chance, such as 7; None for none; "
            f"not {seed!r}"
        )
    return HostilePlacement(seed)
