"""The first screen, measured: how much of it the picture has, the largest empty rectangle, and what moves.

Three window sizes and three phases (before a run, in the middle of it, after it), each in a browser of its own: first
with drawn pictures, then, for what moves, with photographs.
"""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.tools.bench.solver import Reading, reading
from experiments.tools.browser import Visit, chromium, serving

SIZES = ((1280, 720), (1440, 900), (1920, 1080))
PHASES = ("idle", "running", "done")
SCENE = "?data=turntable&data.left=20&data.right=40&data.points=30&data.landmarks=seen+in+both+views&model=C"
PHOTOGRAPHS = "?data=portrait&model=photo&method=adgm"
LEAST = {(1280, 720): 35.0, (1440, 900): 35.0, (1920, 1080): 42.0}  # percent of the window, for the picture
MOST_EMPTY = 6.0  # percent of the window, in one rectangle
CELL = 4  # pixels: how finely empty rectangles are looked for
SAME = 6  # grey levels by which a pixel may differ from the page's own colour
WHERE = """() => Object.fromEntries(Object.entries({
  picture: ".st-key-picture", lead: ".lead", transport: ".st-key-running", results: ".st-key-results",
  curves: ".st-key-curves", frame: ".st-key-frame", share: ".st-key-share", strip: ".st-key-strip",
}).map(([name, selector]) => {
  const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect();
  return [name, [x, y, width, height]];
}))"""
SHIFTS = """window.shifted = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value;
}).observe({ type: "layout-shift", buffered: false });"""


def empty_share(rgb: NDArray[np.uint8], cell: int = CELL) -> float:
    """The largest rectangle that shows nothing but the page's own colour, as a share of the picture.

    The colour is the one that most pixels have. A cell of a few pixels with anything in it is full.
    """
    height, width = (side // cell * cell for side in rgb.shape[:2])
    pixels = rgb[:height, :width].astype(np.int16)
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    apart = np.abs(pixels - colours[counts.argmax()]).max(axis=2) > SAME
    full = apart.reshape(height // cell, cell, width // cell, cell).any(axis=(1, 3))
    return float(largest_rectangle(~full) * cell * cell / (rgb.shape[0] * rgb.shape[1]))


def largest_rectangle(free: NDArray[np.bool_]) -> int:
    """Cells of the largest rectangle of free ones: under each row a histogram, and in that the classic stack."""
    heights, best = np.zeros(free.shape[1] + 1, int), 0
    for row in free:
        heights[:-1] = np.where(row, heights[:-1] + 1, 0)
        open_ones: list[int] = []
        for at, high in enumerate(heights.tolist()):
            while open_ones and heights[open_ones[-1]] >= high:
                top = int(heights[open_ones.pop()])
                best = max(best, top * (at - (open_ones[-1] + 1 if open_ones else 0)))
            open_ones.append(at)
    return best


def screen() -> list[Reading]:
    """The table: for each window and phase the picture's share, the emptiest rectangle, the figures, what moved."""
    rows: list[Reading] = []
    with serving() as server, chromium() as browser:
        for size in SIZES:
            width, height = size
            for scene in (SCENE, PHOTOGRAPHS):
                page = Visit(browser.new_context(viewport={"width": width, "height": height}), f"{server.url}/{scene}")
                found = phases(page, size, ", photographs" if scene == PHOTOGRAPHS else "")
                rows += found if scene == SCENE else found[-2:]
                page.close()
    return rows


def phases(page: Visit, size: tuple[int, int], about: str = "") -> list[Reading]:
    """One window through a run: before, in the middle (paused), after."""
    page.ready()
    page.page.locator(".st-key-curves canvas").last.wait_for()
    page.settled()
    page.page.wait_for_timeout(1000)  # until all is drawn
    found = {"idle": measured(page)}
    page.page.evaluate(SHIFTS)
    page.choose("Pace", "10 iterations/s")
    page.press("Start")
    page.wait_until(lambda: page.iteration() >= 5)
    page.press("Pause")
    page.wait_until(lambda: page.status().startswith("Paused"))
    page.settled()
    found["running"] = measured(page)
    page.choose("Pace", "full speed")
    page.press("Resume")
    page.finish()
    found["done"] = measured(page)
    shift = float(page.page.evaluate("window.shifted"))
    moved = max(apart(found["idle"]["where"], found[phase]["where"]) for phase in PHASES)
    name = f"{size[0]} × {size[1]}{about}"
    rows = []
    for phase in PHASES:
        one = found[phase]
        rows += [
            reading(
                f"screen {name}, {phase}: stage",
                one["stage"],
                "%",
                f"at least {LEAST[size]:g} %",
                f"pictures {one['pictures']:.1f} %",
            ),
            reading(f"screen {name}, {phase}: largest empty rectangle", one["empty"], "%", f"below {MOST_EMPTY:g} %"),
            reading(f"screen {name}, {phase}: figures end at", one["figures"], "px", f"at most {size[1]} px"),
        ]
    rows.append(reading(f"screen {name}: parts moved by", moved, "px", "0 px"))
    rows.append(reading(f"screen {name}: layout shift", shift, "", "below 0.01"))
    return rows


def measured(page: Visit) -> dict[str, Any]:
    """What one look at the window says."""
    from PIL import Image

    where: dict[str, list[float]] = page.page.evaluate(WHERE)
    rgb = np.asarray(Image.open(io.BytesIO(page.page.screenshot())).convert("RGB"))
    _, _, width, height = where["picture"]
    results = where["results"]
    return {
        "where": where,
        "stage": 100 * width * height / (rgb.shape[0] * rgb.shape[1]),
        "pictures": 100 * page.board("board => board.area") / (rgb.shape[0] * rgb.shape[1]),
        "empty": 100 * empty_share(rgb),
        "figures": results[1] + results[3],
    }


def apart(one: dict[str, list[float]], other: dict[str, list[float]]) -> float:
    """By how many pixels any part stands elsewhere."""
    return max(abs(a - b) for name in one for a, b in zip(one[name], other[name], strict=True))
