"""Fitting a model: what is linear is found, the margin programme is optimal, and untouched pairs gain."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adgm import Dense
from features import match
from features.__main__ import main
from features.explain import run_book
from features.explain.fitting import Fitting, fit, split
from features.explain.max_margin import Example, linear, max_margin, objective, programme, typical
from features.explain.run_book import MOST, RunBook
from features.explain.sweeps import Span
from features.explain.trials import Bench, pairs_like, parameter, varied
from features.limits import LAPTOP
from features.models import MODELS
from features.models.base import Model, number
from features.pairs import Pair, View
from features.points.images import Image
from features.recipe import OWN, Recipe

SMALL = {"inliers": 6, "outliers": 2}


def two_terms(pair: Pair, *, good: float, noise: float, power: float) -> list[Dense]:
    """A term that mostly knows the truth, one that does not, and a parameter that does not enter linearly."""
    rng = np.random.default_rng(np.abs(pair.left.points.xy).sum().astype(int))
    knows = np.ones(pair.shape)
    knows[np.arange(pair.shape[0]), np.asarray(pair.truth)] = 0.4
    knows += rng.uniform(0, 0.3, pair.shape)
    return [Dense(good * knows), Dense(noise * rng.uniform(0, 1, pair.shape)), Dense(np.full(pair.shape, 0.1**power))]


@pytest.fixture
def start(monkeypatch) -> Recipe:
    parameters = (
        number("good", "", 0.2, (0, 5), 0.1, "Weight of what knows"),
        number("noise", "", 3.0, (0, 5), 0.1, "Weight of what does not"),
        number("power", "", 1.0, (0.5, 3), 0.1, "Of no use"),
    )
    monkeypatch.setitem(MODELS, "two", Model("Two terms", (1,), "", "cost", "For a test.", two_terms, parameters))
    return Recipe("random", SMALL, "two")


@pytest.mark.parametrize(
    ("recipe", "names"),
    [
        (Recipe("random", SMALL, "A"), ["eta", "weight"]),
        (Recipe("random", SMALL, "B"), []),
        (Recipe("random", SMALL, "C"), ["eta"]),
        (Recipe("random", SMALL, "combined"), ["unmatched", "w1", "w2", "w3"]),  # η only through its product with w₂
        (Recipe("random", SMALL, "combined", {"w3": 1.0}), ["unmatched", "w1", "w2", "w3"]),
    ],
    ids=lambda one: getattr(one, "model", ""),
)
def test_what_enters_the_energy_linearly_is_found_without_being_told(recipe, names):
    floats = [f"model.{one.name}" for one in MODELS[recipe.model].parameters if one.kind == "float"]
    assert linear(recipe, floats, recipe.pair()) == [f"model.{name}" for name in names]


def test_energies_are_predicted_from_the_slopes(start):
    names = ["model.good", "model.noise"]
    example = Example.of(start, names, start.pair())
    moved = varied(varied(start, "model.good", 1.7), "model.noise", 0.3)
    problem = moved.problem(start.pair())
    rng = np.random.default_rng(1)
    for _ in range(5):
        partner = rng.permutation(8)[:6]
        matches = np.stack([np.arange(6), partner], axis=1)
        at, *slopes = example.features(matches)
        assert_allclose(at + np.dot(slopes, [1.7 - 0.2, 0.3 - 3.0]), problem.energy(_full(problem.shape, matches)))


def _full(shape, matches):
    x = np.zeros(shape)
    x[tuple(matches.T)] = 1.0
    return x


def test_the_margin_programme_is_optimal_over_all_matchings(start):
    names = ["model.good", "model.noise"]
    recipes = pairs_like(replace(start, dataset_params={"inliers": 4, "outliers": 0}), 3)
    *_, last = max_margin(recipes, names, Bench())
    examples = [Example.of(one, names, one.pair()) for one in recipes]
    for example in examples:
        for p in permutations(range(4)):
            example.add(np.stack([np.arange(4), p], axis=1))
    scale, begin = typical(examples), np.array([0.2, 3.0])
    found = np.array([last.values[name] for name in names])
    spans = [Span.of(parameter(start, name), 1.0) for name in names]
    best = programme(examples, begin, spans, scale)  # over every matching there is
    assert best is not None
    grid = [np.array([a, b]) for a in np.linspace(0.25, 5, 20) for b in np.linspace(0, 5, 21)]
    widest = max(objective(examples, one - begin, scale) for one in grid)
    assert objective(examples, best - begin, scale) >= widest - 1e-3
    assert_allclose(objective(examples, found - begin, scale), objective(examples, best - begin, scale), atol=1e-6)
    assert last.margin >= last.started


def test_a_fit_improves_pairs_that_it_never_saw_and_goes_everywhere(start, tmp_path):
    train, test = split(pairs_like(start, 12))
    found = fit(start, train, test)
    assert found.linear == ("model.good", "model.noise") and found.searched == ("model.power",)
    assert found.test[1].error < found.test[0].error - 0.2 and found.train[1].error <= found.train[0].error
    assert found.values["model.good"][1] > found.values["model.noise"][1]
    assert Recipe.from_query(dict(pair.split("=") for pair in found.link[1:].split("&"))) == found.recipe
    assert match(found.recipe).metrics.accuracy == Bench().run(found.recipe).metrics.accuracy
    assert "train, before" in found.text and "test, after" in found.text
    assert all(step.error <= found.steps[0].error for step in found.steps if step.kept)


def test_a_search_finds_what_is_not_linear():
    start = Recipe("random", {"inliers": 8, "outliers": 6, "noise": 5.0}, "B", {"sigma2": 1.0})
    fitting = Fitting(start, *split(pairs_like(start, 8)))
    steps = list(fitting.run())
    found = fitting.found
    assert found.linear == () and found.searched == ("model.sigma2",) and len(steps) == len(found.steps)
    assert found.train[0].error > 0.05 and found.test[1].error < found.test[0].error


@pytest.mark.long
def test_house_comes_back_from_bad_constants(data_dir):
    bad = {"weight": 100.0, "sigma_l": 5.0, "sigma_a": 10.0}
    start = Recipe("house", {"left": 0, "right": 80}, "A", bad)
    found = fit(start, *split(pairs_like(start, 6), 0.3), evaluations=6)
    assert found.test[0].error > 0.05 and found.test[1].error <= 0.005


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"names": ["model.descriptor"]}, "no number of the model"),
        ({"names": ["data.noise"]}, "no number of the model"),
        ({"names": ["model.zeta"]}, "no number|no parameter"),
        ({"test": []}, "0 test pairs"),
        ({"test": "train"}, "in the training and in the test set"),
    ],
)
def test_a_fit_that_makes_no_sense_is_refused_in_a_sentence(change, sentence):
    recipe = Recipe("random", SMALL, "combined")
    train, test = split(pairs_like(recipe, 4))
    given = {"train": train, "test": test} | change
    given["test"] = train if given["test"] == "train" else given["test"]
    with pytest.raises(ValueError, match=sentence):
        Fitting(recipe, **given)
    with pytest.raises(ValueError, match="no parameter that could be fitted"):
        Fitting(Recipe("random", SMALL, "third"), train, test)
    with pytest.raises(ValueError, match="two or more"):
        split(train[:1])


def test_fit_on_the_command_line(tmp_path, capsys):
    words = ["fit", "--dataset", "random", "--set", "inliers=6", "--model", "B", "--param", "sigma2=1000000"]
    assert main([*words, "--pairs", "4", "--evaluations", "6", "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "test, after" in out and "python -m features match" in out
    assert Recipe.from_json((tmp_path / "recipe.json").read_text()).model == "B"
    assert main([*words, "--fit", "seed"]) == 2
    assert "no parameter" in capsys.readouterr().err


# ---- the run book ------------------------------------------------------------------------------------------------


def test_a_run_book_holds_every_run_with_its_picture_and_curves(tmp_path):
    book = RunBook()
    for sigma2 in (100.0, 900.0):
        found = match(Recipe("random", SMALL, "B", {"sigma2": sigma2}))
        entry = book.add(found, "Match")
        assert entry.row["score"] == found.metrics.score and entry.row["model.sigma2"] == sigma2
        assert entry.picture.startswith(b"\x89PNG") and entry.curves.startswith(b"\x89PNG")
        assert Recipe.from_query(dict(word.split("=") for word in entry.link[1:].split("&"))) == found.recipe
    lines = book.csv().splitlines()
    assert len(lines) == 3 and "model.sigma2" in lines[0] and lines[0].endswith("seconds,link")
    page = book.html("Two runs")
    assert page.count("<img") == 4 and page.count("<section") == 2 and "python -m features match" in page
    told = []
    assert book.html("One", book.entries[1:], lambda *done: told.append(done)).count("<section") == 1
    assert told == [(0, 1)]


def test_a_run_book_escapes_whatever_a_pair_is_called():
    pair = replace(Recipe("random", SMALL).pair(), name="<script>alert(1)</script>")
    book = RunBook()
    book.add(match(pair, recipe=Recipe(OWN, model="B")))
    assert "<script>" not in book.html("<b>Title</b>") and "<b>Title" not in book.html("<b>Title</b>")


def test_a_run_book_forgets_the_oldest():
    book = RunBook()
    found = match(Recipe("random", SMALL, "B"))
    for _ in range(MOST + 3):
        entry = book.add(found)
    assert len(book) == MOST and entry.number == MOST + 3 and next(iter(book)).number == 4


def test_a_run_book_keeps_the_images_of_the_latest_runs_and_the_lines_of_all(monkeypatch):
    found = match(Recipe("random", SMALL, "B"))
    sheets = [Image(np.full((10, 10, 3), shade, np.uint8)) for shade in range(8)]
    views = [
        (View(sheet, view.points) for sheet, view in zip(both, (found.pair.left, found.pair.right), strict=True))
        for both in zip(sheets[::2], sheets[1::2], strict=True)
    ]
    pairs = [replace(found.pair, left=left, right=right) for left, right in views]
    monkeypatch.setattr(run_book, "LIMITS", replace(LAPTOP, book_bytes=2 * sum(s.rgb.nbytes for s in sheets[:2])))
    book = RunBook()
    for pair in (*pairs, pairs[2]):  # the last run is on a pair that is there already
        entry = book.add(replace(found, pair=pair))
        assert entry.pair.left.image is pair.left.image
    assert [entry.pair.left.image is not None for entry in book] == [False, False, True, True, True]
    assert all((entry.pair.left.points.xy == found.pair.left.points.xy).all() for entry in book)
    assert next(iter(book)).picture.startswith(b"\x89PNG")


def test_a_report_leaves_out_pictures_before_it_becomes_too_large(monkeypatch):
    monkeypatch.setattr(run_book, "LIMITS", replace(LAPTOP, book_bytes=10_000))
    book, found = RunBook(), match(Recipe("random", SMALL, "B"))
    for _ in range(3):
        book.add(found)
    page = book.html()
    assert page.count("<section") == 3
    assert page.count("<img") == page.count("left out") == 2  # those of the first run; once for each of the others


def test_the_examples_of_the_modules_run(tmp_path, monkeypatch):
    """Five lines each, as their documentation has them, with smaller numbers."""
    from features.explain import ablation, failures, fitting, run_book, sweeps

    monkeypatch.chdir(tmp_path)
    names = {"match": match, "Recipe": Recipe, "pairs_like": pairs_like, "Path": Path}
    for module in (sweeps, ablation, failures, fitting, run_book):
        text = module.__doc__.split("\n\n", 1)[1]
        lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
        assert 3 <= len(lines) <= 6
        source = "\n".join(lines)
        for word in ('"house"', '"cars"', '"turntable"'):
            source = source.replace(word, '"random"')
        source = source.replace('"points"', '"inliers"').replace('"left": 7, "right": 97', '"inliers": 6')
        source = source.replace("pairs_like(recipe, 40)", "pairs_like(recipe, 4)").replace("15", "2")
        source = source.replace('"random", {}', '"random", {"inliers": 6}')
        source = source.replace('{"sigma_l": 0.2, "sigma_a": 0.5, "weight": 0.0}', '{"weight": 90.0}')
        source = source.replace("test=pairs[2:])", "test=pairs[2:], evaluations=3)")
        exec(source, {**names, **vars(module)})
    assert (tmp_path / "report.html").stat().st_size > 10_000
