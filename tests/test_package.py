"""What is installed: one list of dependencies, and a wheel that holds all that the app needs."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

import adgm
import features
from experiments.tools import notebooks
from experiments.tools.browser import serving
from ui.shell import command, documents

ROOT = Path(__file__).resolve().parents[1]

SOLVER = ("numpy", "scipy", "numba")
# Draws the first page of the installed app, and tells where the solver came from.
DRAWN = """
from pathlib import Path
from streamlit.testing.v1 import AppTest
import adgm
place = Path(adgm.__file__).parents[1] / "adgm_explorer" / "frame" / "app.py"
page = AppTest.from_file(place, default_timeout=200).run()
assert not page.exception, page.exception
assert page.button(key="go").label == "Start"
print(adgm.__file__)
"""
# Fails for whoever imports more than the solver needs.
ALONE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"streamlit", "cv2", "matplotlib", "pandas", "features", "ui", "experiments"}:
            raise ImportError(f"{name} is not the solver's")

sys.meta_path.insert(0, Refuse())
"""
SOLVED = """
import adgm, numpy as np
problem = adgm.Problem((3, 3), [adgm.Dense(1 - np.eye(3))], rows=adgm.EXACTLY_ONE)
assert adgm.solve(problem, "adgm").matching.tolist() == [0, 1, 2]
assert {**adgm.METHODS}
print(adgm.__version__)
"""
WRITTEN = """
from adgm_explorer import match
from adgm_explorer.features.recipe import Recipe
found = match(Recipe("turntable", model="B"))
print(found.recipe.as_python())
"""
# In a clone: one Recipe, whatever it is imported as, and the modules keep their own names.
NAMED = """
from adgm_explorer import match
from adgm_explorer.features.recipe import Recipe
import adgm_explorer.features.matching as one, features.matching as other
assert one is other and other.__spec__.name == "features.matching"
print(match(Recipe("random", {"noise": 0}, model="B")).metrics.accuracy)
try:
    import adgm_explorer.kitchen
except ModuleNotFoundError as error:
    print(error.name)
"""
HOSTILE = "raise SystemExit('a folder of the user was imported')"


def listed(name: str) -> set[str]:
    """The requirements in a file, without comments and references to other files."""
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines())
    return {line for line in lines if line and not line.startswith("-r")}


def test_requirements_mirror_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert listed("requirements.txt") == set(project["dependencies"])
    assert listed("requirements-test.txt") == set(project["optional-dependencies"]["test"])
    assert listed("requirements-dev.txt") == set(project["optional-dependencies"]["dev"])
    assert listed("assets/docs/requirements.txt") == set(project["optional-dependencies"]["docs"])


def test_the_solvers_own_distribution_mirrors_the_project():
    project, solver = (
        tomllib.loads((ROOT / name).read_text(encoding="utf-8"))["project"]
        for name in ("pyproject.toml", "adgm/pyproject.toml")
    )
    assert solver["dependencies"] == [one for one in project["dependencies"] if one.startswith(SOLVER)]
    assert solver["requires-python"] == project["requires-python"]


def test_the_version_is_told_once(monkeypatch, capsys):
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert cited and cited[1] == adgm.__version__ == features.__version__
    assert f"## {adgm.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["adgm-explorer", "--version"])
    assert command.main() == 0
    assert capsys.readouterr().out.split() == ["adgm-explorer", adgm.__version__]


def test_the_solver_imports_and_solves_without_the_apps_libraries():
    done = subprocess.run([sys.executable, "-c", ALONE + SOLVED], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == adgm.__version__, done.stderr[-2000:]


def test_a_clone_has_the_installed_names_without_a_second_copy(tmp_path):
    (tmp_path / "adgm_explorer").mkdir()
    shutil.copyfile(ROOT / "experiments" / "tools" / "clone_names.py", tmp_path / "adgm_explorer" / "__init__.py")
    paths = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-c", NAMED], cwd=tmp_path, env=paths, capture_output=True, text=True)
    assert done.stdout.split() == ["1.0", "adgm_explorer.kitchen"], done.stderr[-2000:]


def test_commands_need_nothing_that_only_developers_install():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    developers = [one for extra in ("test", "dev", "docs") for one in extras[extra]]
    names = {re.split(r"[~=<>]", one)[0].replace("-", "_") for one in developers}
    assert {"pytest", "hypothesis", "playwright"} <= names
    refusing = ALONE.replace(
        '{"streamlit", "cv2", "matplotlib", "pandas", "features", "ui", "experiments"}', repr(names)
    )
    for package, words in (("experiments", ["list"]), ("features", ["models"])):
        program = f"from {package}.__main__ import main; main({words})"
        words = [sys.executable, "-c", refusing + program]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert not done.returncode and done.stdout, done.stderr[-2000:]


@pytest.mark.parametrize("built", [True, False])
def test_the_documentation_goes_with_the_package_if_it_has_been_built(built, tmp_path):
    root, names = tmp_path / "root", renaming()
    for room in names.ROOMS:
        (root / room).mkdir(parents=True)
    for source in names.PLACES:
        path = root / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if not path.suffix else path.write_text("")
    if built:
        (root / "out" / "docs").mkdir(parents=True)
        (root / "out" / "docs" / "index.html").write_text("the first page")
    names.arrange(root, tmp_path / "package")
    assert (tmp_path / "package" / "site" / "index.html").is_file() == built
    assert documents.BUILT[1].relative_to(documents.ROOT) == Path("site")


@pytest.mark.parametrize("words", [["match", "--help"], ["experiments", "list"], ["datasets"], [], ["--server.port=9"]])
def test_the_first_word_chooses_the_command(words, monkeypatch):
    asked = []
    monkeypatch.setattr("features.__main__.main", lambda words: asked.append(("features", words)))
    monkeypatch.setattr("experiments.__main__.main", lambda words: asked.append(("experiments", words)))
    monkeypatch.setattr("ui.shell.launch.main", lambda: asked.append(("app", sys.argv[1:])))
    monkeypatch.setattr(sys, "argv", ["adgm-explorer", *words])
    command.main()
    room = "app" if not words or words[0].startswith("-") else "features"
    assert asked == [("experiments", words[1:]) if words[:1] == ["experiments"] else (room, words)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("from features.models import B", "from adgm_explorer.features.models import B"),
        ("from features import (\n    match,\n)", "from adgm_explorer.features import (\n    match,\n)"),
        ("import ui.learn as learn, json", "import adgm_explorer.ui.learn as learn, json"),
        ("from . import features", "from . import features"),
        ("from adgm import solve", "from adgm import solve"),
        ("features = ui.features", "features = ui.features"),
        ("é = 'é'; c = 'from features import match'", "é = 'é'; c = 'from adgm_explorer.features import match'"),
        ("f'python -m features {x}' 'y'", "f'adgm-explorer {x}' 'y'"),
        ("'python -m experiments bench'", "'adgm-explorer experiments bench'"),
        ("'python -m ui.learn.static_boards F'", "'python -m adgm_explorer.ui.learn.static_boards F'"),
        ("'points from features of both'", "'points from features of both'"),
        ("x = 1  # from features import match", "x = 1  # from features import match"),
    ],
)
def test_rooms_are_renamed_where_they_are_named_and_nowhere_else(written, expected):
    assert renaming().renamed(written) == expected


def test_an_import_that_cannot_be_renamed_is_refused():
    with pytest.raises(ValueError, match=r"mine\.py, line 2: import features\.models needs a name"):
        renaming().renamed("x = 1\nimport features.models", "mine.py")


def renaming():
    """The build hook, which needs hatchling."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    return importlib.import_module("experiments.tools.wheel")


def built(project: Path, folder: Path) -> Path:
    words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*words, str(project)], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    return built(ROOT, tmp_path_factory.mktemp("wheel"))


def environment(folder: Path, wheel: Path) -> Path:
    """Python in a new environment that holds a wheel and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    return python


def site(python: Path) -> Path:
    return next(python.parents[1].glob("lib/python*/site-packages"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """An environment that shares only the dependencies: the project itself comes from the wheel."""
    python = environment(tmp_path_factory.mktemp("installed") / "env", wheel)
    (site(python) / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return python


@pytest.fixture
def crowded(tmp_path) -> Path:
    """A folder with folders of the user's that are called like rooms of ours."""
    for room in ("features", "ui", "experiments", "assets", "frame"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text(HOSTILE, encoding="utf-8")
    return tmp_path


@pytest.mark.long
def test_the_wheel_holds_two_names_all_rooms_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"adgm", "adgm_explorer"}
    for needed in (
        "adgm/solver.py",
        "adgm_explorer/features/datasets/sources.csv",
        "adgm_explorer/frame/app.py",
        "adgm_explorer/frame/config.toml",
        "adgm_explorer/ui/shell/page.css",
        "adgm_explorer/ui/parts/canvas/canvas.js",
        "adgm_explorer/assets/penalty.png",
        "adgm_explorer/assets/results/table1.jsonl.gz",
    ):
        assert needed in names
    assert not [name for name in names if "__pycache__" in name or name.endswith(("pyproject.toml", "test_package.py"))]


@pytest.mark.long
def test_no_room_is_imported_by_its_name_in_the_repository(wheel):
    """Neither by a statement, nor by a program or a command in a string."""
    with zipfile.ZipFile(wheel) as files:
        programs = {name: files.read(name).decode() for name in files.namelist() if name.endswith(".py")}
    for name, text in programs.items():
        for node in ast.walk(ast.parse(text)):
            found = []
            if isinstance(node, ast.Import):
                found = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found = [node.module or ""]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = re.findall(r"(?:^|\n|>>> )from ([\w.]+) import |python -m ([\w.]+)", node.value)
                found = [a or b for a, b in found]
            assert not {one.partition(".")[0] for one in found} & {"features", "ui", "experiments"}, name


@pytest.mark.long
def test_the_installed_command_starts_the_app_outside_the_checkout(installed, crowded):
    with serving(command=[str(installed.with_name("adgm-explorer"))], PYTHONPATH=None):  # it answers for its health
        found = subprocess.run([str(installed), "-c", DRAWN], cwd=crowded, capture_output=True, text=True, check=False)
    assert not found.returncode, found.stderr[-2000:]
    assert str(site(installed)) in found.stdout


@pytest.mark.long
def test_folders_of_the_users_are_in_nobodys_way(installed, crowded):
    """The command, the call, and the program that it writes down, beside folders called like rooms."""

    def said(*words: str) -> str:
        done = subprocess.run(words, cwd=crowded, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr[-2000:]
        return done.stdout

    program = str(installed.with_name("adgm-explorer"))
    assert "matched " in said(program, "match", "--dataset", "turntable", "--model", "B")
    assert "table1" in said(program, "experiments", "list")
    assert said(str(installed), "-m", "adgm_explorer", "--version").split()[1] == adgm.__version__
    written = said(str(installed), "-c", WRITTEN)
    assert "from adgm_explorer.features" in written
    assert said(str(installed), "-c", written)


@pytest.mark.long
def test_a_notebook_runs_with_the_installed_package(installed):
    pytest.importorskip("nbclient", reason="nbclient runs the notebooks")
    book = notebooks.executed(notebooks.NOTEBOOKS / "first-matching.ipynb", str(site(installed)))
    assert "46 matches" in str(book) and str(ROOT) not in str(book)


@pytest.mark.long
def test_the_solver_alone_is_small_and_solves(tmp_path):
    """In an environment with NumPy, SciPy and Numba, and nothing of the app."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    python = environment(tmp_path / "env", built(ROOT / "adgm", tmp_path / "wheel"))
    libraries = Path(sysconfig.get_path("purelib"))
    linked = [path for one in (*SOLVER, "llvmlite") for path in (libraries / one, libraries / f"{one}.libs")]
    for path in filter(Path.exists, linked):
        (site(python) / path.name).symlink_to(path)
    done = subprocess.run([str(python), "-c", SOLVED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == adgm.__version__, done.stderr[-2000:]
    files = [file for path in linked for file in path.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    assert sum(file.stat().st_size for file in files) < 400e6


@pytest.mark.long
def test_the_solvers_tests_pass_where_nothing_of_the_app_is_there(tmp_path):
    """The solver from its own wheel, without the repository; the app's libraries are refused."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    python = environment(tmp_path / "env", built(ROOT / "adgm", tmp_path / "wheel"))
    (site(python) / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    (site(python) / "sitecustomize.py").write_text(ALONE, encoding="utf-8")
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("conftest.py", "__pycache__"))
    chosen = [
        f"tests/test_{name}.py" for name in ("solver", "problem", "deep_matchers", "projections", "rounding", "terms")
    ]
    options = ["-q", "-p", "no:cacheprovider", "-m", "not long and not data", "-o", "pythonpath=. tests"]
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    words = [str(python), "-m", "pytest", *options, "-o", "markers=long\ndata", *chosen]
    done = subprocess.run(words, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert not done.returncode and " passed" in done.stdout, done.stdout[-2000:] + done.stderr[-1000:]
    alone = subprocess.run([str(python), "-c", "import cv2"], capture_output=True, text=True, check=False)
    assert "cv2 is not the solver's" in alone.stderr
