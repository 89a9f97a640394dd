"""From `assets/docs` to a folder of HTML pages: write all pages as Markdown, let MkDocs draw them, check the links."""

import functools
import http.server
import json
import logging
import os
import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.tools.documentation import ROOT, SOURCES, tables
from experiments.tools.documentation.kept import Kept, code, needed
from experiments.tools.documentation.links import dead
from experiments.tools.documentation.shown import Example, notebook

RESULTS = ROOT / "assets" / "results"
INCLUDED = re.compile(r"^\{\{ (\S+) (\w+) \}\}$", re.M)  # {{ adgm/reference.py step }}
CARDS = re.compile(r"^\{\{ ([\w ]+) \}\}$", re.M)  # {{ photographs points }}
FRONT = re.compile(
    r"from adgm_explorer\.features import (match|match_views|Matching)\b"
)  # what the package itself offers
MADE = {"methods": tables.methods, "models": tables.models, "datasets": tables.datasets, "commands": tables.commands}
PICTURES = {"match.png": "app.png"}  # of the README


def build(folder: Path) -> None:
    """Write the site into a folder, which is emptied first; a ValueError names what is wrong with it."""
    needed("mkdocs")
    with TemporaryDirectory() as kept:
        place, pieces = Path(kept), Kept()
        needed("experiments.tools.wheel").arrange(ROOT, place / "package" / "adgm_explorer")
        for path in (place / "package").rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            path.write_text(FRONT.sub(r"from adgm_explorer import \1", text), encoding="utf-8")
        write_pages(place / "pages", pieces)
        _mkdocs(place, folder)
        for path in folder.rglob("*.html"):
            path.write_text(pieces.put(path.read_text(encoding="utf-8")), encoding="utf-8")
    if wrong := list(dead(folder)):
        raise ValueError("\n".join(["Links lead nowhere:", *wrong]))


def write_pages(folder: Path, kept: Kept) -> None:
    """All pages as Markdown, with their pictures."""
    installed = needed("experiments.tools.wheel").in_text
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("*.yml", "*.txt", "*.ipynb", "gallery"))
    for path in sorted(SOURCES.glob("*.ipynb")):
        book = json.loads(path.read_text(encoding="utf-8"))
        (folder / f"{path.stem}.md").write_text(notebook(book, kept), encoding="utf-8")
    for name, made in MADE.items():
        (folder / "reference" / f"{name}.md").write_text(made(), encoding="utf-8")
    write_gallery(folder / "gallery", kept)
    shutil.copytree(RESULTS, folder / "results", ignore=shutil.ignore_patterns("*.gz", "*.csv"))
    (folder / "results" / "README.md").rename(folder / "results" / "index.md")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](assets/docs/", "](")
    (folder / "changelog.md").write_text(changes, encoding="utf-8")
    for picture, name in PICTURES.items():
        shutil.copyfile(ROOT / "assets" / picture, folder / name)
    for path in sorted(folder.rglob("*.md")):
        text = INCLUDED.sub(_included, path.read_text(encoding="utf-8")).replace("<details>", '<details markdown="1">')
        text = FRONT.sub(r"from adgm_explorer import \1", installed(text))
        path.write_text(kept.formulas(text), encoding="utf-8")


def _included(found: re.Match[str]) -> str:
    return code(tables.source(found[1], found[2], str(ROOT)), "python", found[1])


def write_gallery(folder: Path, kept: Kept) -> None:
    """Run every script, and write its page; the first page says in which order they come."""
    folder.mkdir()
    first, cards = (SOURCES / "gallery" / "index.md").read_text(encoding="utf-8"), {}
    for path in sorted((SOURCES / "gallery").glob("*.py")):
        one = Example(path).run(kept)
        (folder / f"{path.stem}.md").write_text(one.text, encoding="utf-8")
        for name, data in {**one.files, f"{path.stem}-small.png": one.thumbnail}.items():
            (folder / name).write_bytes(data)
        cards[path.stem] = f"- [![]({path.stem}-small.png)]({path.stem}.md)\n\n    **[{one.title}]({path.stem}.md)**\n"
    listed = [name for line in CARDS.findall(first) for name in line.split()]
    if sorted(listed) != sorted(cards):
        raise ValueError(f"gallery/index.md names {', '.join(sorted(listed))}; there are {', '.join(sorted(cards))}.")

    def grid(found: re.Match[str]) -> str:
        chosen = "\n".join(cards[name] for name in found[1].split())
        return f'<div class="grid cards gallery" markdown>\n\n{chosen}\n</div>'

    (folder / "index.md").write_text(CARDS.sub(grid, first), encoding="utf-8")


def _mkdocs(place: Path, folder: Path) -> None:
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    config = needed("mkdocs.config").load_config(
        config_file=str(SOURCES / "mkdocs.yml"),
        docs_dir=str(place / "pages"),
        site_dir=str(folder.absolute()),
        strict=True,
    )
    handler = config["plugins"]["mkdocstrings"].config["handlers"].setdefault("python", {})
    handler["paths"] = [str(place / "package"), str(ROOT)]
    log, told = logging.getLogger("mkdocs"), logging.StreamHandler(sys.stderr)
    told.setLevel(logging.WARNING)
    log.addHandler(told)
    try:
        needed("mkdocs.commands.build").build(config)
    except needed("mkdocs.exceptions").Abort as error:
        raise ValueError(f"The documentation was not built: {error}") from error
    finally:
        log.removeHandler(told)


def serve(folder: Path, port: int) -> None:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/ until Ctrl+C")
        server.serve_forever()
