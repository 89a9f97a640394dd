"""The Learn page: what its chapters claim holds in numbers, its text is whole, and every control and answer works."""

import contextlib
import io
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from numpy.testing import assert_allclose
from streamlit.testing.v1 import AppTest

from adgm import ADGM, EXACTLY_ONE, prices, reference
from adgm.reference import Iterate
from features import lessons
from features.recipe import OWN, Recipe
from ui import teach
from ui.learn import formula, worksheet
from ui.learn.assignment import SIX, as_points, as_text
from ui.learn.chapter import Chapter
from ui.learn.chapters import CHAPTERS

COURSE = list(CHAPTERS.values())
EACH = pytest.mark.parametrize("chapter", COURSE, ids=lambda chapter: chapter.key)

# ---- the numbers ---------------------------------------------------------------------------------------------


def test_one_of_six_matchings_is_best_and_the_terms_add_up():
    ranked = lessons.ranking(lessons.triangles())
    assert ranked[0].name == "A3 B1 C2"
    assert len({each.name for each in ranked}) == 6
    assert ranked[0].energy < ranked[1].energy - 0.5  # no tie: the question has one answer
    for each in ranked:
        assert_allclose(sum(term.cost for term in each.terms), each.energy)
    assert {each.name for each in ranked} == set(SIX)


def test_structure_repairs_what_descriptors_confuse():
    assert lessons.structure(0.0).right == 18
    assert lessons.structure(1.0).right == 30


def test_each_block_keeps_its_half_of_the_rules_until_both_agree():
    trail, problem = lessons.trail(), lessons.problem_of(lessons.SPLIT)
    assert len(trail) == 10 and trail[-1].converged  # the slider's range
    for state in trail[1:]:
        first, second = (lessons.sums(problem.matrix(block)) for block in state.blocks)
        assert first.cols and second.rows
    assert [str(lessons.sums(problem.matrix(block))) for block in trail[1].blocks] == ["columns", "rows"]
    assert [str(lessons.sums(problem.matrix(block))) for block in trail[-1].blocks] == ["both", "both"]


def test_the_projection_takes_one_threshold_from_all():
    for c in ([0.75, 0.45, -0.2], [1.6, -0.1, -0.5], [0.2, 0.5, 0.3]):
        x, tau = lessons.nearest(c), lessons.threshold(c)
        assert_allclose(x, np.maximum(np.array(c) - tau, 0.0), atol=1e-12)
        assert_allclose(x.sum(), 1.0)
    assert (lessons.nearest([1.6, -0.1, -0.5]) == [1, 0, 0]).all()


def test_the_parts_of_an_entry_add_up_to_its_target():
    trail, method = lessons.trail(), lessons.SPLIT.method_object()
    for before, after in pairwise(trail):
        assert isinstance(after, Iterate)
        for block in (0, 1):
            for entry in range(16):
                made = lessons.parts(method, before, after, block, entry)
                assert_allclose(made.neighbour + made.multiplier + made.cost, made.target, atol=1e-12)
    third = lessons.turned_recipe("third", 60.0, 1.6)
    for coupling in ("adgm1", "adgm2"):  # three blocks, star and chain
        method = replace(third, method=coupling).method_object()
        before = method.init(lessons.problem_of(third))
        after = reference.step(lessons.problem_of(third), method, before)
        for block in range(3):
            made = lessons.parts(method, before, after, block, 5)
            assert_allclose(made.neighbour + made.multiplier + made.cost, made.target, atol=1e-9)


def test_a_small_penalty_wanders_and_a_large_one_freezes():
    runs = {rho: lessons.penalised(rho) for rho in (0.001, 1.0, 30.0, "paper", "ours")}
    energy = {rho: run.metrics.energy for rho, run in runs.items()}
    assert energy[30.0] > energy[1.0] + 10 and energy[30.0] > energy[0.001] + 10
    assert runs[0.001].result.iterations > 20 * runs[1.0].result.iterations
    assert_allclose([energy["paper"], energy["ours"]], energy[1.0])
    assert runs["ours"].result.iterations < runs["paper"].result.iterations


def test_distances_fail_and_angles_survive():
    assert lessons.turned("B", 0.0, 1.0).right == lessons.turned("third", 0.0, 1.0).right == 10
    assert lessons.turned("B", 60.0, 1.0).right == 10  # turning alone leaves distances as they are
    assert lessons.turned("B", 60.0, 1.6).right <= 2
    assert lessons.turned("third", 60.0, 1.6).right == 10


def test_one_problem_is_wrong_and_the_other_stuck():
    wrong, stuck = lessons.solved(lessons.WRONG), lessons.solved(lessons.STUCK)
    assert wrong.metrics.verdict == "model prefers this" and stuck.metrics.verdict == "optimiser stuck"
    careful = lessons.careful(lessons.WRONG)
    assert lessons.proved(lessons.WRONG) and careful.metrics.verdict == "model prefers this"
    rescued = lessons.careful(lessons.STUCK)
    assert lessons.proved(lessons.STUCK) and rescued.right == rescued.metrics.possible == 8


def test_a_fair_price_keeps_outliers_out_and_a_high_one_costs_right_matches():
    low, fair, high = (lessons.priced(price) for price in (0.3, 0.9, 3.0))
    assert fair.right == 15 and lessons.strays(fair) <= 2
    assert high.right < fair.right and lessons.strays(high) > 10
    assert low.right < fair.right
    assert sum(len(side) for side in fair.pair.outliers()) == 20


def test_a_price_on_every_match_leaves_the_published_algorithm_with_nothing():
    published, default = lessons.trapped("adgm1"), lessons.trapped("adgm")
    assert all((p.costs >= 0).all() for p in published.problem.potentials if p.order(published.problem.shape) == 1)
    assert published.metrics.matched == 0 and published.result.status == "converged" and published.result.note
    assert default.result.energy < published.result.energy == 0 and default.result.state.stage == prices.AGAIN


def test_about_a_third_of_the_starts_is_lucky_and_a_few_runs_suffice():
    energies = lessons.lucky_starts()
    assert len(energies) == 30
    assert 8 <= lessons.reached(energies) <= 14
    assert lessons.chance(1, energies) < 0.5 < 0.85 < lessons.chance(5, energies)
    assert_allclose(lessons.careful(lessons.LUCK).metrics.energy, energies.min())


def problems() -> dict[str, tuple[object, ADGM]]:
    """Every problem that a chapter shows, with ADGM as published."""
    recipes = {
        "structure": lessons.structure_recipe(1.0),
        "split": lessons.SPLIT,
        "penalty": lessons.PENALTY,
        "distances": lessons.turned_recipe("B", 60.0, 1.6),
        "angles": lessons.turned_recipe("third", 60.0, 1.6),
        "wrong": lessons.WRONG,
        "stuck": lessons.STUCK,
        "outliers": lessons.OUTLIERS,
        "luck": lessons.LUCK,
    }
    found = {name: (lessons.problem_of(recipe), ADGM(rho0=0.4)) for name, recipe in recipes.items()}
    return found | {"triangles": (lessons.triangles(), ADGM(rho0=0.4))}


@pytest.mark.parametrize(
    "name",
    ["triangles", "structure", "split", "penalty", "distances", "angles", "wrong", "stuck", "outliers", "luck"],
)
def test_the_reference_equals_the_solver_iterate_by_iterate(name):
    problem, method = problems()[name]
    mine = theirs = method.init(problem)
    for _ in range(4 if problem.n > 500 else 12):
        mine, theirs = reference.step(problem, method, mine), method.step(problem, theirs)
        assert_allclose(mine.blocks, theirs.blocks, atol=1e-9)
        assert_allclose(mine.duals, theirs.duals, atol=1e-9)
        assert_allclose([mine.rho, mine.gap, mine.change], [theirs.rho, theirs.gap, theirs.change], atol=1e-9)
        if mine.converged:
            break


# ---- the text ------------------------------------------------------------------------------------------------


def words(text: str) -> int:
    return len(re.findall(r"[\w’'-]+", text))


@EACH
def test_a_chapter_is_short_and_complete(chapter: Chapter):
    assert words(chapter.claim) + words(chapter.task) < 60  # before the first thing to do
    assert 1 <= len(re.findall(r"[.?!](?:\s|$)", chapter.claim)) == 1  # one sentence
    assert len(chapter.controls) <= 3
    assert set(chapter.question.depends) <= chapter.defaults.keys()
    assert chapter.question.then.keys() <= chapter.defaults.keys()
    for name in formula.names(chapter.formula):
        assert words(formula.SYMBOLS[name].words) >= 3
    assert "[" not in re.sub(r"<[^>]*>", "", formula.html(chapter.formula))


@EACH
def test_the_right_answer_is_among_the_options(chapter: Chapter):
    right = chapter.answer(chapter.defaults)
    if chapter.question.options:
        assert right in chapter.question.options
    assert chapter.told(chapter.defaults)
    assert "{" not in chapter.told(chapter.defaults)


EXPECTED = {
    "assignment": "A3 B1 C2 0.53",
    "structure": "0 18\n1 30",
    "split": "1 ['columns', 'rows']",
    "simplex": "[1. 0. 0.]",
    "step": "target=3.34",
    "penalty": "30.0 -38.5 359",
    "order": "B 1\nthird 10",
    "verdict": "model prefers this | model prefers this\noptimiser stuck | both agree",
    "outliers": "0.9 right 15 wrong 1",
    "luck": "11 of 30\nbest of five: 90%",
}


@EACH
def test_the_lines_of_python_repeat_the_chapter(chapter: Chapter):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(chapter.code, {})
    assert EXPECTED[chapter.key] in said.getvalue()
    lines = [line for line in chapter.code.splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 4


class Reader(HTMLParser):
    """Collects the text, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


@pytest.mark.parametrize("answers", [False, True])
def test_the_worksheet_is_made_from_the_same_text(answers):
    reader = Reader()
    reader.feed(worksheet.page(COURSE, answers=answers))
    assert not reader.open
    for chapter in COURSE:
        assert chapter.claim in reader.text and chapter.question.text in reader.text
        assert (chapter.told(chapter.defaults) in reader.text) == answers
        assert (chapter.question.hint in reader.text) == answers


def test_links_that_make_no_sense_are_not_followed():
    plain = as_points("")
    assert (
        as_points("1,2;3|4") == as_points("1,1;2,2;nan,3|1,1;2,2;3,3") == as_points("9,1;2,2;3,3|1,1;2,2;3,3") == plain
    )
    assert as_points(as_text(plain)) == plain
    for chapter in COURSE:
        for control in chapter.controls:
            assert control.read("rubbish") == control.default
            assert all(control.read(str(option)) == option for option in control.options)


# ---- the page ------------------------------------------------------------------------------------------------


def page() -> None:
    from ui import present
    from ui.learn import show

    present.begin()
    show()


class Visit:
    """The page without a browser."""

    def __init__(self, script: Callable[[], None] = page, **query: str) -> None:
        self.test = AppTest.from_function(script, default_timeout=60)
        self.test.query_params.update(query)
        self.run()

    def run(self) -> None:
        self.test.run()
        assert not self.test.exception

    def press(self, name: str) -> None:
        next(button for button in self.test.button if button.label == name).click()
        self.run()

    def answer(self, given: object) -> None:
        box = (*self.test.radio, *self.test.number_input)
        if box:
            box[0].set_value(given)
        self.press(next(button.label for button in self.test.button if button.label in ("Check", "Run")))

    def widget(self, name: str):
        kinds = ("select_slider", "button_group")
        return next(w for kind in kinds for w in self.test.get(kind) if str(w.key).endswith(f" {name}"))

    def query(self, name: str) -> str:
        found = self.test.query_params.get(name, "")
        return found if isinstance(found, str) else found[-1]

    def says(self) -> str:
        return " ".join(str(element.value) for element in (*self.test.markdown, *self.test.caption))


def right_and_wrong(chapter: Chapter) -> tuple[object, object]:
    right = chapter.answer(chapter.defaults)
    if chapter.question.number:
        return round(float(right), 2), float(right) + 1
    return right, next((option for option in chapter.question.options if option != right), None)


@EACH
def test_a_wrong_answer_gets_a_hint_and_a_right_one_a_reason(chapter: Chapter):
    visit = Visit(chapter=chapter.key)
    right, wrong = right_and_wrong(chapter)
    visit.answer(wrong)
    assert [info.value for info in visit.test.info] == [chapter.question.hint]
    assert not visit.test.error and not visit.test.success
    assert "0 of 10 answered" in visit.says()
    solved = {"assignment": {"try": "A3 B1 C2"}, "simplex": {"c": "1.6,-0.1,-0.5"}}.get(chapter.key, {})
    if solved:
        visit = Visit(chapter=chapter.key, **solved)
    visit.answer(right)
    assert [success.value for success in visit.test.success] == [chapter.told(chapter.defaults | solved)]
    assert "1 of 10 answered" in visit.says()


@EACH
def test_every_control_moves_and_is_in_the_address(chapter: Chapter):
    visit = Visit(chapter=chapter.key)
    assert all(visit.widget(control.name).disabled == control.later for control in chapter.controls)
    visit.answer(right_and_wrong(chapter)[0])
    for control in chapter.controls:
        for option in (control.options[-1], control.options[0]):
            visit.widget(control.name).set_value(option)
            visit.run()
            assert visit.query(control.name) == ("" if option == control.default else str(option))


def test_no_answer_asks_for_a_guess():
    visit = Visit(chapter="penalty")
    visit.press("Check")
    assert "Predict first" in visit.test.info[0].value


def test_steps_go_forth_and_back_and_end_where_the_run_ends():
    visit = Visit(chapter="split", k="8")
    visit.press("Step forward")
    assert visit.query("k") == "9"
    assert "both are the same matching" in visit.says()
    assert next(button for button in visit.test.button if button.label == "Step forward").disabled
    visit.press("Step back")
    assert visit.query("k") == "8"


def test_a_question_about_the_shown_state_is_asked_anew_when_it_changes():
    visit = Visit(chapter="split")
    visit.answer("columns")
    assert visit.test.success
    visit.press("Step forward")
    assert not visit.test.success and not visit.test.info


def test_chapters_follow_each_other_and_keep_their_state():
    visit = Visit()
    assert visit.query("chapter") == "assignment"
    for chapter in COURSE[1:]:
        visit.press("Next")
        assert visit.query("chapter") == chapter.key
    assert next(button for button in visit.test.button if button.label == "Next").disabled
    visit = Visit(chapter="split", k="3")
    visit.press("Next")
    assert visit.query("k") == ""
    visit.press("Previous")
    assert visit.query("k") == "3"


def test_a_link_locks_what_it_names_and_nothing_else():
    visit = Visit(chapter="penalty", rho="1.0", lock="rho")
    assert visit.widget("rho").disabled and visit.widget("rho").value == 1.0
    visit.answer("30")
    assert not visit.widget("rule").disabled
    assert visit.query("lock") == "rho"


def test_the_course_uses_no_download():
    for chapter in COURSE:
        brought = OWN if chapter.brings else None
        assert chapter.recipe(chapter.defaults).dataset in ("turntable", "random", "warp", brought)
    assert lessons.STRUCTURE.model_params["rows"] == EXACTLY_ONE


# ---- on the Match page -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected", "good"),
    [
        ("30", "30", True),
        ("29.9", "30", True),
        ("29", "30", False),
        ("Both  Agree", "both agree", True),
        ("no", "1", False),
    ],
)
def test_a_lecturers_answer_is_compared_as_a_number_or_as_words(given, expected, good):
    assert teach.right(given, expected) is good


def match() -> None:
    from ui import match, present

    present.begin()
    match.show()()


def test_a_link_brings_a_question_to_match_and_a_wrong_answer_a_second_look():
    visit = Visit(match, **lessons.STUCK.to_query(), ask="Is **it** stuck?", answer="yes", lock="model")
    assert "Is **it** stuck?" in [text.value for text in visit.test.text]  # as text, not as markup
    box = next(box for box in visit.test.text_input if box.key == "teach answer")
    box.set_value("no")
    visit.run()
    assert "look again" in visit.test.info[-1].value
    next(box for box in visit.test.text_input if box.key == "teach answer").set_value("Yes")
    visit.run()
    assert visit.test.success
    assert visit.query("ask") and visit.query("lock") == "model"  # the address keeps them


def test_what_is_on_the_screen_becomes_a_link_with_a_question():
    visit = Visit(match, **lessons.STUCK.to_query())
    next(box for box in visit.test.text_area if box.key == "teach question").set_value("How many & why?")
    next(box for box in visit.test.multiselect if box.key == "teach locks").set_value(["rho", "model"])
    visit.run()
    link = next(code.value for code in visit.test.code if "ask=" in code.value)
    words = dict(parse_qsl(urlsplit(link).query))
    assert (words.pop("ask"), words.pop("lock")) == ("How many & why?", "rho,model")
    assert Recipe.from_query(words) == lessons.STUCK


def test_dragged_points_travel_to_match_with_their_costs():
    moved = [[[1.0, 1], [4, 1], [1, 5]], [[2.0, 2], [5, 2], [2, 5]]]
    pair = lessons.triangle_pair(*moved)
    problem = Recipe(OWN, model="given").problem(pair)
    best = lessons.ranking(lessons.triangles(*moved))[0]
    x = np.eye(3)[list(best.matching)].ravel()
    assert problem.energy(x) == pytest.approx(best.energy)
    assert pair.left.points.labels == lessons.NAMES and not pair.judged
