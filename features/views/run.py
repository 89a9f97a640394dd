"""Matching several views, step by step: points once per image, pairs on all cores, then tracks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from math import nan
from typing import Any, TypeVar

from adgm import AT_MOST_ONE, EXACTLY_ONE, METHODS, Problem
from adgm.costs.links import WORKERS
from adgm.machine.computing import ProcessorTime
from adgm.machine.deadline import TimeUp, carried, check_time, deadline
from adgm.machine.short_repr import ShortRepr
from adgm.run import Run, Status
from adgm.views import JOINTS, PLANS, Forced, JointProblem, JointState, Tracks
from adgm.views.joints import PairsAlone
from adgm.views.tracks import Couple, check, matching
from features.limits import LIMITS
from features.matching import IMAGES, LANDMARKS
from features.models import MODELS
from features.models.photo import WORTHLESS
from features.pairs import View
from features.points.keypoints import detect
from features.points.regions import Mask
from features.recipe import OWN, Recipe
from features.views.found import PairFound, Views
from features.views.recipe import METHOD, ViewsRecipe
from features.views.view_set import ViewSet

SOON = 0.3  # seconds between two steps while pairs are matched
T = TypeVar("T")

# Landmarks that some views do not see: a match costs a little, and edges that agree pay for it.
PARTIAL_MODEL = """\
name Edges that agree
points charge
edges similarity exp(-((change / c)^2 + (turn / t)^2)) on delaunay of both
charge = 1 in 0..20 step 0.1
c = 0.2 in 0.01..1 step 0.01
t = 0.5 in 0.05..3 step 0.05
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Step(ShortRepr):
    """One step of a run: what was done, how far it is, and where the tracks are.

    `kind`: "points" and "pairs" (of the views or pairs in `views`, `couples`), then "place", "rematch", "exchange",
    "restart", "synchronise" or "start", a step of the joint; `done` of `total` in the phase, None where nobody knows.
    `energy`: the pairs' sum so far, then the total energy of the tracks (nan until all views have a place). `kept`:
    whether the step improved anything. `seconds`: of computing since the beginning.
    """

    number: int
    phase: str  # "points", "pairs", "joint"
    kind: str
    done: int
    total: int | None
    views: tuple[int, ...] = ()
    couples: tuple[Couple, ...] = ()
    energy: float = nan
    kept: bool = True
    tracks: Tracks | None = None
    accuracy: float | None = None
    precision: float | None = None
    seconds: float = 0.0

    @property
    def words(self) -> str:
        """What was done, for people."""
        views = ", ".join(str(k + 1) for k in self.views)
        what = {
            "points": f"points of view {views} found",
            "pairs": f"{self.done} of {self.total} pairs matched",
            "start": "tracks as they were",
            "place": f"view {views} placed",
            "rematch": f"view {views} against all others" + ("" if self.kept else ": nothing better"),
            "exchange": "tracks exchanged" if self.kept else "no exchange pays",
            "restart": "from another start: " + ("better" if self.kept else "nothing better yet"),
            "synchronise": "pairs synchronised",
        }
        return what[self.kind]


def suited(view_set: ViewSet) -> Recipe:
    """What views are matched by unless something else is chosen: by what can be detected in their images, by their
    graphs where every view has all points, and else by edges that pay for what a match costs."""
    if not min(view_set.sizes):
        return replace(IMAGES, method=METHOD)
    if view_set.complete:
        return replace(LANDMARKS, method=METHOD)
    return Recipe(OWN, model=PARTIAL_MODEL, method=METHOD)


def rewarding(problem: Problem) -> bool:
    """Whether any match or set of matches lowers the energy, as far as a sample of the costs tells."""
    return any((potential.some_costs(problem.layout) < 0).any() for potential in problem.potentials)


class ViewsRun:
    """A run about several views that can be stepped, looked at and stopped: `advance` until it returns None, `result`
    at any time.

    Parameters
    ----------
    view_set : ViewSet
        The views.
    recipe : ViewsRecipe, optional
        How they are matched; what suits them if None.
    start : Views, optional
        An earlier run of the same views: it goes on from its tracks, and matches no pairs again.
    forced : sequence of Forced
        Matches that must be, or must not be.
    time_limit : float, optional
        Seconds of computing for everything.
    """

    def __init__(
        self,
        view_set: ViewSet,
        recipe: ViewsRecipe | None = None,
        *,
        start: Views | None = None,
        forced: Sequence[Forced] = (),
        time_limit: float | None = None,
    ) -> None:
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"time_limit must be a positive number of seconds or None, got {time_limit}")
        base = recipe or (start.recipe if start else ViewsRecipe(OWN))
        how = base.how or suited(view_set)
        self.recipe = replace(base, how=how)
        self.how: Recipe = how
        self.view_set, self.forced, self.time_limit = view_set, tuple(forced), time_limit
        self.joint = JOINTS[self.recipe.joint].make()
        self.steps: list[Step] = []
        self.pairs: dict[Couple, PairFound] = {}
        self.problems: dict[Couple, Problem] = {}
        self.problem: JointProblem | None = None
        self.state: JointState | None = None
        self.clock = ProcessorTime()
        self._couples = PLANS[self.recipe.plan].couples(len(view_set), self.recipe.neighbours)
        self._start: Tracks | None = None
        self._batch = WORKERS
        self._status: Status | None = None
        if start is not None:
            self._continue(start)
        else:
            self._refuse()

    # ---- how far it is ---------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        return self.clock()

    @property
    def out_of_time(self) -> bool:
        return self.time_limit is not None and self.clock() >= self.time_limit

    @property
    def status(self) -> Status | None:
        """Why it is over; None while it can go on."""
        if self.state is not None and self.joint.done(self.state):
            return "converged" if self.state.converged else "iteration limit"
        return "time limit" if self.out_of_time else None

    @property
    def progress(self) -> tuple[float, str]:
        """The share that is done, from 0 to 1, and what is being done; of the joint the share is a guess."""
        m, pairs = len(self.view_set), len(self._couples)
        if lacking := len(self._lacking):
            return 0.2 * (1 - lacking / m), f"Looking for points: {m - lacking} of {m} images"
        if len(self.pairs) < pairs:
            return 0.2 + 0.5 * len(self.pairs) / pairs, f"Matching pairs: {len(self.pairs)} of {pairs}"
        if self.status is not None:
            return 1.0, "Done"
        made = 0 if self.state is None else self.state.iteration
        return 0.7 + 0.3 * (1 - 1 / (1 + made / (3 * m))), f"Making tracks agree: step {made + 1}"

    # ---- going on --------------------------------------------------------------------------------------------

    def advance(self) -> Step | None:
        """One step further; None when it is over. A deadline around it ends it with TimeUp, and what there is stays."""
        if self.status is not None:
            return None
        try:
            with self.clock.working(), deadline(lambda: self.out_of_time):
                step = self._step()
        except TimeUp:
            if not self.out_of_time:  # somebody else's deadline
                raise
            return None
        step = replace(step, number=len(self.steps), seconds=self.clock())
        self.steps.append(step)
        return step

    def finish(self, watch: Callable[[Step], object] | None = None) -> Views:
        """To the end, or until `watch(step)` returns True."""
        while (step := self.advance()) is not None:
            if watch is not None and watch(step) is True:
                return self.result(stopped=True)
        return self.result()

    def result(self, *, stopped: bool = False) -> Views:
        """What was found so far; before all pairs are matched, those that are, alone."""
        if not self.pairs:
            raise ValueError("No pair of views was matched before the end; there is nothing to show.")
        problem = self.problem or JointProblem(self.view_set.sizes, self.problems, self._absent, self.forced)
        state, recipe = self.state, self.recipe
        if state is None or len(state.placed) < len(self.view_set):
            state = PairsAlone().init(problem, {couple: found.matching for couple, found in self.pairs.items()})
            recipe = replace(recipe, joint="pairs")
        status: Status = "stopped" if stopped else self.status or "stopped"
        lacking = "" if len(self.pairs) == len(self._couples) else "Not all pairs were matched before the end. "
        note = lacking + ("" if recipe.joint == self.recipe.joint else "No tracks yet: the pairs are shown alone.")
        energy, tracks = state.energy, state.tracks
        common = (problem, dict(self.pairs), tracks, energy, status, self.clock(), tuple(self.steps), note.strip())
        return Views(recipe, self.view_set, *common)

    def _step(self) -> Step:
        if self._lacking:
            return self._find_points()
        if len(self.pairs) < len(self._couples):
            return self._match_pairs()
        if self.problem is None:
            self._list_costs()
        assert self.problem is not None
        if self.state is None:
            alone = {couple: found.matching for couple, found in self.pairs.items()}
            if refusal := JOINTS[self.recipe.joint].refusal(self.problem):
                raise ValueError(refusal)
            self.state = self.joint.init(self.problem, alone, self._start)
            if self.state.placed:
                return self._joint_step(self.state)
        self.state = self.joint.step(self.problem, self.state)
        return self._joint_step(self.state)

    def _joint_step(self, state: JointState) -> Step:
        """What a page needs of a state of the joint."""
        whole = len(state.placed) == len(self.view_set)
        accuracy = precision = None
        if whole and self.view_set.judged:
            if JOINTS[self.recipe.joint].consistent:
                some = {couple: matching(state.tracks, *couple) for couple in self._couples}
            else:
                some = {couple: found.matching for couple, found in self.pairs.items()}
            accuracy, precision = self.view_set.judge(some)
        return Step(
            number=0,
            phase="joint",
            kind=state.kind,
            done=state.iteration,
            total=None,
            views=() if state.view is None else (state.view,),
            energy=state.energy if whole else nan,
            kept=state.kept or state.iteration == 0,
            tracks=state.tracks,
            accuracy=accuracy,
            precision=precision,
        )

    # ---- points ----------------------------------------------------------------------------------------------

    @property
    def _lacking(self) -> list[int]:
        """The views whose points are to be detected."""
        if self.how.points == OWN:
            return []
        return [k for k, view in enumerate(self.view_set.views) if view.image is not None and not len(view.points)]

    def _find_points(self) -> Step:
        some = self._lacking[: self._batch]
        wanted, mask = self.how.counts["left"], str(self.how.wanted.get("mask_left", ""))

        def find(k: int) -> View:
            image = self.view_set.views[k].image
            assert image is not None
            found = detect(image, self.how.points, wanted, mask=Mask.of(mask, image.original_size))
            if not len(found):
                raise ValueError(f"{self.view_set.names[k]} has no point: it may be too plain or blurred.")
            return View(image, found)

        views = [*self.view_set.views]
        for k, view in zip(some, self._together(find, some), strict=True):
            views[k] = view
        self.view_set = replace(self.view_set, views=tuple(views), truth=None)
        done = len(views) - len(self._lacking)
        return Step(number=0, phase="points", kind="points", done=done, total=len(views), views=tuple(some))

    # ---- pairs -----------------------------------------------------------------------------------------------

    def _match_pairs(self) -> Step:
        began = self.clock()
        some = [couple for couple in self._couples if couple not in self.pairs][: self._batch]
        for couple, (problem, found) in zip(some, self._together(self._matched, some), strict=True):
            self.problems[couple], self.pairs[couple] = problem, found
        if self.clock() - began < SOON * WORKERS:
            self._batch *= 2
        accuracy = precision = None
        if self.view_set.judged:
            accuracy, precision = self.view_set.judge({couple: each.matching for couple, each in self.pairs.items()})
        return Step(
            number=0,
            phase="pairs",
            kind="pairs",
            done=len(self.pairs),
            total=len(self._couples),
            couples=tuple(some),
            energy=float(sum(each.energy for each in self.pairs.values())),
            accuracy=accuracy,
            precision=precision,
        )

    def _matched(self, couple: Couple) -> tuple[Problem, PairFound]:
        problem = self.problems.get(couple) or self._built(couple)
        if refusal := METHODS[self.how.method].refusal(problem):
            raise ValueError(refusal)
        result = Run(problem, self.how.method_object()).finish()
        return problem, PairFound(result.matching, result.energy, result.seconds)

    def _built(self, couple: Couple) -> Problem:
        """The model's problem for two views: complete where the views are, else both sides may leave points out."""
        rule = EXACTLY_ONE if self.view_set.complete else AT_MOST_ONE
        values: dict[str, Any] = dict(self.how.model_params)
        optional = MODELS[self.how.model].optional
        rules = {} if optional and self.view_set.complete else {"rows": rule, "cols": rule}
        model = MODELS[self.how.model]
        problem = model.build(self.view_set.known(*couple), **{**rules, **values})
        if problem.rows == AT_MOST_ONE and not rewarding(problem):
            raise ValueError(
                f"{model.label} charges for matches and rewards none, so that nothing would be matched where views do "
                "not see all points. Choose a model with a price for points that are left out, a similarity, or the "
                "one for photographs."
            )
        return problem

    def _together(self, work: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        """work(item) for all items on all cores, in their order."""
        check_time()
        if WORKERS == 1 or len(items) == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(WORKERS) as pool:
            futures = [pool.submit(carried(work), item) for item in items]
            try:
                return [future.result() for future in futures]
            except BaseException:
                for future in futures:
                    future.cancel()
                raise

    # ---- tracks ----------------------------------------------------------------------------------------------

    @property
    def _absent(self) -> float | None:
        """What a match costs that is no candidate in a pair of photographs: it looks too different to be considered."""
        return WORTHLESS if MODELS[self.how.model].photographs else None

    def _list_costs(self) -> None:
        """List the costs of all pairs; refused in a sentence before they fill the memory."""
        problem = JointProblem(self.view_set.sizes, self.problems, self._absent, self.forced)
        couples, taken = iter(problem.couples), 0
        while some := [*islice(couples, WORKERS)]:
            taken += sum(table.bytes for table in self._together(lambda couple: problem.table(*couple), some))
            if taken > LIMITS.joint_bytes:
                raise ValueError(
                    f"The costs of {len(problem.couples)} pairs take more than {LIMITS.joint_bytes / 1e6:,.0f} MB when "
                    "they are listed. Take fewer views or points, compare fewer pairs, or choose a model on a graph."
                )
        self.problem = problem

    # ---- checks ----------------------------------------------------------------------------------------------

    def _refuse(self) -> None:
        """Complain in a sentence about what cannot be matched, before any work."""
        for name, view in zip(self.view_set.names, self.view_set.views, strict=True):
            if not len(view.points) and (view.image is None or self.how.points == OWN):
                raise ValueError(f"{name} has no point to match.")
        model = MODELS[self.how.model]
        if model.given:
            raise ValueError(f"{model.label} is about the problem that comes with a pair; several views have none.")

    def _continue(self, start: Views) -> None:
        self.view_set = start.view_set
        self.pairs = {couple: found for couple, found in start.pairs.items() if couple in self._couples}
        self.problems = {couple: start.problem.problems[couple] for couple in self.pairs}
        self._start = check(start.tracks, self.view_set.sizes)
        if len(self.pairs) == len(self._couples):
            self.problem = replace(start.problem, forced=self.forced)
            self.problem.share(start.problem)
