"""CHAPTERS: the course, in this order. One line here adds a chapter to the page, the worksheets and the tests."""

from ui.learn.assignment import ASSIGNMENT, STRUCTURE
from ui.learn.chapter import Chapter
from ui.learn.closing import CLOSING
from ui.learn.luck import LUCK
from ui.learn.order import ORDER
from ui.learn.outliers import OUTLIERS
from ui.learn.penalty import PENALTY
from ui.learn.plane import PLANE
from ui.learn.rounding import ROUNDING
from ui.learn.simplex import SIMPLEX
from ui.learn.splitting import SPLIT
from ui.learn.step import STEP
from ui.learn.verdicts import VERDICT

COURSE = (
    ASSIGNMENT,
    STRUCTURE,
    PLANE,
    SPLIT,
    SIMPLEX,
    STEP,
    ROUNDING,
    PENALTY,
    ORDER,
    VERDICT,
    OUTLIERS,
    LUCK,
    CLOSING,
)
CHAPTERS: dict[str, Chapter] = {chapter.key: chapter for chapter in COURSE}
