"""Matching several views: steps, stopping, forcing, recipes, judging, and the sets of views."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from adgm.machine.deadline import TimeUp, deadline
from adgm.rivals.libmgm import installed
from adgm.views import JOINTS, Forced
from adgm.views.tracks import matching
from features.pairs import NOBODY, View
from features.points.keypoints import Keypoints
from features.recipe import OWN, Recipe
from features.views import VIEW_SETS, ViewSet, ViewsRecipe, ViewsRun, match_views
from features.views.run import suited
from features.views.view_set import partners


def small(**given):
    """Views of the turntable without pictures."""
    return VIEW_SETS["turntable"].load(images=False, **{"count": 3, "first": 40, "last": 50, "points": 12, **given})


@pytest.fixture(scope="module")
def found():
    return match_views(small())


def test_tracks_close_and_are_judged(found):
    assert found.status == "converged"
    assert not np.nansum(found.cycle_errors)
    accuracy, precision = found.judged
    assert accuracy > 0.9 and precision > 0.9
    assert found.energy == pytest.approx(found.problem.energy(found.tracks))
    assert found.energy >= found.energy_alone - 1e-9
    assert sum(found.lengths) == sum(found.view_set.sizes)
    assert np.nanmin(found.confidence) >= 0 and np.nanmax(found.confidence) <= 1


def test_a_run_tells_every_step(found):
    kinds = Counter(step.kind for step in found.steps)
    assert kinds["place"] == 3 and kinds["rematch"] >= 3 and kinds["exchange"] >= 1
    pairs = [step for step in found.steps if step.phase == "pairs"]
    assert pairs[-1].done == pairs[-1].total == 3 and sum(len(step.couples) for step in pairs) == 3
    assert [step.number for step in found.steps] == list(range(len(found.steps)))
    energies = [step.energy for step in found.steps if step.phase == "joint" and not np.isnan(step.energy)]
    assert energies == sorted(energies, reverse=True) and energies[-1] == found.energy
    assert all(step.words for step in found.steps)
    assert found.steps[-1].accuracy == found.judged[0]
    seconds = [step.seconds for step in found.steps]
    assert seconds == sorted(seconds)


def test_the_judgement_of_views_is_that_of_their_pairs(found):
    right = made = possible = 0
    for (i, j), partner in found.matchings.items():
        for p, q in enumerate(partner.tolist()):
            one, other = found.view_set.truth[i][p], found.view_set.truth[j][q]
            made += q >= 0
            right += q >= 0 and one == other
        possible += len(np.intersect1d(found.view_set.truth[i], found.view_set.truth[j]))
    assert found.judged == (right / possible, right / made)


def test_a_pair_of_views_opens_as_a_finished_run(found):
    opened = found.opened(0, 2)
    assert opened.pairs.tolist() == [[p, q] for p, q in enumerate(found.matching(0, 2).tolist()) if q >= 0]
    assert opened.result.energy == pytest.approx(found.problem.pair_energy(found.tracks, (0, 2)))
    assert opened.metrics.accuracy is not None
    total = sum(found.opened(i, j).result.energy for i, j in found.pairs)
    assert total == pytest.approx(found.energy)


def test_evidence_tells_what_each_pair_loses_without_a_match(found):
    track = int(np.argmax(found.lengths))
    told = found.evidence(track)
    assert len(told) == 3 and all(one.right is not None for one in told)
    one = told[0]
    assignment = found.assignment(one.i, one.j)
    layout = found.pair_problem(one.i, one.j).layout
    without = assignment & ~((layout.row == one.p) & (layout.col == one.q))
    problem = found.pair_problem(one.i, one.j)
    assert one.cost == pytest.approx(problem.energy(assignment) - problem.energy(without))


@pytest.mark.parametrize("joint", JOINTS)
def test_every_joint_runs_through_match_views(joint):
    if joint == "mgm" and not installed():
        with pytest.raises(ValueError, match="not installed"):
            match_views(small(), joint=joint)
        pytest.skip("pylibmgm is not installed")
    found = match_views(small(), joint=joint)
    assert found.status == "converged" and found.recipe.joint == joint
    assert found.judged[0] > 0.6
    if joint == "pairs":
        assert found.energy == pytest.approx(found.energy_alone)
    else:
        assert not np.nansum(found.cycle_errors)


def test_a_run_can_be_stopped_at_any_step_and_keeps_what_it_has():
    run = ViewsRun(small())
    with pytest.raises(ValueError, match="No pair"):
        run.result()
    step = run.advance()
    assert step.phase == "pairs"
    early = run.result(stopped=True)
    assert early.recipe.joint == "pairs" and early.status == "stopped" and "shown alone" in early.note
    while run.state is None or len(run.state.placed) < 3:
        run.advance()
    late = run.result(stopped=True)
    assert late.recipe.joint == "tracks" and not np.nansum(late.cycle_errors)
    share, words = run.progress
    assert 0.7 <= share < 1 and "step" in words


def test_somebody_elses_deadline_leaves_the_run_whole():
    run = ViewsRun(small())
    run.advance()
    with pytest.raises(TimeUp), deadline(lambda: True):
        run.advance()
    assert run.finish().status == "converged"


def test_a_time_limit_ends_a_run_in_a_sentence():
    run = ViewsRun(small(), time_limit=1e-9)
    assert run.advance() is None and run.status == "time limit"
    with pytest.raises(ValueError, match="time_limit must be a positive"):
        ViewsRun(small(), time_limit=0)


def test_a_match_forced_by_hand_holds_and_the_rest_follows(found):
    p = int(np.argmax(found.matching(0, 1) >= 0))
    q = int(found.matching(0, 1)[p])
    broken = ViewsRun(found.view_set, start=found, forced=[Forced(0, p, 1, q)]).finish()
    assert broken.matching(0, 1)[p] != q
    assert broken.energy >= found.energy - 1e-9 and not np.nansum(broken.cycle_errors)
    assert {step.phase for step in broken.steps} == {"joint"}  # no pair is matched again
    other = (q + 1) % found.view_set.sizes[1]
    set_ = ViewsRun(found.view_set, start=found, forced=[Forced(0, p, 1, other, True)]).finish()
    assert set_.matching(0, 1)[p] == other
    with pytest.raises(ValueError, match="no point 99 in view 0"):
        ViewsRun(found.view_set, start=found, forced=[Forced(0, 99, 1, 0)])


def test_a_recipe_of_views_passes_through_links_and_json():
    how = Recipe(OWN, model="B", model_params={"sigma2": 900.0}, method="adgm1")
    recipe = ViewsRecipe("turntable", {"count": 5, "drop": 0.2}, how, "neighbours", 3, "spectral")
    assert ViewsRecipe.from_query(recipe.to_query()) == recipe
    assert ViewsRecipe.from_dict(recipe.to_dict()) == recipe
    assert ViewsRecipe.from_query({}) == ViewsRecipe()
    for wrong, words in (
        ({"plan": "web"}, "no plan 'web'"),
        ({"joint": "glue"}, "no joint 'glue'"),
        ({"dataset": "moon"}, "no set of views 'moon'"),
        ({"dataset_params": {"colour": 1}}, "no parameter 'colour'"),
        ({"neighbours": 0}, "neighbours is 0"),
    ):
        with pytest.raises(ValueError, match=words):
            ViewsRecipe(**wrong)


def test_a_recipe_names_its_views():
    recipe = ViewsRecipe("turntable", {"count": 2, "points": 8, "first": 44, "last": 46})
    found = match_views(recipe, plan="ring")
    assert len(found.view_set) == 2 and found.recipe.how.model == suited(found.view_set).model


def test_views_that_lack_points_are_matched_by_what_pays():
    with pytest.raises(ValueError, match="rewards none"):
        match_views(small(), model="C")
    with pytest.raises(ValueError, match="about the problem that comes with a pair"):
        match_views(small(), model="given")
    with pytest.raises(TypeError, match="no option 'modell'"):
        match_views(small(), modell="C")


def test_points_alone_are_views():
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 100, (8, 2))
    orders = [rng.permutation(8) for _ in range(3)]
    moved = [points[order] + shift for order, shift in zip(orders, (0, 9, 30), strict=True)]
    found = match_views(points=moved, truth=orders)
    assert found.view_set.complete and found.judged == (1.0, 1.0)
    assert (found.lengths == 3).all()


def test_images_are_looked_at_once_each():
    views = VIEW_SETS["turntable"].load(count=3, first=44, last=48)
    bare = ViewSet(tuple(View(view.image, NOBODY) for view in views.views), views.names)
    found = match_views(bare, point_params={"left": 60})
    looked = [step for step in found.steps if step.phase == "points"]
    assert sorted(k for step in looked for k in step.views) == [0, 1, 2]
    assert found.recipe.how.model == "photo" and max(found.view_set.sizes) <= 60
    assert (found.lengths == 3).sum() > 5


def test_dropping_and_shuffling_keep_the_truth():
    views = small(seed=-1, drop=0.0)
    dropped = small(seed=3, drop=0.5)
    assert all(len(d.points) == round(len(v.points) / 2) for d, v in zip(dropped.views, views.views, strict=True))
    for k, view in enumerate(dropped.views):
        place = dict(zip(views.truth[k].tolist(), views.views[k].points.xy.tolist(), strict=True))
        assert [place[thing] for thing in dropped.truth[k].tolist()] == view.points.xy.tolist()
    assert small(seed=3).digest == small(seed=3).digest != small(seed=4).digest


def test_partners_by_number():
    assert partners(np.array([5, -1, 2]), np.array([2, 5, -1])).tolist() == [1, -1, 0]
    assert partners(np.array([1]), np.array([], np.int64)).tolist() == [-1]


def test_maps_tell_the_truth_between_any_two_views():
    xy = np.array([[10.0, 10], [50, 20], [30, 60]])
    shift = [np.array([[1.0, 0, k * 7], [0, 1, 0], [0, 0, 1]]) for k in range(3)]
    views = tuple(View(None, Keypoints(xy + np.array([k * 7, 0]))) for k in range(3))
    known = ViewSet(views, ("a", "b", "c"), maps=tuple(shift))
    assert known.pair(1, 2).partners.tolist() == [0, 1, 2]
    assert known.judge({(1, 2): np.array([0, -1, 1])}) == (1 / 3, 1 / 2)


def test_views_that_do_not_fit_together_are_refused():
    one = View(None, Keypoints(np.zeros((2, 2))))
    with pytest.raises(ValueError, match="1 views were given"):
        ViewSet((one,), ("a",))
    with pytest.raises(ValueError, match="as many names"):
        ViewSet((one, one), ("a",))
    with pytest.raises(ValueError, match="not all of them show all"):
        ViewSet((one, View(None, NOBODY)), ("a", "b"), complete=True)
    with pytest.raises(ValueError, match="has no point"):
        ViewsRun(ViewSet((one, View(None, NOBODY)), ("a", "b")))


@pytest.mark.parametrize("key", VIEW_SETS)
def test_every_set_of_views_loads(key):
    if not VIEW_SETS[key].available():
        pytest.skip(f"the data set {key} is not on this computer")
    views = VIEW_SETS[key].load(images=False, count=3)
    assert len(views) == 3 and views.judged
    recipe = ViewsRecipe(key, {"count": 3})
    assert VIEW_SETS[key].label in recipe.title
    assert replace(recipe, how=suited(views)).how.dataset == OWN
    tracks = tuple(views.truth) if views.truth else None
    if tracks:
        accuracy, precision = views.judge({(0, 2): matching(tracks, 0, 2)})
        assert accuracy == precision == 1
