"""QUANTITIES: what can be measured of points, edges, triangles and quadruples, by the name that a formula uses.

A quantity of a tuple has a value on either side: `d` is written d1 for the left edge and d2 for the right one. A
quantity of both compares them: `turn` is the angle between the left and the right edge.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.models.sampled import angle_sines, area_ratios
from features.pairs import Pair
from features.points.descriptors import DESCRIPTORS, appearance_cost
from features.points.keypoints import Keypoints

Floats = NDArray[np.float64]
Nodes = Sequence[NDArray[np.int64]]  # the nodes of tuples, one array per corner, which broadcast

ORDERS = {"points": 1, "edges": 2, "triangles": 3, "quadruples": 4}
LETTERS = "abcd"  # corners of triangles and quadruples


@dataclass(frozen=True, eq=False)
class Quantity:
    """Something that is measured of tuples of one order.

    `of(points, nodes)` of one side gives (…) or, with `column`, (…, k) of which this is one. A quantity of both sides
    is made by `both` from the values of others, `parts`, on the left and then on the right; or, of points, by
    `costs(pair)`, a matrix. Where `even`, an edge that is turned round has the same value.
    """

    name: str
    order: int
    label: str
    tip: str  # a sentence
    unit: str = ""
    symbol: str = ""  # LaTeX
    of: Callable[[Keypoints, Nodes], Floats] | None = None
    column: int | None = None
    both: Callable[..., Floats] | None = None
    parts: tuple[str, ...] = ()
    costs: Callable[[Pair], Floats] | None = None
    even: bool = True
    images: bool = False  # it looks at pixels

    @property
    def sided(self) -> bool:
        """Whether it has a value on either side, and is written with 1 or 2."""
        return self.of is not None

    @property
    def written(self) -> tuple[str, ...]:
        """The names in a formula."""
        return (f"{self.name}1", f"{self.name}2") if self.sided else (self.name,)


# ---- points ------------------------------------------------------------------------------------------------------


def _xy(points: Keypoints, nodes: Nodes) -> Floats:
    return np.asarray(points.xy[nodes[0]])


def _share(points: Keypoints, nodes: Nodes) -> Floats:
    """Within the smallest box around all points, from 0 to 1."""
    low = points.xy.min(axis=0)
    size = np.ptp(points.xy, axis=0)
    return np.asarray((points.xy[nodes[0]] - low) / np.where(size > 0, size, 1))


def _own(name: str, points: Keypoints, nodes: Nodes) -> Floats:
    values: Floats | None = getattr(points, name)
    if values is None:
        word = {"size": "size", "angle": "angle"}[name]
        raise ValueError(f"These points have no {word} of their own; take points that a detector finds, such as SIFT.")
    return np.asarray(values[nodes[0]])


# ---- edges -------------------------------------------------------------------------------------------------------


def _vector(points: Keypoints, nodes: Nodes) -> Floats:
    return np.asarray(points.xy[nodes[1]] - points.xy[nodes[0]])


def _polar(points: Keypoints, nodes: Nodes) -> Floats:
    """(…, 3): length and unit vector; an edge of no length has no direction: (0, 0)."""
    vectors = _vector(points, nodes)
    length = np.hypot(vectors[..., 0], vectors[..., 1])[..., None]
    return np.concatenate([length, vectors / np.where(length > 0, length, 1)], axis=-1)


def _direction(points: Keypoints, nodes: Nodes) -> Floats:
    vectors = _vector(points, nodes)
    return np.asarray(np.arctan2(vectors[..., 1], vectors[..., 0]))


def _heading(points: Keypoints, nodes: Nodes) -> Floats:
    turned = _direction(points, nodes) - _own("angle", points, nodes)
    return np.asarray(np.pi - np.mod(np.pi - turned, 2 * np.pi))


def _reach(points: Keypoints, nodes: Nodes) -> Floats:
    return np.asarray(_polar(points, nodes)[..., 0] / np.maximum(_own("size", points, nodes), 1e-6))


def _change(d1: Floats, d2: Floats) -> Floats:
    return np.asarray(np.abs(d1 - d2) / np.maximum(d1 + d2, np.finfo(float).tiny))


def _cosine(ux1: Floats, uy1: Floats, ux2: Floats, uy2: Floats) -> Floats:
    return np.asarray(np.clip(ux1 * ux2 + uy1 * uy2, -1, 1))


def _turn(*units: Floats) -> Floats:
    return np.asarray(np.arccos(_cosine(*units)))


# ---- triangles and quadruples ------------------------------------------------------------------------------------


def _corners(points: Keypoints, nodes: Nodes) -> Floats:
    """(…, corners, 2)."""
    return np.asarray(points.xy[np.stack(np.broadcast_arrays(*nodes), axis=-1)])


def _tuples(feature: Callable[[Floats, NDArray[np.int64]], Floats], points: Keypoints, nodes: Nodes) -> Floats:
    return np.asarray(feature(points.xy, np.stack(np.broadcast_arrays(*nodes), axis=-1)))


def _sides(points: Keypoints, nodes: Nodes) -> Floats:
    corners = _corners(points, nodes)
    ways = np.roll(corners, -1, axis=-2) - corners
    return np.asarray(np.hypot(ways[..., 0], ways[..., 1]))


def _angles(points: Keypoints, nodes: Nodes) -> Floats:
    """At every corner of triangles, 0 to π; 0 where two corners coincide."""
    corners = _corners(points, nodes)
    on, back = np.roll(corners, -1, axis=-2) - corners, np.roll(corners, 1, axis=-2) - corners
    cross = on[..., 0] * back[..., 1] - on[..., 1] * back[..., 0]
    return np.asarray(np.arctan2(np.abs(cross), (on * back).sum(axis=-1)))


def _signed_area(points: Keypoints, nodes: Nodes) -> Floats:
    a, b, c = (points.xy[node] for node in nodes)
    ab, ac = b - a, c - a
    return np.asarray((ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0]) / 2)


def _area(points: Keypoints, nodes: Nodes) -> Floats:
    return np.asarray(np.abs(_signed_area(points, nodes)))


def _orientation(points: Keypoints, nodes: Nodes) -> Floats:
    return np.asarray(np.sign(_signed_area(points, nodes)))


def _affine(points: Keypoints, nodes: Nodes) -> Floats:
    """(u, v) with d = a + u (b − a) + v (c − a); 0 where a, b and c lie on a line."""
    a, b, c, d = (points.xy[node] for node in nodes)
    ab, ac, ad = b - a, c - a, d - a
    area = ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0]
    u = ad[..., 0] * ac[..., 1] - ad[..., 1] * ac[..., 0]
    v = ab[..., 0] * ad[..., 1] - ab[..., 1] * ad[..., 0]
    usable = np.abs(area) > 1e-12 * ((ab**2).sum(axis=-1) + (ac**2).sum(axis=-1))
    return np.asarray(np.where(usable[..., None], np.stack([u, v], -1) / np.where(usable, area, 1)[..., None], 0.0))


def _cross_ratio(points: Keypoints, nodes: Nodes) -> Floats:
    a, b, c, d = (points.xy[node] for node in nodes)
    ac, bd, ad, bc = (np.hypot(*np.moveaxis(w - v, -1, 0)) for v, w in ((a, c), (b, d), (a, d), (b, c)))
    return np.asarray(ac * bd / np.maximum(ad * bc, np.finfo(float).tiny))


AREA_WEIGHTS, SINES = partial(_tuples, area_ratios), partial(_tuples, angle_sines)


# ---- the registry ------------------------------------------------------------------------------------------------

GAP, MEAN_GAP = "gap", "mean_gap"  # of sampled tuples: made when they are looked up


def _points() -> list[Quantity]:
    """What is measured of a point: where it lies, what a detector says of it, what its descriptors say of two."""
    one = partial(Quantity, order=1)
    share = "from 0 at the smallest to 1 at the largest of this side"
    looks = "How different the points look, 0 to √2: RootSIFT, or the layout around them where there is no image."
    found = [
        one("x", label="across", tip="Where the point lies, from the left.", unit="px", of=_xy, column=0),
        one("y", label="down", tip="Where the point lies, from the top.", unit="px", of=_xy, column=1),
        one("px", label="across, as a share", tip=f"How far right the point lies, {share}.", of=_share, column=0),
        one("py", label="down, as a share", tip=f"How far down the point lies, {share}.", of=_share, column=1),
        one("scale", label="size", tip="The diameter of a detected point.", unit="px", of=partial(_own, "size")),
        one("angle", label="angle", tip="The orientation of a detected point.", unit="rad", of=partial(_own, "angle")),
        one("looks", label="looks", tip=looks, costs=_appearance, images=True),
    ]
    for key, descriptor in DESCRIPTORS.items():
        note = f"How different the points are, 0 to 1: {descriptor.note}."
        costs = partial(_described, key)
        found.append(one(key, label=descriptor.label, tip=note, costs=costs, images=descriptor.needs_image))
    return found


def _edges() -> list[Quantity]:
    """What is measured of an edge, and how the left and the right edge differ."""
    two = partial(Quantity, order=2)
    way, both = partial(two, even=False), partial(two, parts=("ux", "uy"))  # turned round, an edge has another way
    direction = "The edge's direction from the x axis, −π to π."
    heading = "The edge's direction against the orientation of its first point, −π to π: blind to rotation."
    reach = "The edge's length divided by the size of its first point: blind to scale."
    change = "|d1 − d2| / (d1 + d2): 0 for equal lengths, at most 1."
    cosine = "The cosine of the angle between both edges: 1 for the same direction, −1 for opposite ones."
    turn = "The angle between the left and the right edge, 0 to π."
    return [
        two("d", label="length", tip="The length of the edge.", unit="px", of=_polar, column=0),
        way("dx", label="way across", tip="How far right the edge leads.", unit="px", of=_vector, column=0),
        way("dy", label="way down", tip="How far down the edge leads.", unit="px", of=_vector, column=1),
        way("ux", label="direction, across", tip="The edge's unit vector, across.", of=_polar, column=1),
        way("uy", label="direction, down", tip="The edge's unit vector, down.", of=_polar, column=2),
        way("dir", label="direction", tip=direction, unit="rad", of=_direction),
        way("heading", label="direction seen from the point", tip=heading, unit="rad", of=_heading),
        way("reach", label="length in point sizes", tip=reach, of=_reach),
        two("change", label="change of length", tip=change, symbol=r"\delta", both=_change, parts=("d",)),
        both("turn", label="turn", tip=turn, unit="rad", symbol=r"\alpha", both=_turn),
        both("cosine", label="cosine of the turn", tip=cosine, symbol=r"\cos\alpha", both=_cosine),
    ]


def _triangles() -> list[Quantity]:
    """What is measured of a triangle."""
    three = partial(Quantity, order=3)
    found = []
    for k, letter in enumerate("abc"):
        side = letter + "abc"[(k + 1) % 3]
        angle = f"The angle at corner {letter} of the triangle, 0 to π."
        sine = f"The sine of the angle at corner {letter} of the triangle, negative if the corners run the other way."
        length, symbol = f"The length of the side from {side[0]} to {side[1]}.", rf"\sin\theta_{letter}"
        found += [
            three(letter, label=f"angle {letter}", tip=angle, unit="rad", of=_angles, column=k),
            three(f"s{letter}", label=f"sine {letter}", tip=sine, symbol=symbol, of=SINES, column=k),
            three(side, label=f"side {side}", tip=length, unit="px", of=_sides, column=k),
        ]
    turning = "1 if the corners run clockwise on the picture, −1 the other way, 0 on a line."
    return [
        *found,
        three("area", label="area", tip="The area of the triangle.", unit="px²", of=_area),
        three("orient", label="orientation", tip=turning, of=_orientation),
    ]


def _quadruples() -> list[Quantity]:
    """What is measured of four points."""
    four = partial(Quantity, order=4)
    place, ratio = (
        "Where corner d lies: d = a + u (b − a) + v (c − a).",
        "The ratio of lengths |ac| · |bd| / (|ad| · |bc|).",
    )
    found = [
        four("u", label="affine coordinate u", tip=place, of=_affine, column=0),
        four("v", label="affine coordinate v", tip=place, of=_affine, column=1),
        four("cross", label="cross-ratio", tip=ratio, of=_cross_ratio),
    ]
    for k, letter in enumerate(LETTERS):
        tip = f"The signed area of the triangle without corner {letter}, as a share: no affine map changes it."
        label, symbol = f"area share {letter}", rf"\lambda_{letter}"
        found.append(four(f"w{letter}", label=label, tip=tip, symbol=symbol, of=AREA_WEIGHTS, column=k))
    return found


def _sampled(order: int) -> list[Quantity]:
    """What compares a sampled tuple with those that are looked up for it."""
    made = partial(Quantity, order=order, both=_looked_up)
    gap = "The squared distance of the two tuples in the quantities that they are looked up by."
    mean = "The mean of gap over all tuples that are compared."
    return [
        made(GAP, label="squared distance", tip=gap, symbol=r"\|f_1 - f_2\|^2"),
        made(MEAN_GAP, label="its mean", tip=mean, symbol=r"\gamma"),
    ]


def _appearance(pair: Pair) -> Floats:
    return appearance_cost(pair.left, pair.right).astype(np.float64)


def _looked_up(*_: Any) -> Floats:
    raise TypeError("gap and mean_gap come with the tuples that are looked up")


def _described(key: str, pair: Pair) -> Floats:
    return np.asarray(DESCRIPTORS[key].cost(pair.left, pair.right), np.float64)


QUANTITIES: tuple[Quantity, ...] = (*_points(), *_edges(), *_triangles(), *_quadruples(), *_sampled(3), *_sampled(4))


@cache
def written(order: int) -> dict[str, tuple[Quantity, int | None]]:
    """The names that a formula of this order may use: the quantity, and the side (0, 1) if it has two."""
    found: dict[str, tuple[Quantity, int | None]] = {}
    for one in QUANTITIES:
        if one.order == order:
            found |= {name: (one, side if one.sided else None) for side, name in enumerate(one.written)}
    return found


@cache
def named(order: int) -> dict[str, Quantity]:
    """The quantities of an order by their own names."""
    return {one.name: one for one in QUANTITIES if one.order == order}


class Measured:
    """The quantities of tuples of one side, computed when they are first asked for."""

    def __init__(self, points: Keypoints, nodes: Nodes, order: int) -> None:
        self.points, self.nodes, self.known = points, nodes, named(order)
        self._made: dict[int, Floats] = {}

    def __getitem__(self, name: str) -> Floats:
        one = self.known[name]
        assert one.of is not None
        if id(one.of) not in self._made:
            self._made[id(one.of)] = one.of(self.points, self.nodes)
        values = self._made[id(one.of)]
        return values if one.column is None else values[..., one.column]


def sides_of(names: Sequence[str], order: int) -> list[str]:
    """The one-sided quantities that these written names need, in the order of the registry."""
    needed = set()
    for name in names:
        one, side = written(order)[name]
        needed |= {one.name} if side is not None else set(one.parts)
    return [name for name in named(order) if name in needed]


def values_of(names: Sequence[str], order: int, left: Any, right: Any) -> dict[str, Any]:
    """What written names stand for, from the one-sided quantities of both sides (mappings from their names)."""
    found = {}
    for name in names:
        one, side = written(order)[name]
        if side is not None:
            found[name] = (left, right)[side][one.name]
        elif one.both is not None and one.parts:
            found[name] = one.both(*(where[part] for where in (left, right) for part in one.parts))
    return found
