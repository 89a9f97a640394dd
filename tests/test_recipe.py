"""The record of a run: checked at birth, the same after a trip through JSON, and its texts repeat the run."""

import json
import pickle
import shlex
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from adgm import METHODS
from commands import pairs_of_command, pairs_of_python
from features import pairs
from features.__main__ import parser
from features.cli.arguments import recipe_and_pair
from features.datasets import DATASETS
from features.files.exports import open_pair, save_pair
from features.judge.verification import KINDS
from features.matching import match
from features.models import MODELS
from features.pairs import Pair
from features.parameters import parse_assignments, parse_value, worded
from features.recipe import CHECKS, OWN, Recipe, method_options

RUNS = [
    Recipe("random", {"inliers": 8, "noise": 2.5, "seed": 3}, "B", {"sigma2": 900}, "adgm1", {"rho0": 0.05, "seed": 7}),
    Recipe(
        "turntable",
        {"left": 40, "right": 48, "points": 12, "landmarks": "seen in both views"},
        "combined",
        {"rows": "at_most_one", "w3": 0.5, "descriptor": "sift"},
        "adgm2",
        {"start": "random", "max_iter": 400},
    ),
]


@pytest.mark.parametrize("setup", RUNS, ids=lambda setup: setup.dataset)
def test_python_and_command_line_give_the_same_matching(setup, tmp_path):
    expected = setup.run().pairs.tolist()
    assert len(expected) > 5
    assert pairs_of_python(setup.as_python(), tmp_path) == expected
    assert pairs_of_command(setup.as_command(output="out"), tmp_path) == expected


def test_the_texts_of_a_pair_of_ones_own_read_its_zip(tmp_path):
    pair = DATASETS["turntable"].load(left=40, right=46, points=10)
    setup = Recipe(OWN, {}, "C", {"eta": 0.4}, "adgm1", {"rho0": 0.2})
    expected = setup.run(setup.problem(pair)).pairs.tolist()
    (tmp_path / "my pair.zip").write_bytes(save_pair(pair, setup))
    assert pairs_of_python(setup.as_python("my pair.zip"), tmp_path) == expected
    assert pairs_of_command(setup.as_command("my pair.zip", output="out"), tmp_path) == expected
    with pytest.raises(ValueError, match=r"pair\.zip"):
        setup.pair()


def test_a_program_that_was_exported_before_the_modules_moved_still_runs(tmp_path):
    setup = RUNS[0]
    old = setup.as_python().replace("features.judge.metrics", "features.metrics")
    assert "from features.metrics import measure" in old
    assert pairs_of_python(old, tmp_path) == setup.run().pairs.tolist()


@pytest.mark.parametrize("setup", [*RUNS, Recipe()], ids=lambda setup: setup.model)
def test_json_and_pickle_bring_it_back(setup):
    back = Recipe.from_json(setup.to_json())
    assert back == setup and hash(back) == hash(setup)
    assert pickle.loads(pickle.dumps(setup)) == setup
    assert Recipe.from_dict(setup.to_dict()) == setup
    assert setup != Recipe("random", {}, "A")


def test_the_record_does_not_change_with_what_it_was_made_from():
    params = {"inliers": np.int64(8)}
    setup = Recipe("random", params)
    params["inliers"] = 9
    setup.to_dict()["dataset_params"]["inliers"] = 10
    assert setup.dataset_params == {"inliers": 8} and type(setup.dataset_params["inliers"]) is int
    assert "np." not in setup.as_python()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"dataset": "hose"}, "no data set 'hose'.*house"),
        ({"model": "Z"}, "no model 'Z'"),
        ({"method": "magic"}, "no method 'magic'"),
        ({"dataset": 3}, "dataset is 3"),
        ({"dataset_params": {"lefft": 1}}, "Turntable has no parameter 'lefft'"),
        ({"dataset_params": {"left": 500}}, "500"),
        ({"dataset_params": {"left": [1]}}, "left is a list"),
        ({"dataset_params": [1]}, "dataset_params"),
        ({"model_params": {"eta": 7}}, "7"),
        ({"model_params": {"rows": "two"}}, "rows is 'two'"),
        ({"model_params": {"zeta": 1}}, "no parameter 'zeta'"),
        ({"method_options": {"rho": 1}}, "no option 'rho'"),
        ({"method": "adgm1", "method_options": {"coupling": "chain"}}, "no option 'coupling'"),
        ({"method": "adgm1", "method_options": {"rho0": -1}}, "rho0"),
        ({"method_options": {"growth": "fast"}}, "growth"),
        ({"method_options": {"rho0": float("nan")}}, "rho0 is nan"),
        ({"dataset": "own", "dataset_params": {"left": 1}}, "own has no parameter 'left'"),
        ({"points": "surf"}, "no detector 'surf'"),
        ({"points": "sift", "point_params": {"left": 0}}, "Points, left is 0"),
        ({"point_params": {"left": 30}}, "no parameter 'left'"),
        ({"method": "adgm1", "method_options": {"rho0": 10**400}}, "rho0 is 1000.*expected a number below"),
        ({"model_params": {"eta": 10**400}}, "eta is 1000"),
        ({"dataset_params": {"left": -(10**400)}}, "left is -1000"),
        ({"colour": "red"}, "no entry 'colour'"),
        ([], "not list"),
    ],
)
def test_what_is_wrong_is_said(given, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        Recipe.from_dict(given)
    assert len(str(caught.value)) <= 500


@pytest.mark.parametrize("name", ["dataset", "points", "model", "method"])
def test_no_sentence_quotes_a_whole_file(name):
    long = "x" * 1_000_000
    options = [{long: 1}, {"start": long}]
    for wrong in ({name: long}, {long: 1}, {"model_params": {long: 1}}, *({"method_options": o} for o in options)):
        with pytest.raises(ValueError, match=r"no|expected") as caught:
            Recipe.from_dict(wrong)
        assert len(str(caught.value)) <= 500


EVERYTHING = Recipe(
    "warp",
    {"map": "affine", "strength": 0.25},
    "combined",
    {"rows": "at_most_one", "graph": "nearest", "w2": 1.5},
    "adgm1",
    {"rho0": 0.5, "start": "random", "seed": 3},
    "orb",
    {"left": 50, "right": 60},
)


@pytest.mark.parametrize("recipe", [*RUNS, EVERYTHING, Recipe(), Recipe(OWN)], ids=lambda recipe: recipe.dataset)
def test_the_words_of_a_link_bring_it_back(recipe):
    words = recipe.to_query()
    assert all(isinstance(text, str) for text in words.values())
    assert Recipe.from_query(words) == recipe
    assert Recipe.from_query({**words, "run": "1", "page": "match"}) == recipe, "others' words are passed over"
    assert Recipe.from_query({}) == Recipe()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"data": "hose"}, "no data set 'hose'"),
        ({"points": "surf"}, "no detector 'surf'"),
        ({"data": "turntable", "data.left": "9" * 400}, "left is 999"),
        ({"model": "C", "model.eta": "9" * 400}, "eta is 999"),
        ({"method": "adgm1", "method.rho0": "9" * 400}, "rho0 is 999"),
        ({"method.max_iter": "9" * 5000}, "max_iter is inf"),
        ({"points": "sift", "points.left": "many"}, "Points, left is 'many'"),
        ({"model.a b": "1"}, "not of the form"),
    ],
)
def test_a_link_that_makes_no_sense_is_told_in_a_sentence(words, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        Recipe.from_query(words)
    assert len(str(caught.value)) <= 500


def test_detected_points_are_part_of_the_record():
    recipe = Recipe("turntable", {"left": 40, "right": 44}, points="sift", point_params={"left": 12, "right": 14})
    pair = recipe.pair()
    assert pair.shape == (12, 14) and pair.truth is None
    assert ".detected(\"sift\", {'left': 12, 'right': 14}, slants=False)" in recipe.as_python()
    assert "--detector sift --points 12,14" in recipe.as_command()
    assert "SIFT points" in recipe.title
    assert "points" not in Recipe().to_dict(), "keys of stored experiments stay as they were"


def test_files_of_the_old_name_still_open():
    recipe = RUNS[0]
    assert Recipe.from_dict({"setup": recipe.to_dict()}) == Recipe.from_dict({"recipe": recipe.to_dict()}) == recipe


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "9" * 5_000, "null"])
def test_bad_json_is_refused(text):
    with pytest.raises(ValueError, match=r"JSON|NoneType"):
        Recipe.from_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
entries = st.sampled_from([one.name for one in fields(Recipe)] + ["x"])


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.dictionaries(entries, json_values, max_size=4))
def test_no_link_gets_past_the_checks(given):
    try:
        setup = Recipe.from_dict(given)
    except ValueError:
        return
    assert compile(setup.as_python(), "run.py", "exec").co_filename == "run.py"


@pytest.mark.parametrize("key", METHODS)
def test_every_method_can_be_described_and_made(key):
    setup = Recipe(method=key, method_options=dict(method_options(key).items() if key == "adgm1" else ()))
    assert type(setup.method_object()) is type(METHODS[key].make())
    assert f'METHODS["{key}"]' in setup.as_python() and f"--method {key}" in setup.as_command()


def test_a_method_that_does_not_fit_says_so():
    setup = Recipe("random", {"inliers": 6, "outliers": 0}, "third", {"tuples": 20}, "sm")
    with pytest.raises(ValueError, match="order 3"):
        setup.run()


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("-1", -1), ("0.5", 0.5), ("1e-6", 1e-6), ("paper", "paper"), ("true", True), ("None", None)],
)
def test_values_read_as_people_write_them(text, value):
    assert parse_value(text) == value and type(parse_value(text)) is type(value)


def test_assignments_are_names_and_values():
    found = parse_assignments(["left=0", "landmarks = seen in both views", "map=none"], "thing", words=["map"])
    assert found == {"left": 0, "landmarks": "seen in both views", "map": "none"}
    for wrong in (["left"], ["=3"], ["a b=3"], ["left=1", "left=2"]):
        with pytest.raises(ValueError, match="thing"):
            parse_assignments(wrong, "thing")
    assert worded(MODELS["combined"].parameters) == ["descriptor", "graph", "triangles"]


def test_a_saved_pair_carries_its_setup():
    setup = Recipe(OWN, {}, "C", {"eta": 0.4})
    assert open_pair(save_pair(DATASETS["random"].load(inliers=4), setup)).recipe == setup


def test_a_concise_recipe_is_the_same_run_and_says_only_what_differs():
    said = Recipe(
        "random", {"inliers": 20, "seed": 3}, "B", {"sigma2": 2500.0, "rows": "any"}, "adgm1", {"growth": 2, "tol": 1}
    )
    assert said.concise() == Recipe("random", {"seed": 3}, "B", {"rows": "any"}, "adgm1", {"tol": 1.0})
    assert said.concise().to_query()["method.tol"] == "1.0"
    assert said.concise().method_object() == said.method_object()
    assert said.concise().concise() == said.concise()


CHECKED = Recipe("turntable", {"left": 40, "right": 44}, check="affine")
PHOTO = Recipe("turntable", {"left": 40, "right": 44}, "photo", points="sift", point_params={"left": 30, "right": 30})


@pytest.mark.parametrize("recipe", [EVERYTHING, CHECKED, PHOTO, Recipe(), *(Recipe(check=one) for one in CHECKS)])
def test_a_link_a_command_and_a_file_bring_back_every_part(recipe):
    assert Recipe.from_query(recipe.to_query()) == recipe == Recipe.from_json(recipe.to_json())
    words = shlex.split(recipe.as_command())[3:]
    assert recipe_and_pair(parser().parse_args(words))[0].concise() == recipe.concise()


@pytest.mark.parametrize("recipe", [CHECKED, replace(CHECKED, check="automatic"), PHOTO, replace(PHOTO, check="none")])
def test_a_program_finds_its_points_and_checks_its_matches_as_the_run_does(recipe, monkeypatch, capsys):
    seen, really = [], Pair.detected

    def detected(pair, detector, counts=None, *, slants=False):
        seen.append((detector, counts, slants))
        return really(pair, detector, counts)  # the second look takes seconds

    monkeypatch.setattr(Pair, "detected", detected)
    exec(compile(recipe.as_python(), "run.py", "exec"), {})
    found = match(recipe)
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[-1]) == found.pairs.tolist()
    assert bool(recipe.maps) == (recipe in (CHECKED, PHOTO)) == (found.verification is not None)
    assert (lines[-2] == found.verification.verdict) if recipe.maps else not any("obey" in line for line in lines)
    points = [(recipe.points, {"left": 30, "right": 30}, True)] * 2 if recipe.points != OWN else []
    assert seen == points, "photographs are looked at from a slant, in the program as in the run"


@pytest.mark.parametrize(("model", "slants"), [("photo", True), ("C", False)])
def test_only_photographs_are_looked_at_from_a_slant_whoever_asks(model, slants, monkeypatch, tmp_path):
    seen = []

    class Asked(Exception):
        pass

    def found_in(images, detector, counts, wanted):
        seen.append(wanted)
        raise Asked

    for module in (pairs.pair, pairs.reading):
        monkeypatch.setattr(module, "found_in", found_in)
    sheet = np.zeros((9, 9), np.uint8)
    Pillow.fromarray(sheet).save(tmp_path / "sheet.png")
    words = ["match", *[str(tmp_path / "sheet.png")] * 2, "--model", model]
    ways = (
        lambda: replace(PHOTO, model=model).pair(),
        lambda: match(sheet, sheet, model=model),
        lambda: recipe_and_pair(parser().parse_args(words)),
    )
    for way in ways:
        with pytest.raises(Asked):
            way()
    assert seen == [slants] * 3


def test_the_kinds_of_map_that_a_check_stands_for():
    for kind in KINDS:
        assert Recipe(check=kind).maps == (kind,) == Recipe(model="photo", check=kind).maps
    assert Recipe(check="none").maps == Recipe(model="photo", check="none").maps == Recipe().maps == ()
    assert Recipe(model="photo").maps == KINDS
    with pytest.raises(ValueError, match="no map 'circle' to check matches by"):
        Recipe(check="circle")
