"""The Views page: three to sixteen images at once, and the tracks of the points that belong together."""
