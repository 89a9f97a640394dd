"""The left photograph laid over the right one by the map between them: what convinces a visitor."""

import cv2
import numpy as np
import streamlit as st

from features.matching import Matching
from features.points.images import Image
from ui.parts import canvas

SCRIPT = """
export default function ({ parentElement, data }) {
  const root = parentElement.querySelector(".overlay");
  const [under, over] = root.querySelectorAll("img"), slider = root.querySelector("input");
  const script = document.querySelector('script[type="module"][src*="static/js/"]');
  const site = script ? script.src.replace(/static\\/js\\/.*/, "") : document.baseURI;
  const locate = (address) => new URL(address.replace(/^\\//, ""), site).href;
  if (root.dataset.shown !== data.over) {
    [under.src, over.src] = [locate(data.under), locate(data.over)];
    root.dataset.shown = data.over;
  }
  slider.oninput = () => { over.style.opacity = slider.value; };
  slider.oninput();
}
"""
STYLE = """
.overlay { font-family: var(--st-font); color: var(--st-text-color); }
.overlay .sheet { position: relative; line-height: 0; max-width: 44rem; border-radius: 0.5rem; overflow: hidden; }
.overlay img { width: 100%; }
.overlay img + img { position: absolute; inset: 0; }
.overlay label { display: flex; align-items: center; gap: 0.75rem; max-width: 44rem; margin-bottom: 0.5rem; }
.overlay input { flex: 1; accent-color: var(--st-primary-color); }
"""
HTML = """<div class="overlay"><label>right<input type="range" min="0" max="1" step="0.01" value="0.5"
  aria-label="From the right photograph to the left one laid over it">left</label>
  <div class="sheet"><img alt="The right photograph"><img alt="The left photograph, laid over it"></div></div>"""

_COMPONENT = st.components.v2.component("adgm_overlay", html=HTML, css=STYLE, js=SCRIPT)


def show(found: Matching) -> None:
    """The two photographs on top of each other, where a map says how."""
    checked, left, right = found.verification, found.pair.left.image, found.pair.right.image
    if checked is None or checked.map is None or checked.map.kind == "fundamental" or left is None or right is None:
        return
    with st.expander("Lay one photograph over the other", icon=":material/layers:", expanded=True, key="overlay"):
        size = right.rgb.shape[1], right.rgb.shape[0]
        warped = cv2.warpPerspective(
            left.rgb, checked.map.matrix, size, borderMode=cv2.BORDER_TRANSPARENT, dst=right.rgb.copy()
        )
        over = Image(np.asarray(warped, np.uint8), right.scale)
        _COMPONENT(
            key="overlay view",
            data={
                "under": canvas.image_address(right, "overlay-under"),
                "over": canvas.image_address(over, "overlay-over"),
            },
        )
