"""Lower bounds on the energy of every matching, and the branch and bound search that proves a matching optimal."""
