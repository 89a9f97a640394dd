"""How costs are stored and multiplied: from potentials to the flat arrays of the kernels."""
