"""Texts of every kind in place of a formula: each ends in a sentence, or in a problem that can be computed."""

import random
from collections import Counter

import numpy as np
import pytest

from features.formulas.build import model_of
from features.formulas.expression import (
    FUNCTIONS,
    OPERATIONS,
)
from features.formulas.quantities import ORDERS, written
from features.formulas.ready import READY
from features.formulas.text import model_text, parse
from formula_problems import SPRINGS, pair_of

PIECES = [
    *("edges", "points", "triangles", "quadruples", "price", "similarity", "name", "on", "delaunay", "of", "left"),
    *("sample", "per", "point", "with", "nearest", "by", "all", "in", "..", "step", "=", ";", "\n", "#", ",", "(", ")"),
    *("+", "-", "*", "/", "^", "**", "<", "and", "or", "not", "d1", "d2", "a1", "gap", "x2", "s2", "pi", "looks"),
    *(
        "__class__",
        "__import__",
        "self",
        "lambda",
        "import os",
        "'a'",
        "[0]",
        ".",
        ":",
        "{",
        "\x00",
        "é",
        "🙂",
        "\\",
        "`",
    ),
    *(
        "1",
        "0",
        "9^9^9^9",
        "1e308",
        "1e999",
        "9" * 300,
        "0x1f",
        "exp(",
        "where(",
        "max(1",
        "(" * 30,
        "-" * 30,
        "not " * 9,
    ),
]


def hostile(number):
    """A text out of the words of the grammar and others, or a valid model with a few changes."""
    rng = random.Random(number)
    if number % 3 == 2:
        return grammatical(rng)
    if number % 2:
        head = rng.choice(["edges ", "points ", "triangles ", "quadruples ", ""])
        return head + rng.choice(["", " "]).join(rng.choices(PIECES, k=rng.choice([2, 5, 12, 60])))
    text = rng.choice([SPRINGS, *READY.values()])
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(PIECES) + text[at + rng.choice([0, 0, 1, 4]) :]
    return text


def grammatical(rng):
    """A model that obeys the grammar, whatever its numbers come to."""
    lines = []
    for what, order in rng.sample(list(ORDERS.items()), rng.randint(1, 2)):
        names = [*written(order), "p", "q_1", "pi"]

        def grow(depth, names=names):
            if depth == 0 or rng.random() < 0.2:
                return rng.choice([rng.choice(names), rng.choice(["0", "1", "2.5", "1e300", "1e-300", "-3"])])
            name = rng.choice([*FUNCTIONS, *["+", "-", "*", "/", "^", "<", "and", "=="] * 3])
            if name in FUNCTIONS:
                return f"{name}({', '.join(grow(depth - 1) for _ in range(FUNCTIONS[name].arguments[0]))})"
            return f"({grow(depth - 1)}) {name} ({grow(depth - 1)})"

        clauses = {1: [""], 2: ["", "on delaunay of left", "on 3 nearest"]}.get(
            order, ["", "sample 4 per point with 9 nearest", "with 99999 nearest"]
        )
        lines.append(f"{what} {rng.choice(['', 'similarity'])} {grow(rng.randint(1, 4))} {rng.choice(clauses)}")
    return rng.choice(["\n", ";"]).join([*lines, *rng.choice([[], ["price 0.3"], ["price -1e99 * 9 ^ 9"]])])


def outcome(text, pair):
    """What comes of a text: mistakes in sentences, a model that refuses the pair in one, or a problem. No name but the
    known ones is reached."""
    found = parse(text)
    if found.model is None:
        for one in found.mistakes:
            assert 0 < len(str(one)) < 500 and one.line >= 1 and one.column >= 1
        return "mistakes"
    assert model_text(found.model.text) == found.model
    for term in found.model.terms:
        for node in term.expression.walk():
            assert node.kind in {"number", "name", *OPERATIONS, *FUNCTIONS}
            if node.kind == "name":
                assert node.name in {*written(term.order), *term.parameters, "pi"}
    try:
        problem = model_of(text).build(pair)
        assert np.isfinite(problem.energy(np.ones(problem.shape) / 3))
    except ValueError as error:
        assert 0 < len(str(error)) < 500
        return "refusal"
    return "problem"


@pytest.mark.parametrize("cases", [300, pytest.param(5000, marks=pytest.mark.long)])
def test_hostile_formulas_end_in_a_sentence_or_a_problem(cases):
    pair = pair_of(5, 6)
    found = Counter(outcome(hostile(number), pair) for number in range(cases))
    assert min(found[each] for each in ("mistakes", "refusal", "problem")) >= cases // 30  # all of them are tried
