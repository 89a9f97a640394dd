"""Finding good matchings: local search, tabu search, fusion moves, and ADGM+, which joins them."""
