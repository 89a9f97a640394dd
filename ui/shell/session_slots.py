"""What a visitor's session keeps, declared once: no page names a slot of its own.

Widgets of the choice have keys that begin with `CHOICE`; they are forgotten when another choice is made (see
`ui.choice.address`). The keys of other widgets that more than one place reads stand here, too.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import streamlit as st

if TYPE_CHECKING:
    from adgm.explain.terms import Match
    from adgm.views import Forced
    from features.explain import Case
    from features.pairs import Pair
    from features.recipe import Recipe
    from features.views import ViewSet, ViewsRecipe
    from ui.choice.formula.own_model import Draft
    from ui.compare.page import Compared
    from ui.debug.background import Request
    from ui.jobs.comparison import Entrant
    from ui.jobs.task import Progress, Task
    from ui.match.optimality import BoundSearch
    from ui.match.outcome import Kept
    from ui.match.page_run import Run
    from ui.parts.run_book import Book
    from ui.views.run import Picked, ViewsShown

T = TypeVar("T")
CHOICE = "choice"  # what the keys of the choice's widgets begin with


@dataclass(frozen=True)
class Slot(Generic[T]):
    """A named place in the session."""

    name: str

    def get(self) -> T | None:
        found: T | None = st.session_state.get(self.name)
        return found

    def set(self, value: T) -> None:
        st.session_state[self.name] = value

    def pop(self) -> T | None:
        found: T | None = st.session_state.pop(self.name, None)
        return found


RECIPE: "Slot[Recipe]" = Slot("recipe")  # the one record of what is chosen
PAGE: "Slot[str]" = Slot("page")  # that was drawn last
FOLLOWED: "Slot[bool]" = Slot("address followed")  # since that page was opened
FILES: "Slot[tuple[str, ...]]" = Slot("files")  # of the pair that was brought along last
SHOTS: "Slot[list[Any]]" = Slot("pictures taken")  # by the camera
CAMERA: "Slot[bool]" = Slot("camera asked")
ARRANGED: "Slot[list[Pair]]" = Slot("arrangements")  # of two images: as they came, and after each change
ROUND: "Slot[int]" = Slot("round of photographs")  # a new one begins with an empty drop area
OWN_PAIR: "Slot[Pair]" = Slot("own pair")  # it stays while another page is shown
MASK: "Slot[bool]" = Slot("masking")  # the stage takes regions (`ui.match.masking`)
EXERCISE: "Slot[str]" = Slot("exercise opened")  # the code in the link that opened Match
LINK: "Slot[bool]" = Slot("link followed")
START: "Slot[bool]" = Slot("start asked")  # pressed in a part that is drawn alone; the whole page starts the run
COMPARE: "Slot[bool]" = Slot("comparison asked")  # pressed; the next drawing of the page starts the comparison
DRAFT: "Slot[Draft]" = Slot("formula as typed")
RUN_OF: "Slot[str]" = Slot("formula of the last drawing")  # with its parameters: when these change, a run follows
TO_MATCH: "Slot[Recipe]" = Slot("to open on Match")  # pressed on the Debug page, which turns there
LATE: "Slot[str]" = Slot("pressed too late")  # what could not be done any more, in a sentence
RHO: "Slot[tuple[int, float]]" = Slot("penalty shown")  # the number of a run and its ρ, with what was pressed since

RUN: "Slot[Run]" = Slot("run")  # the run on the Match page
TOKEN: "Slot[str]" = Slot("token")  # of this visit, see `ui.shell.reload_store`
EARLIER: "Slot[str]" = Slot("earlier visit")  # of this tab: its token, once it has been looked for
SHARED: "Slot[tuple[int, str]]" = Slot("shared run")  # its number, and the token in its link
KEPT: "Slot[Kept]" = Slot("run A")
PROOF: "Slot[BoundSearch]" = Slot("proof")
REPLAY: "Slot[int]" = Slot("replay")  # the stop that a replay is at
STORED: "Slot[tuple[Any, bytes]]" = Slot("stored iterations")  # of a run, as the browser reads them
SLIDER: "Slot[int]" = Slot("slider")  # its number: a new run has a new one
END: "Slot[str]" = Slot("slider's end")  # its last stop when it was drawn

COMPARED: "Slot[Compared]" = Slot("compared")
MANY: "Slot[Task]" = Slot("many photographs")
LEFT_OUT: "Slot[set[str]]" = Slot("left out")  # methods that are not to be compared
OPTIONS: "Slot[dict[str, dict[str, Any]]]" = Slot("compare options")
ENTRANT: "Slot[Entrant]" = Slot("entrant to open")

VISITOR: "Slot[str]" = Slot("visitor")
EXPERIMENT: "Slot[str]" = Slot("experiment before")
MEANS: "Slot[dict[Any, Any]]" = Slot("means shown")
ROW: "Slot[Recipe]" = Slot("row to open")

CASE: "Slot[Case]" = Slot("case")  # that is debugged
AGAIN: "Slot[Recipe]" = Slot("case to run again")  # and becomes it
TO_DEBUG: "Slot[bool]" = Slot("to debug")  # asked in a part that is drawn alone; the whole page turns to Debug
DEBUG_ROW: "Slot[Recipe]" = Slot("row to debug")
FOCUS: "Slot[Match]" = Slot("match in focus")
WORK: "Slot[Request]" = Slot("work")  # of the Debug page, in the background
ANSWERS: "Slot[dict[Any, Progress]]" = Slot("answers")  # and what came of it earlier

VIEWS_RECIPE: "Slot[ViewsRecipe]" = Slot("views recipe")  # the one record of what is chosen on Views
VIEWS_OWN: "Slot[ViewSet]" = Slot("own views")  # they stay while another page is shown
VIEWS_START: "Slot[bool]" = Slot("views start asked")
VIEWS_FORCE: "Slot[tuple[Forced, ...]]" = Slot("matches to force")  # the next drawing goes on with these
VIEWS_RUN: "Slot[ViewsShown]" = Slot("views run")
VIEWS_PICKED: "Slot[Picked]" = Slot("views picked")  # a point or a pair of views
VIEWS_TO_MATCH: "Slot[tuple[int, int]]" = Slot("views to open on Match")
VIEWS_TO_DEBUG: "Slot[tuple[int, int]]" = Slot("views to open on Debug")

BOOK: "Slot[Book]" = Slot("run book")  # every run since the page was opened

# Widgets
CANVAS = "pair"  # whose edits are part of the choice
PACE, LIMIT, GRAPH, EDIT, APART, POLISH = "pace", "limit", "graph", "edit", "apart", "polish"
BOTH = "both images"  # dropped in the main area
SHARE = "export and share"
FOLLOW = "run every change"
TOOL, MATCH = "debug tool", "debug match"
WHOLE = "share the run itself"
METHOD_BEHIND, ALL_PAIRS, OPTIONS_OF = "method behind", "all pairs", "options of"


def widget_key(*parts: str) -> str:
    """The key of a widget of the choice."""
    return " ".join((CHOICE, *parts))


def panel_key(label: str) -> str:
    """The key of a part of the sidebar that can be folded; another choice leaves it as it is."""
    return f"panel {label}"


def forget_widgets(*parts: str) -> None:
    """Let the widgets of (a part of) the choice begin anew, with what the record says."""
    beginning = widget_key(*parts)
    for key in [key for key in st.session_state if str(key).startswith(beginning)]:
        del st.session_state[key]


def begin(key: str, value: T) -> T:
    """A widget that is drawn for the first time, or again, begins with this value; returns the value it has now.

    Give that to the widget as well (`value=`, `index=`, `default=`). Streamlit sends a value that is only put into the
    session once; where a second message of the browser stops that drawing, the browser never gets it, shows the least
    value instead, and sends that back as if it had been chosen. What the widget itself is given comes with every
    drawing.
    """
    if key not in st.session_state:
        st.session_state[key] = value
    found: T = st.session_state[key]
    return found
