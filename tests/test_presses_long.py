"""Presses and page loads by the dozen on a real server, from tabs without a browser: each does what its label said.

Full counts: ADGM_PRESSES=200 ADGM_LOADS=300 pytest -m long tests/test_presses_long.py. A fifth as many loads are made
in a real browser.
"""

import os
import random
from urllib.parse import parse_qsl, urlsplit

import pytest

from experiments.tools.browser import Server, serving
from features.datasets import DATASETS
from features.models import MODELS
from features.recipe import Recipe
from streamlit_client import Tab, connected
from ui.shell.session_slots import TOOL

pytestmark = pytest.mark.long
PRESSES, LOADS = (int(os.environ.get(name, 30)) for name in ("ADGM_PRESSES", "ADGM_LOADS"))
ENDLESS = "data=random&data.inliers=8&data.outliers=2&model=B&method=adgm1&method.tol=1e-300&method.max_iter=10000000"
LATE = r"{} came too late"
NAMES = {"pause": "Pause", "resume": "Resume", "step": "Step", "stop": "Stop solver", "go": "Start"}
LONG_ENOUGH = 120  # iterations: after 288 of them the residual is 0, and the run ends by itself
BESIDE = "choice data random inliers"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    cache = str(tmp_path_factory.mktemp("cache"))
    with serving(ADGM_DATA_DIR=None, XDG_CACHE_HOME=cache) as running:
        yield running
        assert not running.complaints()


def status(tab: Tab) -> str:
    found = tab.says(r"^([A-Z][a-z ]+).* · iteration [\d,]+ · ")
    return found[1] if found else ""


def iteration(tab: Tab) -> int:
    found = tab.says(r"iteration ([\d,]+) ·")
    return int(found[1].replace(",", "")) if found else -1


def shown(tab: Tab) -> list[str]:
    """The buttons that a visitor could press now, those of Pause's place as one."""
    names = ["go"] if not tab.enabled("stop") else ["step", "stop", "pause", "resume"]
    return [name for name in names if tab.enabled(name)]


def did(tab: Tab, key: str, times: int, before: int) -> bool:
    """Whether the page shows what presses of a button are for, or says that they came too late."""
    if tab.says(LATE.format(NAMES[key])):
        return True
    now, at = status(tab), iteration(tab)
    if key == "pause":
        return now == "Paused"
    if key == "resume":
        return now in ("Running", "Waiting for its turn", "Converged") and at > before
    if key == "step":
        return now in ("Paused", "Converged") and at >= before + times
    if key == "stop":
        another = tab.says("^No run yet")  # the change beside it shows another pair
        return tab.enabled("go") and (now == "Stopped" or bool(another)) and tab.server.solvers() == 0
    return now in ("Running", "Waiting for its turn", "Compiling", "Building the problem")


def test_every_press_does_what_its_label_said_or_says_that_it_came_too_late(server: Server):
    rng, points = random.Random(0), 8
    with connected(server, ENDLESS) as tab:
        tab.say()
        tab.settled()
        for number in range(PRESSES):
            tab.until(lambda: shown(tab))
            names = shown(tab)
            if iteration(tab) > LONG_ENOUGH and "stop" in names:
                names = ["stop"]
            key = rng.choices(names, [0.3 if name == "stop" else 1.0 for name in names])[0]
            before, exact = iteration(tab), status(tab) == "Paused"
            times, wanted = 0, rng.choice([1, 1, 2]) if key in ("pause", "resume", "step") else 1
            while times < wanted and tab.enabled(key):
                tab.press(key)
                tab.pump(rng.choice([0.0, 0.0, 0.05]))
                times += 1
            if beside := rng.random() < 0.5:
                tab.pump(rng.uniform(0.0, 0.25))
                points = 17 - points  # 8 or 9
                tab.set(BESIDE, [float(points)])
            told = f"press {number}: {times} x {key} at {before}{' beside a change' if beside else ''}"
            try:
                tab.until(lambda key=key, times=times, before=before: did(tab, key, times, before))
            except TimeoutError as error:
                raise AssertionError(f"{told}: {error}") from error
            tab.settled()
            assert did(tab, key, times, before), f"{told}: then {list(tab.texts.values())}"
            if exact and key == "step" and status(tab) == "Paused":
                assert iteration(tab) == before + times, told
            if beside:
                tab.until(lambda points=points: tab.words.get("data.inliers", "8") == str(points))


LONG = "data=random&data.inliers=30&data.outliers=5&model=B"  # all methods take some minutes
SMALL = "data=random&data.inliers=8&data.outliers=2&model=B"


def test_every_press_on_compare_is_done_beside_a_change(server: Server):
    """Compare, then Stop comparing, each within a quarter of a second of a change in the sidebar."""
    rng, points = random.Random(2), 30
    with connected(server, LONG) as tab:
        tab.say(page="compare")
        for number in range(1, 1 + PRESSES // 6):
            tab.settled()
            tab.until(lambda: tab.enabled("compare"))
            for key in ("compare", "stop comparing"):
                tab.press(key)
                tab.pump(rng.uniform(0.0, 0.25))
                points = 61 - points  # 30 or 31
                tab.set(BESIDE, [float(points)])
                if key == "compare":
                    tab.until(lambda number=number: f"table {number}" in tab.elements)
            tab.until(lambda: tab.server.solvers() == 0)
            assert f"table {number + 1}" not in tab.elements  # once


def test_every_press_on_debug_is_done_beside_a_change(server: Server):
    """An example is opened and work on it asked for, each within a quarter of a second of another change."""
    rng = random.Random(3)
    with connected(server, SMALL) as tab:
        tab.say(page="debug")
        tab.until(lambda: TOOL in tab.elements)
        tab.choose(TOOL, "Ledger")
        tab.until(lambda: "ask ('retry', 'careful')" in tab.elements)
        for number in range(PRESSES // 10):
            wanted = ["model prefers this", "optimiser stuck"][number % 2]
            for key, shows in (
                (f"debug An example: {wanted}", wanted.capitalize()),
                ("ask ('retry', 'careful')", "gavel"),
            ):
                tab.settled()
                tab.until(lambda key=key: tab.enabled(key))
                tab.press(key)
                tab.pump(rng.uniform(0.0, 0.25))
                tab.say(values=True)
                tab.until(lambda shows=shows: tab.says(shows))
                tab.settled()
                assert tab.says(shows), f"{key}: then {list(tab.texts.values())}"


ADDRESSES = (
    "",
    "data=turntable&data.left=15&data.right=40&data.points=25&model=C&method=adgm1&method.seed=3",
    "data=random&data.inliers=12&data.outliers=3&data.noise=2.0&model=B&model.sigma2=900&method=adgm1",
    "data=warp&data.map=affine&model=A&method=adgm&check=homography&present=1",
)


def agree(tab: Tab, asked: str) -> None:
    """The address, the record behind it and what the sidebar's widgets show are what was asked for."""
    words = {name: text for name, text in tab.words.items() if name != "present"}
    recipe = Recipe.from_query(words)
    if asked:
        assert recipe == Recipe.from_query(dict(pair.split("=") for pair in asked.split("&"))), (asked, tab.query)
    for one in DATASETS[recipe.dataset].parameters:
        key, value = f"choice data {recipe.dataset} {one.name}", recipe.dataset_params.get(one.name, one.default)
        assert tab.value(key) in ([value], value), (key, value, tab.value(key))
    assert tab.value("choice model") == MODELS[recipe.model].label


def test_the_sidebar_and_the_record_agree_however_messages_cross_the_first_drawing(server: Server):
    rng = random.Random(1)
    for number in range(LOADS):
        asked = ADDRESSES[number % len(ADDRESSES)]
        with connected(server, asked) as tab:
            tab.say()
            for _ in range(rng.choice([1, 1, 2])):
                tab.pump(rng.choice([0.02, rng.uniform(0.0, 0.5)]))
                tab.say(values=True)
            tab.settled()
            agree(tab, asked)
            before = tab.query
            tab.say(values=True)  # whatever the widgets show is sent back as if it had been chosen
            tab.settled()
            agree(tab, asked)
            assert tab.query == before, (number, asked)


@pytest.mark.browser
def test_a_browser_shows_what_the_address_says_on_every_load(visit):
    for number in range(max(1, LOADS // 5)):
        asked = ADDRESSES[number % len(ADDRESSES)]
        page = visit(f"?{asked}")
        page.ready()
        page.settled()
        recipe = Recipe.from_query(dict(parse_qsl(urlsplit(page.page.url).query)))
        assert not asked or recipe == Recipe.from_query(dict(parse_qsl(asked)))
        for one in DATASETS[recipe.dataset].parameters:
            if one.kind != "choice":
                box = page.page.locator(
                    f".st-key-choice-data-{recipe.dataset}-{one.name} :is([role=slider], input)"
                ).last
                shown = box.get_attribute("aria-valuenow") or box.input_value()
                assert float(shown) == recipe.dataset_params.get(one.name, one.default), (asked, one.name)
        page.close()
