"""The Views page without a browser: a run to its end, a point picked, a match forbidden, the record and its link."""

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from adgm.views import Forced
from features.datasets import turntable
from features.pairs import View
from features.points.keypoints import Keypoints
from features.views import ViewSet
from features.views.recipe import ViewsRecipe
from ui.shell.session_slots import VIEWS_FORCE, VIEWS_PICKED, VIEWS_RECIPE, VIEWS_RUN, VIEWS_START
from ui.views.run import Picked, ViewsShown
from ui.views.shown import of_pairs, of_tracks
from ui.views.track import share

SMALL = ViewsRecipe("turntable", {"count": 3, "points": 12, "drop": 0.2})


@pytest.fixture
def page() -> AppTest:
    test = AppTest.from_string("from ui.views import page\npage.show()", default_timeout=120)
    test.session_state[VIEWS_RECIPE.name] = SMALL
    test.run()
    assert not test.exception
    return test


def finished(test: AppTest) -> ViewsShown:
    run: ViewsShown = test.session_state[VIEWS_RUN.name]
    run.task.wait(120)
    test.run()
    assert not test.exception
    return run


def pressed(test: AppTest, key: str) -> None:
    next(one for one in test.button if one.key == key).click().run()
    assert not test.exception


def told(test: AppTest) -> str:
    return " ".join(str(one.proto.body) for one in test.get("html")) + " ".join(one.value for one in test.markdown)


def test_a_run_ends_with_tracks_that_close_and_says_how_right_they_are(page):
    assert "Which points are the same" in told(page)
    pressed(page, "views start")
    views = finished(page).ended
    assert views.status == "converged" and not views.cycle_errors[views.cycle_errors == views.cycle_errors].any()
    accuracy, _ = views.judged
    assert f"{share(accuracy)} of the true matches are found" in told(page)
    assert next(one for one in page.button if one.key == "views stop").disabled


def test_a_forbidden_match_is_gone_and_comes_back_with_undo(page):
    pressed(page, "views start")
    before = finished(page).ended
    i, j = 0, 1
    p = int((before.matching(i, j) >= 0).nonzero()[0][0])
    page.session_state[VIEWS_PICKED.name] = Picked((i, p))
    page.run()
    track = int(before.tracks[i][p])
    assert f"Track {track}" in told(page)
    q = int(before.matching(i, j)[p])
    page.session_state[VIEWS_FORCE.name] = (Forced(i, p, j, q, together=False),)
    page.run()
    after = finished(page)
    assert after.ended.matching(i, j)[p] != q and len(after.forced) == 1
    pressed(page, "views undo")
    assert finished(page).ended.forced == ()


def test_the_choice_is_a_link_and_a_link_is_the_choice(page):
    words = dict(page.query_params.items())
    assert ViewsRecipe.from_query(words) == SMALL
    other = AppTest.from_string("from ui.views import page\npage.show()", default_timeout=120)
    for name, value in words.items():
        other.query_params[name] = value
    other.run()
    assert not other.exception and other.session_state[VIEWS_RECIPE.name] == SMALL


@pytest.mark.parametrize(
    "words", [{"views": "nothing"}, {"views": "turntable", "plan": "x"}, {"views": "turntable", "views.count": "1e9"}]
)
def test_a_link_that_makes_no_sense_is_told_in_a_sentence(words):
    test = AppTest.from_string("from ui.views import page\npage.show()", default_timeout=120)
    for name, value in words.items():
        test.query_params[name] = value
    test.run()
    assert not test.exception and "could not be followed" in test.warning[0].value


def test_stopping_before_a_pair_is_matched_leaves_a_sentence(page, monkeypatch: pytest.MonkeyPatch):
    from ui.views import page as module

    step: Callable[..., None] = module.ViewsRun.advance
    monkeypatch.setattr(module.ViewsRun, "advance", lambda self: step(self) if self.pairs else None)
    page.session_state[VIEWS_START.name] = True
    page.run()
    assert finished(page).ended is None
    assert "ended before a pair was matched" in told(page) or "No pair of views was matched" in told(page)


def test_shares_are_told_as_whole_only_where_nothing_is_missing():
    assert [share(value) for value in (None, 0.0, 0.001, 0.5, 0.9999, 1.0)] == [
        "–",
        "0 %",
        "1 %",
        "50 %",
        "99 %",
        "100 %",
    ]


def test_images_of_ones_own_are_matched_and_a_broken_archive_is_told(page: AppTest, monkeypatch: pytest.MonkeyPatch):
    test = AppTest.from_string("from ui.views import page\npage.show()", default_timeout=120)
    test.session_state[VIEWS_RECIPE.name] = ViewsRecipe("own")
    test.run()
    test.file_uploader[0].upload("views.zip", b"PK no archive", "application/zip").run()
    assert not test.exception and "not a ZIP file" in test.error[0].value
    pictures = [cv2.imencode(".png", turntable.picture(angle).rgb[..., ::-1])[1].tobytes() for angle in (20, 40)]
    files = [("b10.png", pictures[1], "image/png"), ("b2.png", pictures[0], "image/png")]
    test.file_uploader[0].set_value(files).run()
    assert not test.exception
    views = finished(test).ended
    assert views.view_set.names == ("b2.png", "b10.png") and (views.lengths == 2).sum() > 20


@pytest.fixture
def three() -> ViewSet:
    """Three views of three points, each with the same number everywhere."""
    views = tuple(View(None, Keypoints(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]]))) for _ in range(3))
    return ViewSet(views, ("a", "b", "c"), truth=(np.arange(3),) * 3, complete=True)


def test_lines_and_rims_of_tracks_say_what_is_right_and_wrong(three):
    swapped = np.array([0, 2, 1])  # track 1 holds points 1, 2 and 2: its first match is wrong, the second right
    over = of_tracks(three, (np.arange(3), swapped, swapped), {}, Picked((0, 1)))
    assert [one.tolist() for one in over.marks.wrong] == [[1, 2], [2, 1], [2, 1]]
    assert {(one.i, one.j): one.kind for one in over.lines} == {(0, 1): "wrong", (1, 2): "right", (0, 2): "wrong"}
    couple = of_tracks(three, (np.arange(3), swapped, swapped), {}, Picked(couple=(0, 1)))
    assert [one.kind for one in couple.lines] == ["right", "wrong", "wrong"]


def test_lines_of_pairs_alone_show_where_another_pair_leads(three):
    alone = {(0, 1): np.arange(3), (1, 2): np.arange(3), (0, 2): np.array([0, 2, 1])}
    agreeing, straying = (of_pairs(three, alone, Picked((0, p))) for p in (0, 1))
    assert [one.kind for one in agreeing.lines] == ["joined", "joined", "agrees"]
    last = straying.lines[-1]
    assert (last.i, last.p, last.j, last.q, last.kind) == (1, 1, 2, 1, "wrong")
    assert [one.tolist() for one in straying.marks.numbers] == [[1, 2, 2]] * 3


@pytest.mark.parametrize("point", [(1, 2), (0, 2)])
def test_a_point_of_another_view_is_set_as_the_partner_that_was_asked_for(point):
    test = AppTest.from_string(f"from ui.views import page\npage.pick({point})", default_timeout=60)
    test.session_state[VIEWS_PICKED.name] = Picked((0, 1), joining=True)
    test.run()
    assert not test.exception
    if point == (1, 2):
        assert test.session_state[VIEWS_FORCE.name] == (Forced(0, 1, 1, 2, together=True),)
    else:  # a view has no partner in itself
        assert VIEWS_FORCE.name not in test.session_state
