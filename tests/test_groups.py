"""How the tests are shared out: every file with a browser is in the one group that has one."""

from pathlib import Path

from conftest import group


def test_every_file_with_a_browser_is_in_the_group_that_shares_one():
    mark = "pytest.mark." + "browser"
    for file in Path(__file__).parent.glob("test_*.py"):
        assert (mark in file.read_text(encoding="utf-8")) == (group(file.name) == "browser"), file.name
