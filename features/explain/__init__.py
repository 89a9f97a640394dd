"""Why is this match wrong? Answers about a matching, all of them from the energy, which is a sum.

case = case_of(Recipe("house", {"left": 0, "right": 90, "points": 10}, "B"))
print(case.ledger(case.wrong[0]))   # the terms that speak for a wrong match, and those for the truth
print(case.way_back())              # exchanges that lead to the truth, and what each costs
print(*case.margins(), sep="\\n")    # how much dearer it is to do without each match
print(stability(case, pixels=2.0))  # which matches survive when the points move
"""

from features.explain.calibration import calibrate, observe
from features.explain.case import Case, case_of
from features.explain.retry import careful, from_truth
from features.explain.stability import stability

__all__ = ["Case", "calibrate", "careful", "case_of", "from_truth", "observe", "stability"]
