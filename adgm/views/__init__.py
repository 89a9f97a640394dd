"""Several graphs at once: tracks of points that belong together, matched by ordinary problems.

joint         JointProblem: the pairs' costs, the total energy, one view against the tracks of all the others
tracks        tracks as one array of numbers per view, their matchings, cycle errors
exchange      exchanging two tracks in some of the views, where that pays
synchronise   spectral synchronisation of pairwise matchings
plans         which pairs of views are compared (PLANS)
joints        what makes tracks of pairs (JOINTS)
"""

from adgm.views.joint import Forced, JointProblem
from adgm.views.joints import JOINTS, solve_jointly
from adgm.views.plans import PLANS
from adgm.views.states import JointState
from adgm.views.tracks import Tracks, cycle_errors

__all__ = ["JOINTS", "PLANS", "Forced", "JointProblem", "JointState", "Tracks", "cycle_errors", "solve_jointly"]
