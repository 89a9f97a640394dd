"""One iteration by hand: gather p, aim at c, project, for either block; then the multiplier moves."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import ADGM
from adgm.reference import Iterate
from features.explain import lessons
from ui.learn import boards, figures
from ui.learn.chapter import Chapter, ChapterState, Control, Question, Sheet, Talk, Values
from ui.learn.splitting import COLS, LAST, ROWS, TITLES

Floats = NDArray[np.float64]
PARTS = ("p₁", "c₁", "x₁", "p₂", "c₂", "x₂", "y")  # in the order in which an iteration computes them
HEADS = ("Gather p", "Aim at c", "Project", "Move y")
LIT = {"p": "cost", "c": "multiplier penalty", "x": "rule", "y": "multiplier"}
CELL, WHOLE = "1-3", ""  # row and column; of the sum of products no single one
DIGITS = 3


@dataclass(frozen=True, eq=False)
class Moment:
    """All numbers of one sub-step, as matrices. `block`: the one that is solved, 0 or 1."""

    block: int
    rho: float
    other: Floats  # the other block, held fixed
    before: Floats  # the multiplier during the iteration
    linear: Floats  # p
    target: Floats  # c
    blocks: tuple[Floats, Floats]  # after the iteration
    after: Floats  # the multiplier after it
    shown: Floats  # the block as it is at this sub-step


def kind(values: Values) -> int:
    """Which of the four steps: 0 gather, 1 aim, 2 project, 3 move."""
    return "pcxy".index(values["part"][0])


def block_of(values: Values) -> int:
    return int(values["part"][1:] == "₂")


def moment(values: Values) -> Moment:
    before, after = lessons.trail()[values["iteration"] - 1], lessons.trail()[values["iteration"]]
    assert isinstance(after, Iterate)
    block = block_of(values)
    old, new, duals = (list(each.reshape(-1, 4, 4)) for each in (before.blocks, after.blocks, before.duals))
    return Moment(
        block,
        before.rho,
        new[0] if block else old[1],
        duals[0],
        after.linear[block].reshape(4, 4),
        after.targets[block].reshape(4, 4),
        (new[0], new[1]),
        after.duals[0].reshape(4, 4),
        new[block] if kind(values) >= 2 else old[block],
    )


def cell_of(text: str, default: str = CELL) -> tuple[int, int]:
    """Row and column from a link; the chapter's own where it makes no sense."""
    with contextlib.suppress(ValueError):
        row, col = (int(part) for part in text.split("-"))
        if 0 <= row < 4 and 0 <= col < 4:
            return row, col
    return cell_of(default)


def former(words: Mapping[str, str]) -> Mapping[str, str]:
    """Addresses from before the sub-steps name block, row and column in one word."""
    block, _, cell = words.get("cell", "").partition("-")
    if cell.count("-") != 1:
        return words
    return {**words, "cell": cell, "part": PARTS[4] if block == "1" else PARTS[1]}


def parts(values: Values) -> lessons.Parts:
    """How the target of the picked entry comes about."""
    row, col = cell_of(values["cell"])
    before, after = lessons.trail()[values["iteration"] - 1], lessons.trail()[values["iteration"]]
    method = lessons.SPLIT.method_object()
    assert isinstance(after, Iterate) and isinstance(method, ADGM)
    return lessons.parts(method, before, after, block_of(values), 4 * row + col)


def n(value: float) -> str:
    """A number as the matrices show it; in brackets if it is negative."""
    text = f"{value + 0.0:.{DIGITS}f}"
    return f"({text.replace('-', '−')})" if text.startswith("-") and float(text) else text.lstrip("-")


# ---- what is shown ------------------------------------------------------------------------------------------


def shown(title: str, values: Floats, picked: tuple[int, int] | None, pick: bool = False) -> dict[str, Any]:
    made = boards.matrix(title, values, ROWS, COLS, picked=[picked] if picked else [], digits=DIGITS)
    return made | {"kind": "matrix", "pick": pick}


def gather(values: Values, now: Moment) -> list[dict[str, Any]]:
    """p: for each entry sixteen products, of which one can be looked at."""
    row, col = cell_of(values["cell"])
    costs = lessons.costs_beside(4 * row + col).reshape(4, 4)
    single = values["term"] != WHOLE
    at = cell_of(values["term"]) if single else None
    name, other = f"{ROWS[row]}{COLS[col]}", TITLES[1 - now.block]
    if at:
        told = [
            f"One of the 16 products of p at {name}:",
            f"F({name}, {ROWS[at[0]]}{COLS[at[1]]}) × {other[-2:]} at {ROWS[at[0]]}{COLS[at[1]]}",
            f"= {n(costs[at])} × {n(now.other[at])} = {n(costs[at] * now.other[at])}",
        ]
    else:
        products = [n(value) for value in (costs * now.other).ravel() if abs(value) >= 0.5 * 10.0**-DIGITS]
        told = [
            f"p at {name}: F({name}, ·) times {other[-2:]}, entry by entry, added up:",
            f"{' + '.join(products) or '0'} = {n(now.linear[row, col])}",
            "Click an entry of F to see one multiplication.",
        ]
    words = {"kind": "words", "lines": told, "back": "Back to the sum" if at else None}
    return [
        shown(f"{other}, held fixed", now.other, at),
        shown(f"F({name}, ·): {name} with each other match", costs, at, pick=True),
        shown(f"p{'₁₂'[now.block]}", now.linear, (row, col), pick=True),
        words,
    ]


def aim(values: Values, now: Moment, answered: bool) -> list[dict[str, Any]]:
    """c: the other block, the multiplier and p."""
    at = row, col = cell_of(values["cell"])
    sign = "+" if now.block else "−"
    target = now.target.copy()
    if not answered:
        target[at] = np.nan
    made = n(now.target[at]) if answered else "?"
    other = TITLES[1 - now.block][-2:]
    told = [
        f"c at {ROWS[row]}{COLS[col]}: {other} {sign} y/ρ − p/ρ",
        f"= {n(now.other[at])} {sign} {n(now.before[at])}/{now.rho:g} − {n(now.linear[at])}/{now.rho:g}",
        pulls(values),
        f"= {made}",
    ]
    return [
        shown(f"{TITLES[1 - now.block]}, held fixed", now.other, at, pick=True),
        shown("Multiplier y", now.before, at, pick=True),
        shown(f"p{'₁₂'[now.block]}", now.linear, at, pick=True),
        shown(f"Target c{'₁₂'[now.block]}", target, at, pick=True),
        {"kind": "words", "lines": told, "back": None},
    ]


def pulls(values: Values) -> str:
    """The three numbers that add up to c."""
    made = parts(values)
    return f"= {n(made.neighbour)} + {n(made.multiplier)} + {n(made.cost)}"


def line_of(values: Values, now: Moment) -> tuple[str, Floats, tuple[str, ...], int]:
    """The row or column that is projected: its name, its c, the names of its entries, which one is picked."""
    row, col = cell_of(values["cell"])
    if now.block:
        return f"Row {ROWS[row]}", now.target[row], tuple(f"{ROWS[row]}{each}" for each in COLS), col
    return f"Column {COLS[col]}", now.target[:, col], tuple(f"{each}{COLS[col]}" for each in ROWS), row


def project(values: Values, now: Moment) -> list[dict[str, Any]]:
    """x: the nearest block to c whose rows or columns sum to one."""
    at = cell_of(values["cell"])
    name, c, names, k = line_of(values, now)
    x, tau = lessons.nearest(c), lessons.threshold(c)
    bars = {"kind": "bars", "title": f"{name} of c: what stands above τ stays", "c": c.tolist(), "x": x.tolist()}
    told = [
        f"{names[k]}: {n(c[k])} − {n(tau)} = {n(c[k] - tau)}",
        "Above 0: it stays." if x[k] else "Not above 0: the entry is 0.",
        f"The {name.split()[0].lower()} now sums to 1.",
    ]
    return [
        shown(f"Target c{'₁₂'[now.block]}", now.target, at, pick=True),
        shown(f"New {TITLES[now.block].lower()}", now.blocks[now.block], at, pick=True),
        bars | {"tau": tau, "names": list(names)},
        {"kind": "words", "lines": told, "back": None},
    ]


def move(values: Values, now: Moment) -> list[dict[str, Any]]:
    """y: the multiplier after both blocks."""
    at = row, col = cell_of(values["cell"])
    one, two = now.blocks
    told = [
        f"y at {ROWS[row]}{COLS[col]}: y + ρ (x₁ − x₂)",
        f"= {n(now.before[at])} + {now.rho:g} × ({n(one[at])} − {n(two[at])})",
        f"= {n(now.after[at])}",
    ]
    return [
        shown(TITLES[0], one, at, pick=True),
        shown(TITLES[1], two, at, pick=True),
        shown("Multiplier y before", now.before, at, pick=True),
        shown("Multiplier y after", now.after, at, pick=True),
        {"kind": "words", "lines": told, "back": None},
    ]


def problem_cell(values: Values, now: Moment) -> dict[str, Any]:
    """The four points of both sides, with the block as it is."""
    pair, sides = lessons.pair_of(lessons.SPLIT), []
    for view in (pair.left, pair.right):
        xy = np.asarray(view.points.xy, float)
        sides.append(((xy - xy.min(axis=0)) / np.ptp(xy, axis=0).max()).tolist())
    title = f"The problem, with {TITLES[now.block][-2:]}"
    weights = np.round(now.shown, DIGITS).tolist()
    return {
        "kind": "points",
        "title": title,
        "sides": sides,
        "names": [ROWS, COLS],
        "weights": weights,
        "picked": cell_of(values["cell"]),
    }


def cells(values: Values, answered: bool) -> list[dict[str, Any]]:
    """Everything that a sub-step shows."""
    now = moment(values)
    made = (gather(values, now), aim(values, now, answered), project(values, now), move(values, now))[kind(values)]
    return [problem_cell(values, now), *made]


def show_step(state: ChapterState) -> None:
    made = cells(state.values, state.right)

    def picked(cell: Any) -> None:
        if not (isinstance(cell, list) and len(cell) == 3 and all(isinstance(each, int) for each in cell)):
            return
        where, text = cell[0], f"{cell[1]}-{cell[2]}"
        if cell[1] < 0:
            state.set("term", WHOLE)
        elif cell_of(text) == (cell[1], cell[2]):
            name = "term" if kind(state.values) == 0 and where == 2 else "cell"
            state.set(name, WHOLE if name == "term" and state.values["term"] == text else text)

    heads = [[f"{k + 1} {head}", k == kind(state.values)] for k, head in enumerate(HEADS)]
    boards.steps("learn step", heads, made, picked)


# ---- in words -----------------------------------------------------------------------------------------------


def told(values: Values) -> str:
    """What the sub-step does."""
    k, other = "₁₂"[block_of(values)], "₂₁"[block_of(values)]
    sums = "rows" if block_of(values) else "columns"
    sign = "plus" if block_of(values) else "minus"
    sentences = (
        f"p{k} says what raising an entry of x{k} costs, x{other} held fixed. F: all costs, scaled to −1 at most.",
        f"c{k} makes L smallest if x{k} obeys no rule: x{other}, {sign} y/ρ, minus p{k}/ρ.",
        f"x{k} is the nearest block to c{k} whose {sums} sum to one: a {sums[:-1]}'s entries lose τ and are cut at 0.",
        "y grows where x₁ is larger than x₂: this makes c₁ smaller and c₂ larger next time.",
    )
    return f"Iteration {values['iteration']}, ρ = {moment(values).rho:g}. {sentences[kind(values)]}"


def sum_on_paper(values: Values) -> str:
    row, col = cell_of(values["cell"])
    made = parts(values)
    named = {"x₂": made.neighbour, "− y / ρ": made.multiplier, "− p / ρ": made.cost}
    entries = "".join(f"<td><small>{name}</small>{value:+.3f}</td>" for name, value in named.items())
    title = f"Entry {ROWS[row]}{COLS[col]} of x₁"
    return f"<table><caption>{title}</caption><tr>{entries}<td><small>c</small>?</td></tr></table>"


STEP = Chapter(
    key="step",
    title="One ADMM step by hand",
    claim="An iteration makes the augmented Lagrangian L as small as it gets for one block after the other; then the "
    "multiplier moves.",
    task="Step forward through p, c and x of both blocks, then y. Click an entry to follow it.",
    formula="L = {cost:[F]([x1], [x2])} + {multiplier:[yT] ([x1] − [x2])} + {penalty:«[rho]¦2» ‖[x1] − [x2]‖^{2}}\n"
    "{rule:[x1] ∈ [Mc], [x2] ∈ [Mr]}",
    source="equations (9), (11), (29) to (31); the terms that act now are highlighted",
    controls=(
        Control("part", "Sub-step", PARTS, PARTS[0], kind="words", steps=True, carries="iteration"),
        Control("iteration", "Iteration", tuple(range(1, LAST + 1)), 2),
    ),
    free={"cell": CELL, "term": WHOLE},
    former=former,
    lit=lambda values: LIT[values["part"][0]],
    says=told,
    question=Question(
        "What is the target c of the framed entry? See it at c₁ or c₂.",
        hint="Step to c₁ (or c₂) and add the three numbers below the matrices. Two decimals will do.",
        because="{answer}. Projecting c (subtracting τ, cutting at 0) gives the new entry.",
        number=True,
        tolerance=0.011,
        depends=("iteration", "part", "cell"),
    ),
    code="""from adgm import reference
from features.explain import lessons

problem, method = lessons.problem_of(lessons.SPLIT), lessons.SPLIT.method_object()
first = reference.step(problem, method, method.init(problem))
second = reference.step(problem, method, first)
print(lessons.parts(method, first, second, block=0, entry=7))""",
    picture=show_step,
    answer=lambda values: parts(values).target,
    talk=Talk(
        8,
        "One sub-step at a time, with the key for a step. At p: click an entry of F and read one "
        "multiplication. At c: the three numbers are three opinions (the other block, the memory, the cost). "
        "At x: the bars of the chapter before. At y: compare its signs with the difference of the blocks. Let "
        "the class compute one c before you show it.",
    ),
    sheet=Sheet(
        lambda values: (
            figures.matrices(dict(zip(TITLES, moment(values).blocks, strict=True)), ROWS, COLS) + sum_on_paper(values)
        ),
        "These are the two blocks after the second iteration, and below them the three parts of the target c of one "
        "entry of x₁.",
        "What is the target c of this entry?",
    ),
    recipe=lambda values: lessons.SPLIT,
)
