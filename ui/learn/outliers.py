"""Outliers, and the price of leaving a point out."""

from typing import Any

from features.explain import lessons
from features.plots.theme import GREEN, VERMILION
from ui.learn import figures, pictures
from ui.learn.chapter import Chapter, ChapterState, Control, Question, Sheet, Talk, Values

PRICES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.2, 1.5, 2.0, 3.0)
HIGH, FAIR = 3.0, 0.9


def told(values: Values) -> str:
    run = lessons.priced(values["price"])
    return f"{run.metrics.matched} matches: **{run.right} of 15 right**, {lessons.strays(run)} wrong"


def change(values: Values) -> str:
    before, after = lessons.priced(HIGH).right, lessons.priced(FAIR).right
    return "more" if after > before else "fewer" if after < before else "as many"


def counted(values: Values) -> dict[str, Any]:
    """The numbers behind the answer."""
    high, fair = lessons.priced(HIGH), lessons.priced(FAIR)
    lower = max(price for price in PRICES if price < FAIR and lessons.priced(price).right < fair.right)
    return {
        "high": f"{high.right} right and {lessons.strays(high)} wrong at price {HIGH:g}",
        "fair": f"{fair.right} and {lessons.strays(fair)} at {FAIR:g}",
        "lower": f"at {lower:g} only {lessons.priced(lower).right} right ones are left",
    }


def show_outliers(state: ChapterState) -> None:
    run = lessons.priced(state.values["price"])
    tried = state.notes.setdefault("tried", {})
    tried[state.values["price"]] = (run.right, lessons.strays(run))
    pictures.matching("learn outliers", run, 228)
    series = [
        pictures.dots(name, [[price, counts[k]] for price, counts in tried.items()], colour, symbol)
        for k, (name, colour, symbol) in enumerate((("right", GREEN, "circle"), ("wrong", VERMILION, "triangle")))
    ]
    pictures.chart(
        "learn prices",
        series,
        {"name": "price u", "min": 0, "max": 3.2},
        {"name": "matches", "min": 0, "max": 16, "splitNumber": 3},
        "Right and wrong matches over the price",
        160,
        grid={"left": 8, "right": 8, "top": 28, "bottom": 26, "containLabel": True},
    )


OUTLIERS = Chapter(
    key="outliers",
    title="Outliers and the price of leaving out",
    claim="Points without a partner must stay alone; the price of leaving points unmatched decides how many do.",
    task="15 points on each side belong together; 10 more on each side have no partner. At price 3 nearly all are "
    "matched. Predict, then run.",
    formula="[E] = Σ_{i} ([ci] − [u]) [xi] + Σ_{ij} [F2] [xi] [xj]\nΣ [xi] ≤ 1 in rows and columns",
    source="section 3.3: sums at most one, where points may be missing",
    controls=(Control("price", "Price u of leaving points unmatched", PRICES, HIGH, later=True),),
    says=told,
    question=Question(
        "The price falls from 3 to 0.9. How many right matches then?",
        hint="Move the price down step by step and watch both curves: who loses matches first, right or wrong ones?",
        because="There are {answer}: {high}, {fair}. A high price forces matches on outliers; a price too low "
        "takes right ones away: {lower}. "
        "Where every match costs something on its own, plain ADGM (ADGM1) can get stuck at no match at all; ADGM "
        "(self-tuning) starts again.",
        options=("fewer", "as many", "more"),
        button="Run",
        then={"price": FAIR},
    ),
    code="""from features.explain import lessons

for price in (0.3, 0.9, 3.0):
    run = lessons.priced(price)
    print(price, "right", run.right, "wrong", lessons.strays(run))""",
    picture=show_outliers,
    answer=change,
    outcome=lambda values: f"{lessons.priced(FAIR).right} right matches instead of {lessons.priced(HIGH).right}",
    talk=Talk(
        4,
        "Count the lines that end at points without a partner. Ask what happens to them, and to right ones, "
        "when leaving out gets cheap. Lower the price step by step to the end: at last nothing is matched.",
    ),
    sheet=Sheet(
        lambda values: figures.matching(lessons.priced(HIGH)),
        "15 points on each side belong together; 10 more on each side have no partner. This is the matching at "
        "price 3.",
    ),
    numbers=counted,
    recipe=lambda values: lessons.priced_recipe(values["price"]),
    work=told,
)
