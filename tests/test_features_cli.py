"""The command line: what it prints and writes, and that every mistake is a sentence with exit code 2."""

import ast
import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from adgm import METHODS
from features.__main__ import main
from features.cli import listing
from features.datasets import DATASETS, download, sequences
from features.files.exports import open_pair, save_pair
from features.files.point_files import write_points
from features.models import MODELS
from features.recipe import Recipe

ROOT = Path(__file__).parent.parent
SMALL = ["--dataset", "random", "--set", "inliers=8", "--set", "outliers=2", "--set", "noise=1"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    """Two PNG files of the turntable, their exact points, and the truth."""
    folder = tmp_path_factory.mktemp("photos")
    pair = DATASETS["turntable"].load(left=40, right=46, points=15)
    for side, view in (("left", pair.left), ("right", pair.right)):
        Pillow.fromarray(view.image.rgb).save(folder / f"{side}.png")
        bare = type(view.points)(view.points.xy)
        (folder / f"{side}.csv").write_bytes(write_points(bare))
    lines = [f"{i},{j}" for i, j in enumerate(pair.truth) if j >= 0]
    (folder / "truth.csv").write_text("\n".join(["left,right", *lines]))
    return folder


def test_match_two_images(photos, tmp_path, capsys):
    images = [str(photos / "left.png"), str(photos / "right.png")]
    assert main(["match", *images, "--model", "C", "--points", "12", "-o", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "left.png and right.png" in out and "12 of 12" in out and "cost" in out
    expected = {"matches.png", "matches.csv", "matches.json", "side-by-side.html"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == expected
    assert Pillow.open(tmp_path / "out/matches.png").format == "PNG"
    rows = list(csv.DictReader((tmp_path / "out/matches.csv").open()))
    content = json.loads((tmp_path / "out/matches.json").read_text())
    assert len(rows) == len(content["matches"]) == 12 and content["left"]["image_size"] == [640, 480]


def test_match_ones_own_points_with_truth(photos, capsys):
    words = [str(photos / "left.png"), str(photos / "right.png"), "--truth", str(photos / "truth.csv")]
    words += ["--left-points", str(photos / "left.csv"), "--right-points", str(photos / "right.csv"), "--model", "C"]
    assert main(["match", *words]) == 0
    out = capsys.readouterr().out
    assert "of 15" in out and "verdict" in out


def test_match_a_data_set_writes_everything(tmp_path, capsys):
    words = ["match", *SMALL, "--model", "B", "--param", "sigma2=900", "--method", "adgm1"]
    words += ["--option", "rho0=0.1", "--format", "svg"]
    assert main([*words, "--graph", "delaunay", "--all", "-o", str(tmp_path)]) == 0
    assert "8 of 8 (100.0%)" in capsys.readouterr().out
    expected = {"matches.svg", "curves.svg", "assignment.svg", "matches.csv", "matches.json", "history.csv", "run.py"}
    expected |= {
        "left_points.csv",
        "right_points.csv",
        "result.npz",
        "pair.zip",
        "recipe.json",
        "run.sh",
        "side-by-side.html",
    }
    assert {path.name for path in tmp_path.iterdir()} == expected
    setup = Recipe.from_json((tmp_path / "recipe.json").read_text())
    assert setup == Recipe(
        "random", {"inliers": 8, "outliers": 2, "noise": 1.0}, "B", {"sigma2": 900.0}, "adgm1", {"rho0": 0.1}
    )
    with np.load(tmp_path / "result.npz", allow_pickle=False) as file:
        assert file["pairs"].tolist() == setup.run().pairs.tolist()
    assert open_pair((tmp_path / "pair.zip").read_bytes()).recipe == setup


def test_points_of_a_data_set_can_be_detected_anew(capsys, tmp_path):
    words = ["match", "--dataset", "turntable", "--set", "left=40", "--set", "right=44", "--detector", "sift"]
    assert main([*words, "--points", "10,12", "--model", "C", "-o", str(tmp_path)]) == 0
    assert "10 left points, 12 right points" in capsys.readouterr().out
    content = json.loads((tmp_path / "matches.json").read_text())
    assert Recipe.from_dict(content).counts == {"left": 10, "right": 12}


def test_a_saved_pair_brings_its_model_and_method(tmp_path, capsys):
    setup = Recipe("random", {"inliers": 8}, "B", {}, "adgm2", {"rho0": 0.1})
    (tmp_path / "p.zip").write_bytes(save_pair(setup.pair(), setup))
    assert main(["match", "--pair", str(tmp_path / "p.zip")]) == 0
    assert "Pairwise B, ADGM2" in capsys.readouterr().out
    assert main(["match", "--pair", str(tmp_path / "p.zip"), "--model", "C", "--method", "adgm1"]) == 0
    assert "Pairwise C, ADGM1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "required"),
        (["dance"], "invalid choice"),
        (["match"], "none given"),
        (["match", "one.png"], "Two images make a pair; 1 given"),
        (["match", "a.png", "b.png"], "a.png could not be read: no such file"),
        (["match", "a.png", "b.png", "--dataset", "random"], "several given"),
        (["match", "--dataset", "randm"], "no data set 'randm'; choose one of"),
        (["match", "--dataset", "own"], "no data set 'own'"),
        (["match", "--dataset", "random", "--set", "inliers"], "not of the form name=value"),
        (["match", "--dataset", "random", "--set", "inliers=many"], "Inliers is 'many'"),
        (["match", "--dataset", "random", "--set", "inliers=9999"], "9999"),
        (["match", "--dataset", "random", "--points", "3"], "Did you mean --set points"),
        (["match", "a.png", "b.png", "--set", "inliers=3"], "there is no --dataset"),
        (["match", *SMALL, "--model", "Q"], "no model 'Q'"),
        (["match", *SMALL, "--param", "eta=2"], "2"),
        (["match", *SMALL, "--method", "oracle"], "no method 'oracle'"),
        (["match", *SMALL, "--option", "rho0=-2"], "rho0"),
        (["match", *SMALL, "--option", "speed=9"], "no option 'speed'"),
        (["match", *SMALL, "--model", "third", "--method", "sm"], "order 3"),
        (["match", *SMALL, "--rows", "exactly_one", "--cols", "exactly_one"], "exactly_one"),
        (["match", *SMALL, "--time-limit", "-1"], "time_limit"),
        (["match", *SMALL, "--time-limit", "soon"], "invalid float"),
        (["match", "--pair", "nowhere.zip"], "nowhere.zip could not be read"),
        (["compare", *SMALL, "--methods", "adgm1,nobody"], "no method 'nobody'"),
        (["compare", *SMALL, "--option", "rho0=1"], "method.name=value"),
        (["compare", *SMALL, "--option", "adgm1.rho=1"], "no option 'rho'"),
        (["datasets", "--download", "moon"], "no data set 'moon'"),
        (["datasets", "moon"], "no data set 'moon'"),
        (["models", "Q"], "no model 'Q'"),
        (["methods", "Q"], "no method 'Q'"),
    ],
)
def test_mistakes_are_sentences_with_exit_code_2(words, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    assert code == 2 and sentence in said.err and "Traceback" not in said.err
    assert said.err.startswith("python -m features: ") and not said.out


def test_files_that_are_not_what_they_seem_are_sentences(tmp_path, photos, capsys):
    (tmp_path / "fake.png").write_text("I am a text")
    assert main(["match", str(tmp_path / "fake.png"), str(photos / "right.png")]) == 2
    assert main(["match", "--pair", str(photos / "left.png")]) == 2
    (tmp_path / "file").write_text("")
    assert main(["match", *SMALL, "-o", str(tmp_path / "file")]) == 2
    said = capsys.readouterr().err
    assert "fake.png" in said and "zip file" in said and "could not be written" in said


def test_missing_data_tells_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("ADGM_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sequences.frame_points.cache_clear()  # other tests may have read these frames where they are
    sequences.frame_image.cache_clear()
    assert main(["match", "--dataset", "hotel"]) == 2
    assert "datasets --download" in capsys.readouterr().err
    assert main(["datasets"]) == 0
    assert "not here yet: --download house" in capsys.readouterr().out


def test_lists_name_every_entry(capsys):
    for command, registry in (("datasets", DATASETS), ("models", MODELS), ("methods", METHODS)):
        assert main([command]) == 0
        out = capsys.readouterr().out
        for key, entry in registry.items():
            assert f"  {key}" in out and entry.label in out
            assert main([command, key]) == 0
            assert entry.label in capsys.readouterr().out


def test_downloads_show_progress_and_end_with_the_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("ADGM_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def pretend(wanted, folder, progress, **_):
        for done in range(1, 11):
            progress(done * 100_000, 1_000_000, "file")
        return folder

    monkeypatch.setattr(download, "fetch", pretend)
    assert main(["datasets", "--download", "cars", "turntable"]) == 0
    said = capsys.readouterr()
    assert "Cars  100%  1.0 of 1.0 MB" in said.err and len(said.err.splitlines()) == 10
    assert "Cars is now in" in said.out and "built in" in said.out


def test_a_terminal_gets_a_bar():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    bar = listing.Bar("Cars", screen)
    bar(50, 100, "a")
    bar(100, 100, "b")
    assert screen.getvalue().count("\r") == 2 and screen.getvalue().endswith(f"[{'█' * 30}]\n")


@pytest.mark.parametrize("command", [[], ["match"], ["compare"], ["datasets"], ["models"], ["methods"]])
def test_help_is_there_and_fits_the_screen(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    with pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    out = capsys.readouterr().out
    assert end.value.code == 0 and max(map(len, out.splitlines())) <= 115
    assert "example" in out or command[0] in ("datasets", "models", "methods")


def test_compare_prints_a_table_and_writes_all_of_it(tmp_path, capsys):
    words = ["compare", *SMALL, "--model", "B", "--methods", "adgm1,adgm2,bcagm", "--option", "adgm1.rho0=0.1"]
    assert main([*words, "-o", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "ADGM1" in said.out and "8/8" in said.out and "the truth has" in said.out
    assert "BCAGM+MP takes orders 3 to 4" in said.err
    files = {"grid.png", "grid.pdf", "table.csv", "table.md", "table.tex", "matchings.json"}
    assert {path.name for path in tmp_path.iterdir()} == files
    rows = list(csv.DictReader((tmp_path / "table.csv").open()))
    assert [row["method"] for row in rows] == [METHODS[key].label for key in ("adgm1", "adgm2", "bcagm")]
    assert not rows[2]["score"] and "takes orders 3 to 4" in rows[2]["status"]
    content = json.loads((tmp_path / "matchings.json").read_text())
    first, _, refused = content["methods"]
    assert first["recipe"]["method_options"] == {"rho0": 0.1}
    assert first["pairs"] == Recipe.from_dict(first["recipe"]).run().pairs.tolist()
    assert refused["pairs"] is None and "order" in refused["refused"]
    assert float(rows[0]["score"]) == first["metrics"]["score"]
    assert (tmp_path / "table.md").read_text().startswith("| method |")
    assert r"100.0\%" in (tmp_path / "table.tex").read_text()


@pytest.mark.parametrize(
    ("table", "beginning"), [("csv", "method,"), ("markdown", "| method"), ("latex", "\\begin{tab")]
)
def test_compare_prints_tables_to_paste(table, beginning, capsys):
    assert main(["compare", *SMALL, "--model", "B", "--methods", "adgm1", "--table", table]) == 0
    assert capsys.readouterr().out.startswith(beginning)


def test_compare_takes_every_method_that_fits(capsys):
    words = ["--dataset", "random", "--set", "inliers=6", "--set", "outliers=1", "--model", "B"]
    assert main(["compare", *words, "--time-limit", "5"]) == 0
    said = capsys.readouterr()
    problem = Recipe("random", {"inliers": 6, "outliers": 1}, "B").problem()
    for entry in METHODS.values():
        refusal = entry.refusal(problem)
        assert refusal in said.err if refusal else entry.label in said.out


def test_every_command_that_a_message_names_exists():
    """Walks all texts of the package, so that nobody is sent to a command that is not there."""
    known = {"match", "compare", "solve", "convert", "datasets", "models", "methods"}
    named = set()
    for file in (ROOT / "features").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= set(re.findall(r"python -m features ([a-z]\w*)", node.value))
    assert named <= known and named >= {"datasets", "models", "methods"}
    for command in known:
        with pytest.raises(SystemExit):
            main([command, "--help"])


def test_it_runs_as_a_module(tmp_path):
    words = [sys.executable, "-m", "features", "match", "--dataset", "nothing"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "no data set 'nothing'" in done.stderr and "Traceback" not in done.stderr
