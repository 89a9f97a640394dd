"""For the lecturer, on every page: presenter mode, keys instead of the mouse, and links that lock and hide.

`?present=1` (or the key f) makes the type large and hides sidebar and navigation; `?lock=rho,model` locks controls,
and `?hide=formula` hides a part of Learn. All of it holds for the whole visit, also on pages opened from there.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

PRESENT, LOCK, HIDE = "present", "lock", "hide"
_NAMED = {LOCK: "locked controls", HIDE: "hidden parts"}  # where the session keeps what an address names
_ON, _HEIGHT, _COMPONENT = "presenting", "height of the window", "presenter keys"
PLAIN = 720  # pixels: the height of a window that pictures are made for
TYPE = 8.0, 1 / 45  # pixels of Learn's letters, and how many more for each of the window's height (see page.css)
WIDE = 20  # letters of a legend that stand in one row
GROWING = {"nameGap", "top", "bottom", "left", "right", "itemWidth", "itemHeight", "itemGap", "symbolSize"}

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
# Keys that choose one of several: where they stand on Learn. Presenter mode writes the keys beside them.
PICKS: tuple[tuple[str, str, str], ...] = (
    ("123456789", "choose an answer", '.st-key-learn-side [data-testid="stRadio"] input'),
    (
        "ABCDEFGHI",
        "with Shift: choose a matching, a sub-step, a problem …",
        '.st-key-learn-side [data-testid="stButtonGroup"] [role=radio]',
    ),
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
            data={"keys": keys, "picks": [list(one) for one in PICKS], "on": active()},
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


def letters() -> float:
    """The size of the page's type in presenter mode, in pixels."""
    return TYPE[0] + TYPE[1] * float(st.session_state.get(_HEIGHT, PLAIN))


def enlarged(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A chart's options for presenter mode: with the page's type, and as much more room for it."""
    if not active():
        return dict(spec)
    size = round(letters())
    made: dict[str, Any] = _grown(spec, size / 16)
    for name in ("xAxis", "yAxis"):
        for axis in made[name] if isinstance(made[name], list) else [made[name]]:
            axis["axisLabel"] = {"hideOverlap": True, "fontSize": size} | axis.get("axisLabel", {})
            axis["nameTextStyle"] = {"fontSize": size} | axis.get("nameTextStyle", {})
    if "legend" in made:
        made["legend"] = {"textStyle": {"fontSize": size}} | made["legend"]
        if made["legend"].get("show", True) and sum(len(str(one.get("name", ""))) for one in made["series"]) > WIDE:
            made["legend"]["type"] = "plain"  # in two rows, of which none is cut
            made["grid"] = made["grid"] | {"top": made["grid"]["top"] + 1.3 * size}
    return made


def _grown(spec: Any, factor: float, name: str = "") -> Any:
    """Options with letters of the page's size at least; numbers in GROWING are pixels."""
    if isinstance(spec, Mapping):
        return {key: _grown(value, factor, key) for key, value in spec.items()}
    if isinstance(spec, list | tuple):
        return [_grown(value, factor, name) for value in spec]
    if name == "fontSize" and spec:
        return round(16 * factor)
    return round(factor * spec) if name in GROWING and isinstance(spec, int | float) else spec


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
