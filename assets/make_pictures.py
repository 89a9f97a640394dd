"""The README's pictures of the app, taken from a real run in a real browser: python assets/make_pictures.py

Writes match.png and photographs.png (finished runs) and match.gif (a run itself) beside this file, and to screens/ the
stage as a projector, a laptop and a phone show it, in light and dark. With --docs only the pictures of
docs/debugging.md are taken; they need the House data set (ADGM_DATA_DIR). With --views only the Turntable's views that
the app opens with are drawn, for features/datasets/views.
"""

import argparse
import io
import re
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from experiments.tools.browser import Server, Visit, chromium, serving  # noqa: E402
from features.datasets import turntable  # noqa: E402
from features.plots import animation  # noqa: E402

WIDTH, HEIGHT = 1400, 860
OPENING = (20, 40)  # views of the Turntable
SCREENS = ((1280, 720), (1440, 900), (390, 844))
PHOTOGRAPHS = "?data=portrait&model=photo&method=adgm"
SCENE = "?data=turntable&data.right=40&data.points=30&data.landmarks=seen+in+both+views&model=C&method=adgm"
HOUSE = "?data=house&data.left=0&data.right=40&data.points=10&model={model}&method=adgm"
Box = dict[str, float]
GIF_WIDTH, FRAMES = 760, 36


def open_page(browser: Any, server: Server, scene: str = SCENE, **options: Any) -> Visit:
    options = {"viewport": {"width": WIDTH, "height": HEIGHT}, "color_scheme": "light"} | options
    page = Visit(browser.new_context(**options), f"{server.url}/{scene}")
    page.ready()
    return page


def finished(browser: Any, server: Server, **options: Any) -> bytes:
    """A screenshot of a run that has ended."""
    page = open_page(browser, server, **options)
    page.choose("Pace", "100 iterations/s")
    page.press("Start")
    page.finish()
    page.page.mouse.move(0, 0)
    page.settled()
    page.page.wait_for_timeout(1500)  # the numbers below fade in
    picture: bytes = page.page.screenshot()
    page.close()
    return picture


def debugging(browser: Any, server: Server) -> dict[str, bytes]:
    """The walk through docs/debugging.md, tab by tab."""
    page = open_page(browser, server, HOUSE.format(model="B"), viewport={"width": 1280, "height": 760})
    page.choose("Pace", "full speed")
    page.press("Start")
    page.finish()
    page.press("Why? Open in Debug")
    page.settled()
    page.main.get_by_role("radio", name=re.compile("Ledger$")).click()
    page.choose("Match", "the whole matching")
    taken = {"ledger": lit(page)}
    page.main.get_by_role("radio", name=re.compile("Way back$")).click()
    page.says(re.compile("exchanges lead to the truth"))
    taken["way-back"] = lit(page)
    page.main.get_by_role("radio", name=re.compile("Confidence$")).click()
    page.choose("Margins", "prove hard")
    for button, words in (("Find margins", "margins certified"), ("Find stability", "points moved by")):
        page.press(button)
        page.says(re.compile(words))
    taken["confidence"] = lit(page)
    page.close()
    return taken


def lit(page: Visit) -> bytes:
    """The page with the first line of its table pointed at."""
    page.settled()
    page.page.locator(".lines tbody tr").first.hover()
    page.settled()
    page.page.wait_for_timeout(1500)  # until it is drawn
    picture: bytes = page.page.screenshot()
    page.page.mouse.move(0, 0)
    page.wait_until(lambda: page.board("board => board.data.sides[0].edges.length === 0"))
    page.page.wait_for_timeout(1000)  # until nothing is lit any more
    return picture


def running(browser: Any, server: Server) -> list[Image.Image]:
    """Screenshots of the picture and the curves along a run, step by step: the same on a busy machine."""
    page = open_page(browser, server)
    page.choose("Pace", "10 iterations/s")
    page.press("Start")
    page.press("Pause")
    page.says("Paused")
    page.page.locator(".st-key-matrix canvas").last.wait_for()
    box, frames, going = region(page), list[Image.Image](), page.page.get_by_role("button", name="Step", exact=True)
    while going.is_enabled():
        page.page.mouse.move(0, 0)  # away from the button, whose help would be in the picture
        page.page.wait_for_timeout(500)  # until that has faded
        frames.append(Image.open(io.BytesIO(page.page.screenshot(clip=box))).convert("RGB"))
        before = page.iteration()
        going.click()
        page.wait_until(partial(beyond, page, before, going))
        page.page.wait_for_timeout(300)  # until it is drawn
    page.close()
    return frames


def beyond(page: Visit, iteration: int, going: Any) -> bool:
    return page.iteration() > iteration or not going.is_enabled()


def region(page: Visit) -> Box:
    """Where the canvas and, beside it, the curves are."""
    canvas = page.page.locator(".st-key-picture").last.bounding_box()
    curves = page.page.locator(".st-key-curves").last.bounding_box()
    left, top = canvas["x"] - 8, min(canvas["y"], curves["y"]) - 4
    bottom = max(box["y"] + box["height"] for box in (canvas, curves))
    return {"x": left, "y": top, "width": curves["x"] + curves["width"] + 8 - left, "height": bottom + 4 - top}


def animated(frames: list[Image.Image]) -> bytes:
    """Some of the frames as a GIF, the last one held."""
    step = max(1, len(frames) / FRAMES)
    chosen = [frames[int(k * step)] for k in range(min(FRAMES, len(frames)))] + [frames[-1]]
    return animation.gif([np.asarray(frame) for frame in chosen], GIF_WIDTH)


def few_colours(screen: bytes) -> bytes:
    """The same picture in a third of the bytes."""
    out = io.BytesIO()
    Image.open(io.BytesIO(screen)).convert("RGB").quantize(256).save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="take the pictures of docs/debugging.md instead")
    parser.add_argument(
        "--views", action="store_true", help="draw the Turntable's views that the app opens with instead"
    )
    options = parser.parse_args()
    if options.views:
        for view in OPENING:
            Image.fromarray(turntable.render(view)[0]).save(
                turntable.DRAWN / f"{view}.webp", lossless=True, quality=100
            )
        return
    if options.docs:
        with serving() as server, chromium() as browser:
            for name, picture in debugging(browser, server).items():
                (HERE / "docs" / f"debugging-{name}.png").write_bytes(picture)
        return
    with serving(ADGM_DATA_DIR=None) as server, chromium() as browser:
        (HERE / "match.png").write_bytes(finished(browser, server))
        (HERE / "photographs.png").write_bytes(finished(browser, server, scene=PHOTOGRAPHS))
        (HERE / "match.gif").write_bytes(animated(running(browser, server)))
        (HERE / "screens").mkdir(exist_ok=True)
        for (width, height), theme in product(SCREENS, ("light", "dark")):
            screen = finished(browser, server, viewport={"width": width, "height": height}, color_scheme=theme)
            (HERE / "screens" / f"{width}x{height}-{theme}.png").write_bytes(few_colours(screen))


if __name__ == "__main__":
    main()
