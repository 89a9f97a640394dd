"""The documentation site: `python -m experiments docs` builds it into `out/docs`, `--serve` shows it.

The sources are in `assets/docs`: pages in Markdown, notebooks with what their cells said, and a gallery of scripts that
are run here. The reference is made from docstrings, registries and parsers. Everything is written down under the names
of the installed package. Nothing is fetched, neither now nor by the pages.
"""

import argparse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "assets" / "docs"
SITE = ROOT / "out" / "docs"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, default=SITE, help="where to (out/docs)")
    parser.add_argument("--serve", type=int, metavar="PORT", help="then show it on this port of this computer")


def run(options: argparse.Namespace) -> int:
    if not SOURCES.is_dir():
        raise ValueError("The sources of the documentation are in a clone of the repository, not in the package.")
    from experiments.tools.documentation import build  # what it needs takes longer than most commands

    build.build(options.folder)
    print(f"{options.folder / 'index.html'}: {len(list(options.folder.rglob('*.html')))} pages")
    if options.serve is not None:
        build.serve(options.folder, options.serve)
    return 0
