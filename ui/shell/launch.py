"""Start the app from a clone or an installed wheel; the command `adgm-explorer` alone does it (`ui.shell.command`)."""

import os
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from streamlit.web.cli import main as streamlit

from features import plugins

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / "frame"  # where a wheel keeps the frame and its settings


def main() -> None:
    """Run the app with its own settings; `--plugin FILE` and options of `streamlit run` may follow the command."""
    try:
        asked = plugins.taken(sys.argv[1:])
    except ValueError as error:
        print(f"adgm-explorer: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    app, settings = ROOT / "app.py", ROOT / ".streamlit" / "config.toml"
    if INSTALLED.is_dir():
        app, settings = INSTALLED / "app.py", INSTALLED / "config.toml"
    words = options(tomllib.loads(settings.read_text(encoding="utf-8")))
    try:
        Path.home()
    except RuntimeError:  # a user without one, as in a container; Streamlit looks there for settings
        os.environ["HOME"] = tempfile.gettempdir()
    sys.argv = ["streamlit", "run", str(app), *words, *asked]
    streamlit()


def options(settings: Mapping[str, Any], section: str = "") -> Iterator[str]:
    """The settings of a configuration file as options of the command line."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from options(value, f"{section}{name}.")
        else:
            yield f"--{section}{name}={str(value).lower() if isinstance(value, bool) else value}"


if __name__ == "__main__":
    main()
