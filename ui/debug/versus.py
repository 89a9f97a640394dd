"""Another model on the same pairs: which is right more often, by how much, how sure that is, and on which pairs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from adgm.explain.terms import Match
from features.explain import Case
from features.explain.trials import Trial, has_gap, pairs_like
from features.explain.versus import Duel, Versus, category, duels, every_kind, kinds_of
from features.formulas.text import parse
from features.models import MODELS, written
from features.recipe import CONSTRAINED, OWN, Recipe
from features.tables import csv_text
from ui.choice import address
from ui.choice.formula import own_model
from ui.debug import background, leave
from ui.debug import picture as case_picture
from ui.jobs.task import Report
from ui.parts.charts.legible import draw
from ui.parts.charts.tools import gains_chart
from ui.parts.downloads import download
from ui.parts.escape import literal
from ui.parts.pictures import inline
from ui.shell.session_slots import begin

AGAINST, PAIRS, WIDE, EVERY = "versus model", "versus pairs", "versus any gap", "versus every kind"
DEFAULTS, ON_MATCH, FORMULA = "the same, with its default values", "as chosen on Match", "a formula"
LIMIT = 20.0  # seconds for each run
LINE, LEAST = 34, 110  # pixels of the chart


def show(case: Case, focus: Match | None) -> None:
    if case.recipe.dataset == OWN:
        st.info("This pair is your own: two models are compared on many pairs. Choose a data set on Match.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="versus-asked"):
        offered = opponents(case.recipe)
        names = [*offered, FORMULA]
        if (now := begin(AGAINST, names[0])) not in names:
            now = st.session_state[AGAINST] = names[0]
        name = st.selectbox(
            f"{MODELS[case.recipe.model].label} against", names, names.index(now), key=AGAINST, width=300
        )
        kinds = kinds_of(case.recipe)
        every = kinds is not None and st.toggle(f"every {kinds[0]}", begin(EVERY, False), key=EVERY)
        wide = has_gap(case.recipe) and st.toggle(
            "any two frames", begin(WIDE, False), key=WIDE, help="However far apart they are"
        )
        word = f"Pairs of each {kinds[0]}" if kinds is not None and every else "Pairs"
        count = int(st.number_input(word, 1, 200, begin(PAIRS, 20), key=PAIRS, width=130))
        place = st.container(width="content")
    second = typed(case.recipe) if name == FORMULA or name is None else offered[name]
    if second is None:
        return
    question = ("versus", second, count, wide, every)
    with place:
        background.button(case, question, "Compare", partial(fought, case.recipe, second, count, wide, every))
    found = background.answer(case, question)
    if found is None or not found.value:
        st.caption(
            "Both models are solved on the same pairs by the same method. The interval of their difference is a "
            "bootstrap over the pairs: where it holds 0, the difference may be chance."
        )
        case_picture.waiting(case, focus)
        return
    outcome(case, found.value)


def opponents(recipe: Recipe) -> dict[str, Recipe]:
    """What a recipe's model can be compared with: the same run with another model, by the name that is offered."""
    mine, now = recipe.concise(), address.current().concise()
    rules = {name: value for name, value in mine.model_params.items() if name in CONSTRAINED}
    found: dict[str, Recipe] = {}
    if mine.model_params != rules:
        found[DEFAULTS] = replace(mine, model_params=rules)
    if (now.model, now.model_params) != (mine.model, mine.model_params):
        label = f"{ON_MATCH}: {MODELS[now.model].label}"
        found[label] = replace(mine, model=now.model, model_params=now.model_params)
    for key, model in MODELS.items():
        if key != mine.model and not model.given and model.photographs == MODELS[mine.model].photographs:
            found[model.label] = replace(mine, model=key, model_params=rules)
    return {name: one for name, one in found.items() if not MODELS[one.model].given and not one.misfit}


def typed(recipe: Recipe) -> Recipe | None:
    """The same run with a formula that is typed here; None, and what is wrong with it, where it is no model."""
    key = f"versus formula {recipe.model}"
    first = own_model.start_from(recipe).model if not written(recipe.model) else recipe.model
    text = st.text_area("Formula", begin(key, first), key=key, height="content")
    parsed = parse(text)
    if parsed.mistakes or parsed.model is None:
        st.warning(literal(str(parsed.mistakes[0])) if parsed.mistakes else "Type a formula.")
        return None
    rules = {name: value for name, value in recipe.model_params.items() if name in CONSTRAINED}
    second = replace(recipe, model=text.rstrip(), model_params=rules).concise()
    if (second.model, second.model_params) == (recipe.model, recipe.concise().model_params):
        st.caption("This is the model that is debugged: change it to compare the two.")
        return None
    if second.misfit:
        st.warning(literal(second.misfit))
        return None
    return second


def fought(first: Recipe, second: Recipe, count: int, wide: bool, every: bool, report: Report) -> tuple[Duel, ...]:
    """Every pair by both."""
    report(0.0, "drawing pairs")
    recipes = (every_kind if every else pairs_like)(first, count, any_gap=wide)
    done: list[Duel] = []
    report(0.0, f"0 of {len(recipes)} pairs")
    for one in duels(first, second, recipes, time_limit=LIMIT):
        done.append(one)
        report(len(done) / len(recipes), f"{len(done)} of {len(recipes)} pairs", tuple(done))
    return tuple(done)


def outcome(case: Case, fights: Sequence[Duel]) -> None:
    """Who is better, by kind of pair, and the pairs where they differ most."""
    try:
        found = Versus.of(fights)
    except ValueError as error:  # no truth is known
        st.warning(literal(str(error)))
        return
    st.markdown(f"**{literal(found.verdict)}**")
    numbers, chart = st.columns([3, 2])
    with numbers:
        header = ["pairs of" if found.categories else "", *found.table.header[1:]]
        st.dataframe([dict(zip(header, line, strict=True)) for line in found.table.lines], hide_index=True)
        st.caption("  \n".join(map(literal, found.told)))
    with chart:
        lines = (*found.categories, found.whole)
        alt = f"By how much {found.names[1]} is right more often than {found.names[0]}, with intervals"
        draw(gains_chart(lines), height=LEAST + LINE * len(lines), renderer="svg", key="versus chart", alt=alt)
    pairs(case, found)
    download("Pairs (CSV)", "versus.csv", lambda: csv_of(found), icon=":material/download:")


def csv_of(found: Versus) -> str:
    rows = [trial.to_dict() for duel in found.duels for trial in (duel.first, duel.second)]
    return csv_text(rows, list(dict.fromkeys(name for row in rows for name in row)))


def pairs(case: Case, found: Versus) -> None:
    """Every pair, those first where both differ most; the selected one with both matchings."""
    rows = [row(found, one) for one in found.duels]
    percent = st.column_config.NumberColumn(format="percent")
    points = st.column_config.NumberColumn(format="%+.1f", help="In percentage points")
    picked = st.dataframe(
        rows,
        hide_index=True,
        height=min(35 * len(rows) + 38, 250),
        alt="The pairs, those first where both differ most",
        key=f"versus pairs {len(rows)} {found.names}",
        on_select="rerun",
        selection_mode="single-row",
        column_config={**dict.fromkeys(found.names, percent), "difference": points},
    )
    at = picked["selection"]["rows"]
    if not at or at[0] >= len(rows):
        st.caption("Select a pair to see it matched by both.")
        return
    duel = found.duels[at[0]]
    for place, name, trial in zip(st.columns(2), found.names, (duel.first, duel.second), strict=True):
        with place:
            matched(case, name, trial)


def row(found: Versus, duel: Duel) -> dict[str, object]:
    """A pair in the table."""
    kind = {"pair": duel.first.name} | ({"kind": category(duel.first.recipe)} if found.categories else {})
    shares = [trial.metrics.accuracy for trial in (duel.first, duel.second)]
    return {**kind, **dict(zip(found.names, shares, strict=True)), "difference": 100 * duel.gain}


def matched(case: Case, name: str, trial: Trial) -> None:
    """A pair as one of the models matches it, and where it goes from here."""
    st.markdown(f"**{literal(name)}**: {literal(trial.metrics.caption)}")
    st.image(inline(leave.drawn(case, trial)[1]), width="stretch", alt=f"The pair, matched by {name}")
    with st.container(horizontal=True, key=f"versus open {name}"):
        leave.debug_button(trial.recipe, f"versus debug {name}", "Debug it")
        leave.match_button(trial.recipe, f"versus match {name}")
