"""One figure beside its bound. Owns: no more than that."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`value` and `bound` have the unit `unit`; `yardstick` is what was measured beside it in the same run, in words."""

    goal: str
    value: float
    unit: str
    bound: float | None = None
    yardstick: str = ""
    ratio: float | None = None

    @property
    def met(self) -> bool | None:
        """Nothing where nothing was promised."""
        return None if self.bound is None else self.value <= self.bound
