"""Saying why: the terms of an energy, what two matchings differ in, and how sure each match is."""
