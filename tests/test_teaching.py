"""What the document for lecturers says of links, keys and boards is so."""

import re
from pathlib import Path

from features.limits import LAPTOP, PUBLIC
from ui.learn import static_boards
from ui.learn.builder import PARTS
from ui.learn.chapters import CHAPTERS
from ui.shell import presenter

TEXT = Path(__file__).parents[1].joinpath("assets", "docs", "teaching.md").read_text(encoding="utf-8")


def named(about: str) -> set[str]:
    """The names in the row of the table that ends with these words."""
    row = next(line for line in TEXT.splitlines() if line.endswith(f"| {about} |"))
    return set(re.findall(r"`(\w+)`", row))


def test_the_document_names_what_links_can_lock_and_hide():
    assert named("the controls of the chapters") == {one.name for each in CHAPTERS.values() for one in each.controls}
    assert named("parts of a chapter (hide only)") == set(PARTS)
    assert named("what can be changed of the plane (lock only)") < set(CHAPTERS["plane"].free)


def test_the_document_counts_chapters_boards_days_and_letters():
    names = list(CHAPTERS)
    places = [str(names.index(chapter.key) + 1) for chapter in static_boards.with_board()]
    assert f"(chapters {', '.join(places[:-1])} and {places[-1]})" in TEXT
    assert (LAPTOP.exercise_seconds, PUBLIC.exercise_seconds) == (7 * 86400, 2 * 86400)
    assert "7 days after they were opened last (2 where" in TEXT
    for height, size in ((720, 24), (1080, 32)):
        assert presenter.TYPE[0] + presenter.TYPE[1] * height == size and str(size) in TEXT
    keys = {key for keys, _, _ in presenter.KEYS for key in keys}
    assert {"n", "b", ".", ",", "s", "r"} <= keys and "f" not in keys
