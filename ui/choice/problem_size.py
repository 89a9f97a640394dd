"""How large a problem is going to be, told before it is built."""

from dataclasses import dataclass

from features.limits import LIMITS
from features.models.base import Model
from features.models.sampled import MOST_ENTRIES


@dataclass(frozen=True)
class Size:
    """A model on so many points."""

    shape: tuple[int, int]
    model: Model
    orders: tuple[int, ...]  # of the terms that its parameters leave

    @property
    def nbytes(self) -> int:
        """Bytes of its tables: a matrix within the solver's budget, or the sampled tensor with its tree."""
        square = (self.shape[0] * self.shape[1]) ** 2
        pairs = min(8 * square, LIMITS.table_bytes) if self.model.complete else 0
        return pairs if max(self.orders) == 2 else 36 * min(6 * square, MOST_ENTRIES)

    @property
    def text(self) -> str:
        n1, n2 = self.shape
        size = f"{n1} × {n2} points, order {max(self.orders)}"
        return f"{size}, about {readable(self.nbytes)}" if self.nbytes else size


def readable(nbytes: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} GB"
