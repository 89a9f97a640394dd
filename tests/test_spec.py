"""Experiments as data: the built-ins are the paper's, samples are nested, files are refused with the line to blame."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from experiments import toml_spec
from experiments.paper import EXPERIMENTS
from experiments.selections import SELECTIONS
from experiments.spec import KNOWN, Experiment, Panel, Wrong, sampled
from experiments.trials import grouped, load
from features.recipe import Recipe

HEAD = 'name = "mine"\ntitle = "Mine"\nmethods = ["adgm1"]\n'
PANEL = '[[panel]]\ntitle = "one"\ndataset = "random"\nmodel = "B"\n'


# ---- the built-ins -----------------------------------------------------------------------------------------------


def test_table_1_has_all_pairs_of_both_sequences():
    table = EXPERIMENTS["table1"]
    assert [len(panel.all_pairs(None)) for panel in table.panels] == [111 * 110 // 2, 101 * 100 // 2]  # 6105, 5050
    assert {panel.model for panel in table.panels} == {"A"}
    assert "dd" in table.methods and "adgm1" in table.methods


@pytest.mark.parametrize(("name", "model"), [("model-b", "B"), ("third-order", "third")])
def test_house_and_hotel_have_the_papers_grid(name, model):
    panels = EXPERIMENTS[name].panels
    assert {(p.dataset, p.dataset_params["points"]) for p in panels} == {
        (key, size) for key in ("house", "hotel") for size in (10, 20, 30)
    }
    assert all(p.values == tuple(range(10, 101, 10)) and p.model == model for p in panels)
    assert len(panels[0].all_pairs(100)) == 11  # frames 0 and 100 … 10 and 110
    assert all(pair["right"] - pair["left"] == 70 for pair in panels[0].all_pairs(70))


@pytest.mark.parametrize(("name", "outliers"), [("model-c", range(0, 41, 5)), ("third-order-photos", range(0, 17, 2))])
def test_cars_and_motorbikes_have_the_papers_outliers(name, outliers):
    for panel, pairs in zip(EXPERIMENTS[name].panels, (30, 20), strict=True):
        assert panel.values == tuple(outliers)
        assert len(panel.all_pairs(0)) == pairs


def test_the_synthetic_experiment_needs_no_download_and_sweeps_all_four():
    experiment = EXPERIMENTS["synthetic"]
    assert experiment.missing() == []
    swept = {panel.varies for panel in experiment.panels if panel.dataset == "random"}
    assert swept == {"dataset.noise", "dataset.outliers", "dataset.rotation", "dataset.scale"}
    assert any(panel.dataset == "turntable" for panel in experiment.panels)


def test_the_penalty_study_sweeps_every_setting_of_the_schedule():
    swept = {panel.varies for panel in EXPERIMENTS["penalty"].panels}
    assert swept == {f"method.{name}" for name in ("rho0", "growth", "warmup", "patience", "start")}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_built_in_travels_as_json_and_names_its_units_once(name):
    experiment = EXPERIMENTS[name]
    assert Experiment.from_dict(json.loads(json.dumps(experiment.to_dict()))) == experiment
    units = list(experiment.units(2))
    assert len(units) == experiment.size(2) == len({unit.key for unit in units})
    assert sum(len(group.units) for group in grouped(units)) == len(units)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_method_of_a_built_in_may_take_its_problems(name):
    experiment = EXPERIMENTS[name]
    for panel in experiment.panels:
        assert {experiment.variant(one).method for one in experiment.applicable(panel)} <= set(KNOWN)
        assert experiment.applicable(panel)


@pytest.mark.data
def test_a_pair_with_too_few_outliers_gives_all_it_has_and_says_so(data_dir):
    pair, at, note = load(Recipe("cars", {"number": 17, "outliers": 40, "seed": 0}, "C"))
    assert at["outliers"] == 10 and pair.shape == (27, 37)
    assert note == "10 of 40 outliers: all that this pair has"
    _, at, note = load(Recipe("cars", {"number": 17, "outliers": 10, "seed": 0}, "C"))
    assert (at["outliers"], note) == (10, "")


# ---- samples and units -------------------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=40)
@given(some.integers(1, 60), some.integers(1, 70), some.integers(1, 70))
def test_samples_are_nested_and_never_repeat(count, few, many):
    pairs = [{"number": k} for k in range(count)]
    few, many = sorted((few, many))
    small, large = ([number for number, _ in sampled(pairs, size)] for size in (few, many))
    assert large[: len(small)] == small
    assert len(set(large)) == len(large) == min(many, count)


def test_units_share_their_problem_across_methods_and_across_panels_that_vary_a_method():
    penalty = EXPERIMENTS["penalty"]
    groups = grouped(list(penalty.units(1)))
    assert len(groups) == 2  # one pair of House and one of Cars, for all settings of all panels
    assert sum(len(group.units) for group in groups) == penalty.size(1)


def test_seeds_reach_the_data_the_model_and_the_method():
    panel = Panel("p", "random", "third", "drawn", count=10)
    experiment = Experiment("e", "t", (panel,), ("adgm1",), seeds=(0, 3))
    units = [unit.setup for unit in experiment.units()]
    assert sorted(setup.dataset_params["seed"] for setup in units) == [*range(10), *range(30, 40)]
    assert {setup.model_params["seed"] for setup in units} == {0, 3}
    assert {setup.method_options.get("seed", 0) for setup in units} == {0, 3}


def test_the_first_pairs_of_all_settings_come_first():
    first = [unit.x for unit in EXPERIMENTS["model-b"].with_methods(("adgm1",)).units(3)][:60]
    assert set(first) == set(range(10, 101, 10))


# ---- files -------------------------------------------------------------------------------------------------------


def test_the_example_file_is_an_experiment():
    experiment = toml_spec.parse(toml_spec.EXAMPLE.encode())
    assert [panel.dataset for panel in experiment.panels] == ["house", "random"]
    assert experiment.panels[1].dataset_params == {"inliers": 12, "outliers": 4}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('name = "mine\n', 1, "not TOML"),
        ('name = "a"\ntitle = [1,\n', 3, "not TOML"),
        (HEAD.replace("mine", "My study") + PANEL, 1, "name is 'My study'; expected up to 50"),
        (HEAD.replace("adgm1", "admg") + PANEL, 3, "methods has 'admg'"),
        (HEAD + "seeds = [0, 0]\n" + PANEL, 4, "seeds is (0, 0)"),
        (HEAD + "time_limit = -1\n" + PANEL, 4, "time_limit is -1"),
        (HEAD + "speed = 3\n" + PANEL, 4, "no entry 'speed'"),
        (HEAD, 1, "There are 0 panels"),
        (HEAD + PANEL.replace("random", "rnadom"), 6, "dataset is 'rnadom'; expected one of turntable"),
        (HEAD + PANEL + 'pairs = "gap"\n', 8, "has no left and right; expected drawn"),
        (HEAD + PANEL + "gaps = [10]\n", 8, "with turns or spread"),
        (HEAD + PANEL + "parity = 3\n", 8, "0 (even), 1 (odd) or nothing"),
        (HEAD + PANEL + "shuffle = -1\n", 8, "shuffle is -1"),
        (HEAD + PANEL.replace("random", "house") + 'pairs = "turns"\ngaps = [10, 200]\n', 9, "A gap is 200"),
        (HEAD + "variants = []\n" + PANEL, 4, "there is no variants here"),
        (HEAD + PANEL + 'varies = "dataset.nosie"\nvalues = [1]\n', 8, "there are only inliers"),
        (HEAD + PANEL + 'varies = "dataset.noise"\n', 8, "varies without values"),
        (HEAD + PANEL + 'varies = "dataset.noise"\nvalues = [1, 900]\n', 9, "Deformation is 900"),
        (HEAD + PANEL + 'varies = "method.rho"\nvalues = [1]\n', 9, "no option 'rho'"),
        (HEAD + PANEL + 'varies = "method.rho0"\nvalues = [-1.0]\n', 9, "rho0 must be"),
        (HEAD + PANEL + "\n# a comment\n[panel.dataset_params]\nnoise = 1\ninliers = 0\n", 12, "Inliers is 0"),
        (HEAD + PANEL + "dataset_params = { noise = 1, inliers = 0 }\n", 8, "Inliers is 0"),
        (HEAD + PANEL + "dataset_params.inliers = 0\n", 8, "Inliers is 0"),
        (HEAD + PANEL + "[panel.model_params]\nsigma = 3\n", 9, "no parameter 'sigma'"),
        (HEAD + PANEL + PANEL.replace("one", "two").replace('"B"', '"Z"'), 11, "model is 'Z'"),
        (HEAD + PANEL + PANEL, 9, "Two panels are called 'one'"),
        (HEAD + PANEL.replace('title = "one"\n', ""), 4, "title is missing"),
        (HEAD + PANEL + "count = true\n", 8, "count is True"),
        (HEAD + "panels = []\n", 4, "written as [[panel]]"),
        (HEAD + PANEL + "[panel.dataset_params]\nseed = 4\n", 9, "leave it out"),
    ],
)
def test_a_wrong_file_is_refused_with_the_line_and_what_is_right(text, line, says):
    with pytest.raises(ValueError, match=r".") as refusal:
        toml_spec.parse(text.encode(), "mine.toml")
    message = str(refusal.value)
    assert says in message
    assert f"line {line}" in message or (line == 3 and "end of document" in message)
    assert message.startswith("mine.toml")


HOSTILE = {
    "blanks": HEAD + "[" + " " * 90_000 + "\nspeed = 3\n",
    "blank lines": HEAD + (" " * 2_000 + "\n") * 40 + "speed = 3\n",
    "dots": "a" + ".a" * 40_000 + " = 1",
    "dots in a header": "[a" + ".a" * 40_000 + "]",
    "dots within": "x = { a" + ".a" * 40_000 + " = 1 }",
    "many dotted lines": "\n".join(f"k{k}" + ".a" * 290 + " = 1" for k in range(150)),
    "brackets": "a = " + "[" * 90_000,
    "words": "a" * 90_000,
    "quotes": "'" * 90_000,
    "a long text": HEAD + f"seeds = '{'a' * 90_000}'",
    "large": "#" * 200_000,
    "digits": "a = " + "9" * 90_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.timeout(20)
def test_no_file_takes_long_and_every_complaint_is_a_sentence(text):
    with pytest.raises(ValueError, match=r"^mine\.toml") as refusal:
        toml_spec.parse(text.encode(), "mine.toml")
    assert len(str(refusal.value)) < 600
    toml_spec.line_of(text, "panel.0.values")


@settings(deadline=None, derandomize=True, max_examples=60)
@given(some.binary(max_size=80))
def test_no_bytes_make_it_crash(data):
    with pytest.raises(ValueError, match=r"mine\.toml"):
        toml_spec.parse(data, "mine.toml")


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    some.dictionaries(
        some.sampled_from(["name", "title", "methods", "seeds", "panels", "time_limit", "measures", "other"]),
        some.recursive(
            some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5),
            lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=4), inner, max_size=3),
        ),
    )
)
def test_no_values_make_it_crash(given_values):
    with pytest.raises(Wrong):
        Experiment.from_dict(given_values)


def test_the_size_is_counted_without_listing_the_pairs_of_every_setting(monkeypatch):
    listed = []
    drawn = SELECTIONS["drawn"]
    monkeypatch.setitem(SELECTIONS, "drawn", replace(drawn, pairs=lambda *of: listed.append(of) or drawn.pairs(*of)))
    many = tuple(float(value) for value in range(1, 41))
    panel = Panel("Many", "random", "B", "drawn", varies="model.sigma2", values=many, count=30)
    experiment = Experiment("many", "Many", (panel,), ("adgm1", "rrwm"), seeds=(0, 1))
    assert experiment.size() == 2 * 2 * 30 * 40 and len(listed) <= 2  # once when it was checked, and once more
    assert experiment.size(7) == 2 * 2 * 7 * 40 == len(list(experiment.units(7)))
