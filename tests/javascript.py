"""What the page's own scripts compute, for tests: by Node where there is one, else by Chromium."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from ui.learn import boards


def evaluate(request: pytest.FixtureRequest, expression: str, data: object, script: str = "") -> Any:
    """An expression in `data` after the script of the boards, and perhaps another."""
    given = json.dumps(data)
    program = f"{boards.SCRIPT}\n{script}\nconst data = {given};"
    if node := shutil.which("node"):
        text = f"{program}\nconsole.log(JSON.stringify({expression}));"
        ran = subprocess.run([node, "-"], input=text, capture_output=True, text=True, encoding="utf-8", check=True)
        return json.loads(ran.stdout)
    page = request.getfixturevalue("browser").new_page()
    found = page.evaluate(f"(() => {{ {program}\nreturn {expression}; }})()")
    page.close()
    return found
