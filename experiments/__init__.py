"""The paper's experiments and our measurements, declared as data and run by one engine."""
