"""ADMM in the plane: the browser's arithmetic equals Python's, and what the chapter says is what its runs do."""

from math import dist, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose

import javascript
from features.explain import planar
from features.explain.planar import RHOS, SCENES
from ui.learn import boards, plane
from ui.learn.chapters import CHAPTERS

CHAPTER = CHAPTERS["plane"]
EACH = pytest.mark.parametrize("key", SCENES)


def values(key: str, **more: str) -> dict[str, str]:
    return {**CHAPTER.defaults, "scene": key, **more}


def run(key: str, rho: float) -> tuple[planar.Moment, ...]:
    scene = SCENES[key]
    return planar.walk(scene.shapes, scene.places, scene.start, rho)


def test_a_projection_is_the_nearest_of_many_points_of_the_set():
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(np.linspace(0, 12, 97), np.linspace(0, 7, 57)), axis=-1).reshape(-1, 2)
    for scene in SCENES.values():
        for shape, place in zip(scene.shapes, scene.places, strict=True):
            inside = grid[[dist(planar.project(shape, place, tuple(at)), at) < 0.07 for at in grid]]
            for at in rng.uniform((-2, -2), (14, 9), (12, 2)):
                found = planar.project(shape, place, tuple(at))
                assert dist(planar.project(shape, place, found), found) < 1e-9  # it lies in the set
                assert dist(found, at) <= np.hypot(*(inside - at).T).min() + 0.07


@EACH
def test_the_lowest_common_point_is_as_low_as_any_on_a_grid(key):
    scene = SCENES[key]
    best = planar.lowest(scene.shapes, scene.places)
    near = [
        (x, y)
        for x in np.linspace(0, 12, 121)
        for y in np.linspace(0, 6.6, 67)
        if all(
            dist(planar.project(*each, (x, y)), (x, y)) < 0.06 for each in zip(scene.shapes, scene.places, strict=True)
        )
    ]
    assert best is not None and abs(best[1] - min(y for _, y in near)) < 0.25
    assert planar.lowest(scene.shapes, ((0.0, 0.0), (12.0, 6.6))) is None  # sets that do not meet


@EACH
def test_a_small_penalty_keeps_the_points_apart_and_a_large_one_makes_them_crawl(key):
    counts = plane.iterations(values(key))
    assert plane.fastest(values(key)) == "1"
    fewest = counts[1.0]
    assert fewest and (counts[0.01] is None or counts[0.01] > 10 * fewest) and (counts[50.0] or 0) > 10 * fewest
    small, large = run(key, 0.01)[fewest], run(key, 50.0)[fewest]
    above = large.two[1] - run(key, 50.0)[-1].two[1]
    assert sqrt(small.gap) > 0.3 and above > 0.5 > 10 * sqrt(large.gap)
    told = CHAPTER.told(values(key))
    assert f"ρ = 1 takes {fewest} iterations. With 0.01 the points are then {sqrt(small.gap):.2f} apart." in told
    assert f"With 50 the points are then {sqrt(large.gap):.2f} apart but still {above:.2f} above where they end" in told


def test_between_convex_sets_every_penalty_ends_at_the_lowest_common_point_and_between_islands_not():
    for key, scene in SCENES.items():
        best = planar.lowest(scene.shapes, scene.places)
        assert best is not None
        ends = {rho: run(key, rho) for rho in RHOS}
        stuck = {rho for rho, way in ends.items() if planar.converged(way) and way[-1].two[1] > best[1] + 0.02}
        endless = {rho for rho, way in ends.items() if not planar.converged(way)}
        assert scene.convex == (key != "islands")
        assert (stuck, endless) == (
            (set(), set()) if scene.convex else ({0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0}, {0.01, 0.02})
        )
    said = plane.ends(values("islands"))
    assert "ρ = 0.01: no agreement within 1,000" in said and "ρ = 0.1: height **0.70**" in said
    assert "ρ = 1: height **3.70**" in said and "The lowest common point has height 0.70." in said
    wandered = [moment.one for moment in run("islands", 0.01)]
    assert sum(map(dist, wandered[-100:], wandered[-99:])) > 1  # to the end it never rests
    assert "can get stuck" in plane.explained(values("islands")) and "stuck" not in plane.explained(values("box"))
    right = values("islands", sets="6,3.5;8.2,1.7;10.5,1")  # another start finds the other island
    assert plane.walk(right, 1.0)[-1].two[1] == pytest.approx(0.70, abs=0.01)


def test_each_iterate_is_the_papers_step():
    scene = SCENES["triangle"]
    for before, after in zip(run("triangle", 0.5), run("triangle", 0.5)[1:], strict=False):
        y, two = np.array(before.multiplier), np.array(before.two)
        assert_allclose(
            after.one, planar.project(scene.shapes[0], scene.places[0], tuple(two - (y + np.array([0, 1])) / 0.5))
        )
        assert_allclose(
            after.two, planar.project(scene.shapes[1], scene.places[1], tuple(np.array(after.one) + y / 0.5))
        )
        assert_allclose(after.multiplier, y + 0.5 * (np.array(after.one) - after.two), atol=1e-12)
        moved = dist(after.one, before.one) ** 2 + dist(after.two, before.two) ** 2
        assert after.residual == pytest.approx(after.gap + moved) and after.gap == pytest.approx(
            dist(after.one, after.two) ** 2
        )


# ---- the browser's ----------------------------------------------------------------------------------------------

ASKED = """
const walks = (data) => Object.fromEntries(Object.entries(data.scenes).map(([key, { shapes, places, start }]) => {
  const best = lowestCommon(shapes, places, data.limits);
  return [key, { best, runs: data.rhos.map((rho) => {
    const moments = admmWalk(shapes, places, start, rho, data.limits);
    return { moments, told: [0, 1, moments.length - 1].map((k) => toldOf(moments, k, best, data.limits)) };
  }) }];
}));
"""


def test_the_browsers_iterates_and_words_are_pythons(request):
    found = javascript.evaluate(request, "walks(data)", boards.plane_data({}), ASKED)
    assert found.keys() == SCENES.keys()
    for key, scene in SCENES.items():
        best = planar.lowest(scene.shapes, scene.places)
        assert_allclose(found[key]["best"], best, atol=1e-12)
        for rho, ran in zip(RHOS, found[key]["runs"], strict=True):
            mine = run(key, rho)
            for name in ("one", "two", "multiplier", "gap", "residual"):
                theirs = np.array([moment[name] for moment in ran["moments"]])
                assert_allclose(theirs, np.array([getattr(moment, name) for moment in mine]), atol=1e-9)
            start, first, last = ran["told"]
            assert "start S" in start and first == f"Iteration 1: the points are {sqrt(mine[1].gap):.3f} apart."
            if not planar.converged(mine):
                assert "do not agree within 1,000 iterations" in last
                continue
            stuck = mine[-1].two[1] - best[1] >= 0.02
            assert last.startswith(
                f"After {len(mine) - 1} iterations the points agree, at height {mine[-1].two[1]:.2f}."
            )
            assert ("Stuck" in last) == stuck and ("No point of both sets is lower" in last) != stuck


def test_links_that_make_no_sense_are_not_followed():
    plain = plane.as_places(values("box"))
    for sets in ("", "1,2", "1,2;3;4,5", "1,2;3,4;99,5", "1,2;3,4;nan,5", "1,2;3,4;5,x", "1,2;3,4;5,6,7"):
        assert plane.as_places(values("box", sets=sets)) == plain
    assert plane.as_places(values("nonsense")) == plain
    assert plane.as_places(values("box", sets=plane.written(((1, 2), (3, 4), (5, 6.5))))) == ((1, 2), (3, 4), (5, 6.5))
    assert plane.penalty(values("box", pen="7")) == plane.penalty(values("box", pen="x")) == 1.0
    assert plane.shown(values("box", at="-1")) == plane.shown(values("box", at="99999")) == 0
