"""Chapter 9: outliers, and the price of leaving a point out."""

from features import lessons
from features.plots.theme import GREEN, VERMILION
from ui.learn import pictures
from ui.learn.chapter import Chapter, Control, Desk, Question, Values

PRICES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.2, 1.5, 2.0, 3.0)
HIGH, FAIR = 3.0, 0.9


def told(values: Values) -> str:
    run = lessons.priced(values["price"])
    return f"{run.metrics.matched} matches: **{run.right} of 15 right**, {lessons.strays(run)} wrong"


def change(values: Values) -> str:
    before, after = lessons.priced(HIGH).right, lessons.priced(FAIR).right
    return "more" if after > before else "fewer" if after < before else "as many"


def show_outliers(desk: Desk) -> None:
    run = lessons.priced(desk.values["price"])
    tried = desk.notes.setdefault("tried", {})
    tried[desk.values["price"]] = (run.right, lessons.strays(run))
    pictures.matching("learn outliers", run, 235)
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
    claim="Points without a partner must stay alone; a price for every match not made decides how many do.",
    task="15 points on each side belong together; 10 more on each side have no partner. At price 3 nearly all are "
    "matched. Predict, then run.",
    formula="[F1] = [ci] − [u],  Σ [xi] ≤ 1 in rows and columns",
    source="section 3.3: sums at most one, where points may be missing",
    controls=(Control("price", "Price u of a match not made", PRICES, HIGH, later=True),),
    says=told,
    question=Question(
        "The price falls from 3 to 0.9. How many right matches then?",
        hint="Move the price down step by step and watch both curves: who loses matches first, right or wrong ones?",
        because="There are {answer}. Forced matches of outliers push right ones aside; below 0.5 right ones go too. "
        "With triangles for edges (w₂ = 0, w₃ = 3) and u = 0 every match costs a price, and ADGM1 ends with none at "
        "all. ADGM (self-tuning) then starts again with that price on triples, too, and ends with a better matching.",
        options=("fewer", "as many", "more"),
        button="Run",
        then={"price": FAIR},
    ),
    code="""from features import lessons

for price in (0.3, 0.9, 3.0):
    run = lessons.priced(price)
    print(price, "right", run.right, "wrong", lessons.strays(run))""",
    picture=show_outliers,
    answer=change,
    recipe=lambda values: lessons.priced_recipe(values["price"]),
    work=told,
)
