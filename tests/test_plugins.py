"""Plug-ins: what a file adds is everywhere, what is wrong with it is a sentence with file and line."""

import os
import sys

import numpy as np
import pytest

from adgm import METHODS
from experiments.__main__ import main as experiments
from experiments.spec import KNOWN
from features import plugins
from features.__main__ import main
from features.datasets import DATASETS
from features.datasets.pair_folder import pair_folder
from features.files.exports import save_pair
from features.judge.comparison import LABELS
from features.models import MODELS, own_model, sampled_tuples
from features.models.sampled import angle_sines
from features.recipe import Recipe
from ui.shell import launch

GOOD = """
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from adgm import ADGM, METHODS, Formula, Problem
from adgm.methods import Entry
from features.datasets import DATASETS
from features.datasets.pair_folder import pair_folder
from features.models import MODELS, own_model


@dataclass
class Weight:
    value: float = 1.0


def springs(left, right, stiffness=1.0):
    "Distances hardly change."
    if stiffness > 5:
        raise RuntimeError("the spring broke")
    sides = [np.linalg.norm(one.xy[:, None] - one.xy, axis=2) for one in (left, right)]
    spring = Formula(*sides, lambda a, b: stiffness * (a - b)[..., 0] ** 2)
    return Problem((len(left), len(right)), [spring], rows="exactly_one")


MODELS["springs"] = own_model(springs)
MODELS["ratio"] = own_model("edges change")
METHODS["patient"] = Entry("Patient ADGM", partial(ADGM, rho0=1.0), range(1, 100), "ours")
DATASETS["mine"] = pair_folder(Path(__file__).parent / "pairs", "mine")
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A file with this content, whose traces are removed afterwards."""
    kept = [dict(kind.registry) for kind in plugins.KINDS]
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.delenv("ADGM_PUBLIC", raising=False)
    pairs = tmp_path / "pairs"
    (pairs / "b").mkdir(parents=True)
    pair = Recipe("random", {"inliers": 6, "outliers": 1}).pair()
    (pairs / "a.zip").write_bytes(save_pair(pair))
    np.savetxt(pairs / "b" / "left_points.txt", pair.left.points.xy)
    np.savetxt(pairs / "b" / "right_points.txt", pair.right.points.xy)
    (pairs / "b" / "truth.csv").write_text("\n".join(f"{i},{j}" for i, j in enumerate(pair.truth)))

    def write(content):
        path = tmp_path / "my_models.py"
        path.write_text(content)
        return path

    yield write
    for kind, before in zip(plugins.KINDS, kept, strict=True):
        kind.registry.clear()
        kind.registry.update(before)
    sys.modules.pop("adgm_plugin_my_models", None)


def test_what_a_file_adds_is_known_everywhere_as_its_own(plugin, capsys, tmp_path):
    path = plugin(GOOD)
    words = ["match", "--dataset", "mine", "--set", "number=2", "--model", "springs", "--method", "patient"]
    assert main(["--plugin", str(path), *words]) == 0
    out = capsys.readouterr().out
    assert "Mine (my_models), Springs (my_models), Patient ADGM (my_models)" in out and "(100.0%)" in out
    assert LABELS["patient"] == "Patient ADGM (my_models)" and "patient" in KNOWN
    assert MODELS["ratio"].label == "Your formula (my_models)"
    assert os.environ[plugins.VARIABLE] == str(path)
    assert main([*words, f"--plugin={path}"]) == 0  # a second time changes nothing
    recipe = Recipe("mine", {}, "springs", {}, "patient")
    assert f"--plugin {path}" in recipe.as_command()
    exec(recipe.as_python(), {})
    assert f'load("{path}")' in recipe.as_python()
    assert not Recipe().plugins
    own = tmp_path / "own.toml"
    panel = "[[panel]]\ntitle = 'Mine'\ndataset = 'mine'\nmodel = 'springs'\npairs = 'first'\n"
    own.write_text(f"name = 'own'\ntitle = 'Own'\nmethods = ['patient']\n{panel}")
    assert (
        experiments(
            ["run", str(own), "--full", "--workers", "0", "--store", str(tmp_path / "rows.jsonl"), f"--plugin={path}"]
        )
        == 0
    )
    assert (tmp_path / "rows.jsonl").read_text().count('"patient"') >= 2
    with pytest.raises(ValueError, match="line 23: RuntimeError: the spring broke"):
        Recipe("mine", {}, "springs", {"stiffness": 6.0}).problem()


def test_the_pairs_of_a_folder_have_points_and_truth(plugin, tmp_path):
    plugin("")
    found = pair_folder(tmp_path / "pairs", "mine")
    first, second = (found.load(number=number, seed=-1) for number in (1, 2))
    assert found.count == 2 and (first.name, second.name) == ("a", "b")
    assert np.allclose(first.left.points.xy, second.left.points.xy)
    assert first.truth.tolist() == second.truth.tolist()
    assert found.load(images=False).left.image is None
    with pytest.raises(ValueError, match="holds no pair"):
        pair_folder(tmp_path / "pairs" / "b", "other")
    with pytest.raises(ValueError, match="is no folder"):
        pair_folder(tmp_path / "nowhere", "other")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("x = 1\nx = = 2", "my_models.py, line 2: invalid syntax."),
        ("import nothing_at_all", "my_models.py, line 1: ModuleNotFoundError: No module named 'nothing_at_all'."),
        ("\n\nraise SystemExit(3)", "my_models.py, line 3: SystemExit: 3."),
        ("def f():\n    1 / 0\nf()", "my_models.py, line 2: ZeroDivisionError: division by zero."),
        ("MODELS['A'] = MODELS['B']", "my_models.py, line 2: MODELS['A'] is there already"),
        ("MODELS['mine'] = 3", "my_models.py, line 2: MODELS['mine'] is a int; expected own_model("),
        (
            "MODELS['mine'] = own_model('edges d')",
            "line 2: FormulaError: Line 1, column 7: d has a value",
        ),
        ("MODELS['my model'] = own_model('edges d1', label='L')", "a key that no link can carry"),
        ("METHODS['mine'] = Entry('Mine', int, range(1, 3), '')", "makes a int without init()"),
        ("METHODS['mine'] = Entry('Mine', lambda: 1 / 0, range(1, 3), '')", "cannot be made without options"),
        ("DATASETS['mine'] = DATASETS['random']", "whose own key is 'random'"),
    ],
)
def test_mistakes_are_told_with_file_and_line_and_leave_nothing_behind(plugin, content, sentence, capsys):
    if "[" in content:
        imports = "from adgm import METHODS; from adgm.methods import Entry; from features.datasets import DATASETS"
        content = f"{imports}; from features.models import MODELS, own_model\n{content}"
    path = plugin(content)
    before = [list(kind.registry.items()) for kind in plugins.KINDS]
    assert main(["models", "--plugin", str(path)]) == 2
    assert sentence in capsys.readouterr().err
    assert [list(kind.registry.items()) for kind in plugins.KINDS] == before


def test_a_public_server_loads_none(plugin, monkeypatch, capsys):
    path = plugin("raise RuntimeError")
    monkeypatch.setenv("ADGM_PUBLIC", "1")
    assert main(["models", "--plugin", str(path)]) == 2
    assert "it loads no plug-ins" in capsys.readouterr().err
    assert main(["models", "--plugin"]) == 2
    assert main(["models", "--plugin", "nowhere.py"]) == 2


def test_the_app_tells_a_mistake_before_it_starts(plugin, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["adgm-explorer", "--plugin", str(plugin("1 / 0"))])
    with pytest.raises(SystemExit) as ended:
        launch.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("adgm-explorer: my_models.py, line 1: ZeroDivisionError")


def test_the_app_takes_the_file_and_leaves_the_other_words(plugin, monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(launch, "streamlit", lambda: started.append(list(sys.argv)))
    monkeypatch.setattr(launch, "INSTALLED", tmp_path)
    (tmp_path / "config.toml").write_text("[server]\nport = 8\n")
    words = ["adgm-explorer", "--plugin", str(plugin(GOOD)), "--server.port=9"]
    monkeypatch.setattr(sys, "argv", words)
    launch.main()
    assert "springs" in MODELS and "patient" in METHODS and "mine" in DATASETS
    assert started[0][-1] == "--server.port=9" and "--plugin" not in started[0]


def test_a_function_of_tuples_samples_them_itself():
    def triangles(left, right, per_point=5):
        """The sines of triangles' angles."""
        from adgm import Problem

        potential = sampled_tuples(
            left,
            right,
            angle_sines,
            lambda a, b: -np.exp(-((a - b) ** 2).sum(axis=1)),
            per_point=int(per_point),
            nearest=4,
        )
        return Problem((len(left), len(right)), [potential], rows="exactly_one")

    pair = Recipe("random", {"inliers": 7, "outliers": 0, "noise": 0.0, "seed": -1}).pair()
    problem = own_model(triangles, orders=(3,)).build(pair)
    (found,) = problem.potentials
    tuples = np.unique(found.indices // pair.shape[1], axis=0)
    assert found.symmetric and len(found.costs) == 4 * len(tuples) and len(tuples) <= 35
    a, b = (
        angle_sines(view.points.xy, part)
        for view, part in zip(
            (pair.left, pair.right), (found.indices // pair.shape[1], found.indices % pair.shape[1]), strict=True
        )
    )
    assert np.allclose(found.costs, -np.exp(-((a - b) ** 2).sum(axis=1)))
