"""PLANS: which pairs of views are compared, by their key."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

Couples = list[tuple[int, int]]


@dataclass(frozen=True)
class Plan:
    """Which of m views are compared: `couples(m, k)`, each as (i, j) with i < j. `k` counts neighbours where asked."""

    label: str
    does: str
    make: Callable[[int, int], Couples]

    def couples(self, views: int, k: int = 2) -> Couples:
        if views < 2:
            raise ValueError(f"there must be at least 2 views to compare, got {views}")
        if k < 1:
            raise ValueError(f"a view must be compared with at least 1 neighbour, got {k}")
        return sorted(set(self.make(views, k)))


PLANS: dict[str, Plan] = {
    "all": Plan(
        "Every pair", "Every view is compared with every other one.", lambda m, k: [*combinations(range(m), 2)]
    ),
    "ring": Plan(
        "Ring",
        "Each view with the next, and the last with the first.",
        lambda m, k: [*((i, i + 1) for i in range(m - 1)), (0, m - 1)],
    ),
    "star": Plan("Star", "The first view with every other one.", lambda m, k: [(0, j) for j in range(1, m)]),
    "neighbours": Plan(
        "Neighbours in a sequence",
        "Each view with the k that follow it.",
        lambda m, k: [(i, j) for i, j in combinations(range(m), 2) if j - i <= k],
    ),
}
