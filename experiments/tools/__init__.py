"""For developers: benchmarks, load, fuzzing, mutation, and the driver of a real browser."""
