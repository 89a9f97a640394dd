"""What is installed: one list of dependencies, and a wheel that holds all that the app needs."""

import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from experiments.tools.browser import serving

ROOT = Path(__file__).resolve().parents[1]

# Draws the first page of the installed app, and tells where the solver came from.
DRAWN = """
from pathlib import Path
from streamlit.testing.v1 import AppTest
import adgm
page = AppTest.from_file(Path(adgm.__file__).parents[1] / "adgm_explorer" / "app.py", default_timeout=200).run()
assert not page.exception, page.exception
assert page.button(key="go").label == "Start"
print(adgm.__file__)
"""


def listed(name: str) -> set[str]:
    """The requirements in a file, without comments and references to other files."""
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines())
    return {line for line in lines if line and not line.startswith("-r")}


def test_requirements_mirror_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert listed("requirements.txt") == set(project["dependencies"])
    assert listed("requirements-dev.txt") == set(project["optional-dependencies"]["dev"])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(words, check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_rooms_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "adgm/solver.py",
        "features/datasets/sources.csv",
        "adgm_explorer/app.py",
        "adgm_explorer/config.toml",
        "ui/shell/page.css",
        "ui/parts/canvas/canvas.js",
        "assets/penalty.png",
        "assets/results/table1.jsonl.gz",
    ):
        assert needed in names
    assert not [name for name in names if name.startswith(("tests/", ".venv", "app.py"))]


@pytest.mark.long
def test_the_installed_command_starts_the_app_outside_the_checkout(wheel, tmp_path):
    """In a new environment that shares only the dependencies: the project itself comes from the wheel."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    with serving(command=[str(python.with_name("adgm-explorer"))], PYTHONPATH=None):  # it answers for its health
        words = [str(python), "-c", DRAWN]
        found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not found.returncode, found.stderr[-2000:]
    assert str(site) in found.stdout
