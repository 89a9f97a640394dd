"""Why is this match wrong? Answers about a matching, all of them from the energy, which is a sum.

case = Case.of(match(Recipe("house", {"left": 0, "right": 90, "points": 10}, "B")))
print(case.metrics.explanation)
print(case.ledger(case.wrong[0]))  # the terms that speak for a wrong match, and those for the truth
"""

from features.explain.case import Case, case_of

__all__ = ["Case", "case_of"]
