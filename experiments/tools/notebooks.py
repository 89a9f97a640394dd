"""Run the notebooks in `assets/docs`, each in a kernel of its own: `python -m experiments notebooks`.

They are written for the installed package; the kernel finds `adgm_explorer` as an editable install would.
"""

import argparse
import os
import shutil
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "assets" / "docs"
SECONDS = 300  # for one cell: the first may compile


def notebooks() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def read(path: Path) -> Any:
    return _needed("nbformat").read(path, as_version=4)


def _needed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(f"{name} is missing; install it: pip install -r requirements-dev.txt") from error


def executed(path: Path, package: str | None = None) -> Any:
    """The notebook with what its cells say now; an error in a cell is raised. The kernel works in an empty folder.

    `package` is a folder that holds adgm_explorer; if None, it is the clone's.
    """
    book, client, manager = read(path), _needed("nbclient"), _needed("jupyter_client.manager")
    with TemporaryDirectory() as kept:
        names, work = Path(kept, "names"), Path(kept, "work")
        (names / "adgm_explorer").mkdir(parents=True)
        work.mkdir()
        shutil.copyfile(Path(__file__).with_name("clone_names.py"), names / "adgm_explorer" / "__init__.py")
        places = f"{names}{os.pathsep}{ROOT}" if package is None else package
        kernel = manager.AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(Path(kept, "socket")))
        runner = client.NotebookClient(book, km=kernel, timeout=SECONDS, record_timing=False, coalesce_streams=True)
        runner.execute(cwd=str(work), env={**os.environ, "PYTHONPATH": places})
    for cell in code_cells(book):
        cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    return book


def code_cells(book: Any) -> list[Any]:
    return [cell for cell in book.cells if cell.cell_type == "code"]


def run(options: argparse.Namespace) -> int:
    for path in notebooks():
        _needed("nbformat").write(executed(path), path)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
    return 0
