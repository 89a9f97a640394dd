"""The record of a run: checked at birth, the same after a trip through JSON, and its texts repeat the run."""

import json
import os
import pickle
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adgm import METHODS
from features.datasets import DATASETS
from features.exports import open_pair, save_pair
from features.models import MODELS
from features.setup import OWN, Setup, method_options, parse_assignments, parse_value, worded

ROOT = Path(__file__).parent.parent

RUNS = [
    Setup("random", {"inliers": 8, "noise": 2.5, "seed": 3}, "B", {"sigma2": 900}, "adgm1", {"rho0": 0.05, "seed": 7}),
    Setup(
        "turntable",
        {"left": 40, "right": 48, "points": 12, "landmarks": "seen in both views"},
        "combined",
        {"rows": "at_most_one", "w3": 0.5, "descriptor": "sift"},
        "adgm2",
        {"start": "random", "max_iter": 400},
    ),
]


def run(words: list[str], folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pairs_of_python(text: str, folder: Path) -> list:
    (folder / "run.py").write_text(text, encoding="utf-8")
    return json.loads(run([sys.executable, "run.py"], folder).splitlines()[-1])


def pairs_of_command(text: str, folder: Path) -> list:
    program, *words = shlex.split(text)
    assert program == "python"
    run([sys.executable, *words], folder)
    return [
        [match["left"], match["right"]] for match in json.loads((folder / "out/matches.json").read_text())["matches"]
    ]


@pytest.mark.parametrize("setup", RUNS, ids=lambda setup: setup.dataset)
def test_python_and_command_line_give_the_same_matching(setup, tmp_path):
    expected = setup.run().pairs.tolist()
    assert len(expected) > 5
    assert pairs_of_python(setup.as_python(), tmp_path) == expected
    assert pairs_of_command(setup.as_command(output="out"), tmp_path) == expected


def test_the_texts_of_a_pair_of_ones_own_read_its_zip(tmp_path):
    pair = DATASETS["turntable"].load(left=40, right=46, points=10)
    setup = Setup(OWN, {}, "C", {"eta": 0.4}, "adgm1", {"rho0": 0.2})
    expected = setup.run(setup.problem(pair)).pairs.tolist()
    (tmp_path / "my pair.zip").write_bytes(save_pair(pair, setup))
    assert pairs_of_python(setup.as_python("my pair.zip"), tmp_path) == expected
    assert pairs_of_command(setup.as_command("my pair.zip", output="out"), tmp_path) == expected
    with pytest.raises(ValueError, match=r"pair\.zip"):
        setup.pair()


@pytest.mark.parametrize("setup", [*RUNS, Setup()], ids=lambda setup: setup.model)
def test_json_and_pickle_bring_it_back(setup):
    back = Setup.from_json(setup.to_json())
    assert back == setup and hash(back) == hash(setup)
    assert pickle.loads(pickle.dumps(setup)) == setup
    assert Setup.from_dict(setup.to_dict()) == setup
    assert setup != Setup("random", {}, "A")


def test_the_record_does_not_change_with_what_it_was_made_from():
    params = {"inliers": np.int64(8)}
    setup = Setup("random", params)
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
        ({"method_options": {"coupling": "chain"}}, "no option 'coupling'"),
        ({"method_options": {"rho0": -1}}, "rho0"),
        ({"method_options": {"growth": "fast"}}, "growth"),
        ({"method_options": {"rho0": float("nan")}}, "rho0 is nan"),
        ({"dataset": "own", "dataset_params": {"left": 1}}, "no parameters"),
        ({"colour": "red"}, "no entry 'colour'"),
        ([], "not list"),
    ],
)
def test_what_is_wrong_is_said(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        Setup.from_dict(given)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null"])
def test_bad_json_is_refused(text):
    with pytest.raises(ValueError, match=r"JSON|NoneType"):
        Setup.from_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
entries = st.sampled_from(["dataset", "dataset_params", "model", "model_params", "method", "method_options", "x"])


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.dictionaries(entries, json_values, max_size=4))
def test_no_link_gets_past_the_checks(given):
    try:
        setup = Setup.from_dict(given)
    except ValueError:
        return
    assert compile(setup.as_python(), "run.py", "exec").co_filename == "run.py"


@pytest.mark.parametrize("key", METHODS)
def test_every_method_can_be_described_and_made(key):
    setup = Setup(method=key, method_options=dict(method_options(key).items() if key == "adgm1" else ()))
    assert type(setup.method_object()) is type(METHODS[key].make())
    assert f'METHODS["{key}"]' in setup.as_python() and f"--method {key}" in setup.as_command()


def test_a_method_that_does_not_fit_says_so():
    setup = Setup("random", {"inliers": 6, "outliers": 0}, "third", {"tuples": 20}, "sm")
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
    setup = Setup(OWN, {}, "C", {"eta": 0.4})
    assert open_pair(save_pair(DATASETS["random"].load(inliers=4), setup)).setup == setup
