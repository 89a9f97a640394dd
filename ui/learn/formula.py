"""Formulas as the paper prints them, in HTML: every symbol explains itself, on the page as on a printed sheet.

A formula is written as text: [rho] is a symbol of SYMBOLS, «a¦b» a fraction, {…} a part that has a name and may be
lit up ({cost:…}). Nothing of it comes from outside, and all of it is escaped.
"""

import re
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Symbol:
    """A letter of the paper, and what it means in plain words."""

    sign: str  # _ and ^ lower and raise what follows
    words: str


SYMBOLS = {
    "x": Symbol("x", "The assignment: one number for every pair of a left and a right point, 1 if they are matched"),
    "xi": Symbol("x_i", "1 if the pair number i is matched, 0 if not; in between while the solver is undecided"),
    "xj": Symbol("x_j", "The same for another pair, number j"),
    "xk": Symbol("x_k", "The same for a third pair, number k"),
    "x1": Symbol("x_1", "The first copy (block) of the assignment"),
    "x2": Symbol("x_2", "The second copy (block) of the assignment"),
    "x3": Symbol("x_3", "The third copy (block) of the assignment"),
    "p1": Symbol("x_1", "The point that must stay in set 1; it also carries the cost"),
    "p2": Symbol("x_2", "The point that must stay in set 2"),
    "y": Symbol("y", "Multiplier: the gap between the points, times ρ, added up over the iterations"),
    "down": Symbol("p", "Cost: what it costs to move one unit. Here (0, 1): one unit up costs 1"),
    "F": Symbol("F", "All costs, of the matches in x₁ together with those in x₂"),
    "yT": Symbol("y^⊤", "Multiplier: ρ times the difference of the two blocks, added up over the iterations"),
    "m": Symbol("m", "A matching: 1 for every pair that is matched, 0 for all others"),
    "xd": Symbol("x_d", "Block number d: one of the copies of the assignment"),
    "xe": Symbol("x_e", "The block that this one is tied to"),
    "ye": Symbol("y_e", "Multiplier: how much the two blocks have disagreed so far, all iterations added up"),
    "yd": Symbol("y_d", "Multiplier: how much the two blocks have disagreed so far, all iterations added up"),
    "rho": Symbol("ρ", "Penalty: how much disagreement between the blocks costs"),
    "rho0": Symbol("ρ_0", "The penalty that the solver begins with"),
    "beta": Symbol("β", "By how much ρ grows when nothing improves; 2 in the paper"),
    "F1": Symbol("F^1_i", "Cost of matching the pair i, looked at alone"),
    "F2": Symbol("F^2_ij", "Cost of matching the pairs i and j together: of laying one edge on another"),
    "F3": Symbol("F^3_ijk", "Cost of three matches together: of laying one triangle on another"),
    "pd": Symbol("p_d", "What it would cost to raise each entry of block d, the other blocks as they are"),
    "cd": Symbol("c_d", "Target: where block d would go if it had to obey no rule"),
    "c": Symbol("c", "Target: where the block would go if it had to obey no rule"),
    "Md": Symbol("M_d", "The rule that block d obeys: all its rows sum to one, or all its columns"),
    "Mr": Symbol("M_r", "All assignments whose rows sum to one: every left point hands out exactly one match"),
    "Mc": Symbol("M_c", "All assignments whose columns sum to one: every right point takes exactly one match"),
    "tau": Symbol("τ", "Threshold: what is taken from every entry so that the rest sums to one"),
    "rk": Symbol("r^k", "Residual: how far the blocks are apart, and how far they moved in iteration k"),
    "d1": Symbol("d_1", "Distance of two left points"),
    "d2": Symbol("d_2", "Distance of their two partners on the right"),
    "f1": Symbol("f_1", "The angles of a left triangle"),
    "f2": Symbol("f_2", "The angles of the right triangle it is laid on"),
    "gamma": Symbol("γ", "How much two triangles may differ"),
    "sigma": Symbol("σ^2", "How much two distances may differ"),
    "u": Symbol("u", "Price of leaving points unmatched: u/2 for each of them"),
    "ci": Symbol("c_i", "How different the surroundings of the two points of pair i look"),
    "E": Symbol("E", "Energy: what a matching costs in all; lower is better"),
    "truth": Symbol("x^*", "The true matching"),
    "found": Symbol("x̂", "The matching that the solver found"),
    "best": Symbol("x^opt", "The matching of lowest energy; it takes a proof to know it"),
    "share": Symbol("q", "Share of the starts that end at the best energy"),
    "runs": Symbol("k", "Number of runs"),
}

GLOSSARY = {
    "Assignment, matching": "Which left point goes with which right point. As a matrix: one row per left point, one "
    "column per right point, a 1 where two are matched.",
    "Graph": "Points, and edges between some of them.",
    "Candidate": "A right point that a left point may be matched with.",
    "Energy": "What a matching costs in all; the same sum tells it of fractions. The solver looks for the lowest.",
    "Term": "One part of the energy: the cost of one match, or of two or three matches together.",
    "Edge": "Two points of one view, with their distance and direction.",
    "Descriptor": "Numbers that tell what the surroundings of a point look like.",
    "Relaxed": "Entries may lie between 0 and 1 while the solver is undecided.",
    "ADMM": "Alternating direction method of multipliers: splits a problem into blocks that are solved in turn, each "
    "with the others held fixed, while multipliers and a penalty pull the blocks together.",
    "ADGM": "Alternating direction graph matching: ADMM for matching graphs, the method of this page.",
    "Block": "A copy of the assignment. ADGM keeps as many as the order of the costs, at least two.",
    "Iteration": "One round: every block is solved once, then the multipliers move.",
    "Multiplier": "The disagreement between two blocks, added up over the iterations. It pushes them together.",
    "Penalty ρ": "How much disagreement between the blocks costs. Small: they agree late; large: they hardly move.",
    "Residual": "The squared distance of the blocks, plus how far they just moved, squared.",
    "Converged": "The residual is nearly zero: the blocks agree and no longer move.",
    "Simplex": "All points with entries of zero or more that sum to one; with three entries, a triangle.",
    "Projection": "The nearest point that obeys a rule.",
    "Convex": "A set that contains the straight line between any two of its points: a disc is, two islands are not.",
    "Augmented Lagrangian": "The costs, plus the multiplier times the disagreement, plus the penalty for its square.",
    "Rounding": "Turning a block with fractions into a matching: the one with the largest sum of entries.",
    "Hungarian method": "Finds the matching with the largest sum of entries, for certain and fast.",
    "Order": "How many matches one term looks at: 1 a point, 2 an edge, 3 a triangle.",
    "Outlier": "A point that has no partner on the other side.",
    "Truth": "The matching that is known to be right, because we made the pair ourselves.",
    "Lower bound": "A number that no matching can beat. If a matching reaches it, it is proved to be the best.",
    "Best energy known": "The lowest that any method here has found; it takes a proof to call it the lowest of all.",
    "ADGM+": "Many runs of ADGM that differ in start and penalty, and a search around what they find.",
}

NAMES = {name.lower(): words for names, words in GLOSSARY.items() for name in re.sub(r" .$", "", names).split(", ")}
KNOWN = re.compile(rf"\b({'|'.join(sorted(map(re.escape, NAMES), key=len, reverse=True))})s?\b", re.IGNORECASE)

TOKEN = re.compile(r"\[(\w+)\]|[«¦»]|\{(\w+):|\}|\^\{([^}]*)\}|_\{([^}]*)\}|[^\[«¦»{}^_\n]+|.|\n")


def html(formula: str, lit: str = "") -> str:
    """The formula as a line of HTML; the parts named in `lit` stand out."""
    made = []
    for token in TOKEN.finditer(formula):
        text, (symbol, part, raised, lowered) = token.group(), token.groups()
        if symbol:
            made.append(shown(symbol))
        elif part:
            made.append(f'<span class="part{" lit" if part in lit.split() else ""}">')
        elif raised is not None:
            made.append(f"<sup>{escape(raised)}</sup>")
        elif lowered is not None:
            made.append(f"<sub>{escape(lowered)}</sub>")
        elif text == "\n":
            made.append("<br>")
        else:
            marks = {"«": '<span class="frac"><span>', "¦": "</span><span>", "»": "</span></span>", "}": "</span>"}
            made.append(marks.get(text) or escape(text))
    return f'<div class="formula">{"".join(made)}</div>'


def explained(text: str) -> str:
    """A text as HTML in which words of the glossary explain themselves, each where it stands first."""
    met: set[str] = set()

    def word(found: re.Match[str]) -> str:
        name = found[1].lower()
        if name in met:
            return found[0]
        met.add(name)
        return f'<span class="symbol" tabindex="0" data-words="{escape(NAMES[name], quote=True)}">{found[0]}</span>'

    return KNOWN.sub(word, escape(text))


def shown(name: str) -> str:
    """A symbol with its words: they appear when it is pointed at or reached with the Tab key."""
    symbol = SYMBOLS[name]
    words = escape(symbol.words, quote=True)
    return f'<span class="symbol" tabindex="0" data-words="{words}"><i>{sign(symbol)}</i></span>'


def sign(symbol: Symbol) -> str:
    """Its letters, lowered and raised."""
    tags = {"_": "sub", "^": "sup"}
    return re.sub(r"([_^])([^_^]+)", lambda part: f"<{tags[part[1]]}>{part[2]}</{tags[part[1]]}>", symbol.sign)


def names(formula: str) -> list[str]:
    """The symbols of a formula, each once."""
    return list(dict.fromkeys(re.findall(r"\[(\w+)\]", formula)))
