"""For the lecturer, on every page: presenter mode, keys instead of the mouse, and links that lock and hide.

`?present=1` (or the key f) makes the type large and hides sidebar and navigation; `?lock=rho,model` locks controls,
and `?hide=formula` hides a part of Learn. All of it holds for the whole visit, also on pages opened from there.
"""

from collections.abc import Iterable
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

PRESENT, LOCK, HIDE = "present", "lock", "hide"
_NAMED = {LOCK: "locked controls", HIDE: "hidden parts"}  # where the session keeps what an address names
_ON, _HEIGHT, _COMPONENT = "presenting", "height of the window", "presenter keys"
PLAIN = 720  # pixels: the height of a window that pictures are made for

# What a key does, for people, and the names of the buttons that it presses: the first that is there and enabled.
KEYS: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("s",), "start, run or check", ("Start", "Start again", "Compare", "Run", "Check")),
    (("p",), "pause or go on", ("Pause", "Resume", "Hold", "Play")),
    ((".", "ArrowRight"), "a step forward", ("Step", "Step forward")),
    ((",", "ArrowLeft"), "a step back", ("Step back",)),
    (("r",), "show the answers of the class, then the right one", ("Show answers", "Reveal")),
    (("q",), "the QR code of the class", ("QR code",)),
    (("n", "PageDown"), "next chapter", ("Next",)),
    (("b", "PageUp"), "previous chapter", ("Previous",)),
)


def begin() -> DeltaGenerator:
    """Follow what the address asks for, and listen to the keys; once per run, before the page.

    Returns a place that takes no room, for what a browser does without showing anything.
    """
    if PRESENT in st.query_params:
        st.session_state[_ON] = st.query_params[PRESENT] not in ("", "0")
    for word, slot in _NAMED.items():
        if word in st.query_params:
            st.session_state[slot] = frozenset(filter(None, st.query_params[word].replace(" ", "").split(",")))
    place = st.container(key="presenting" if active() else "not-presenting")
    with place:
        keys = tuple({"keys": each, "does": does, "buttons": names} for each, does, names in KEYS)
        _KEYS(
            key=_COMPONENT,
            data={"keys": keys, "on": active()},
            on_toggle_change=toggle,
            on_height_change=measured,
        )
    return place


def active() -> bool:
    return bool(st.session_state.get(_ON, False))


def locked(name: str) -> bool:
    """Whether the link that opened the page locks this control, or the group it belongs to."""
    return name in st.session_state.get(_NAMED[LOCK], frozenset())


def hidden(name: str) -> bool:
    """Whether the link that opened the page hides this part of it."""
    return name in st.session_state.get(_NAMED[HIDE], frozenset())


def begin_with(locks: Iterable[str], hides: Iterable[str], presenting: bool) -> None:
    """Lock, hide and present what an exercise says, as if its link said so."""
    for word, names in ((LOCK, locks), (HIDE, hides)):
        st.session_state[_NAMED[word]] = frozenset(names)
    st.session_state[_ON] = presenting or active()


def group(name: str, part: str = "") -> DeltaGenerator:
    """A place for controls that go together; what a link locks is not shown, and stays as the link says."""
    return st.container(key=f"{'locked' if locked(name) else 'open'}-{name}{part}")


def tall(pixels: int) -> int:
    """The height of a picture: in presenter mode it grows with the window, as the type does."""
    return round(pixels * max(1.0, st.session_state.get(_HEIGHT, PLAIN) / PLAIN)) if active() else pixels


def measured() -> None:
    height = st.session_state[_COMPONENT].get("height")
    if isinstance(height, int) and 0 < height < 10_000:
        st.session_state[_HEIGHT] = height


def words() -> dict[str, str]:
    """What an address carries of this: beside a page's own words."""
    named = {word: ",".join(sorted(st.session_state.get(slot, ()))) for word, slot in _NAMED.items()}
    return ({PRESENT: "1"} if active() else {}) | {word: held for word, held in named.items() if held}


def toggle() -> None:
    st.session_state[_ON] = not active()
    if active():
        st.query_params[PRESENT] = "1"
    else:
        st.query_params.pop(PRESENT, None)


_KEYS = st.components.v2.component(
    "adgm_presenter_keys",
    html='<dialog aria-label="Keys"></dialog>',
    css=Path(__file__).with_name("presenter.css").read_text(encoding="utf-8"),
    js=Path(__file__).with_name("presenter.js").read_text(encoding="utf-8"),
)
