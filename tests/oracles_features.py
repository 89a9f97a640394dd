"""Slow, obvious versions of what features/ computes: loops over points, nothing clever."""

from itertools import combinations, permutations
from math import atan2, dist, exp, floor, hypot, pi


def mean_distance(points):
    """The mean distance of two different points of a list."""
    distances = [dist(p, q) for p, q in combinations(points, 2)]
    return sum(distances) / len(distances) if distances else 0.0


def shape_context(points, i, reference=0.0):
    """The log-polar histogram of the other points around point i: five rings times twelve sectors."""
    edges = [1 / 8, 1 / 4, 1 / 2, 1, 2]
    scale = mean_distance(points)
    bins = [[0] * 12 for _ in edges]
    for j, (x, y) in enumerate(points):
        r = dist(points[i], (x, y))
        if j == i or r == 0 or r / scale >= 2:
            continue
        ring = next(k for k, edge in enumerate(edges) if r / scale < edge)
        angle = (atan2(y - points[i][1], x - points[i][0]) - reference) % (2 * pi)
        bins[ring][floor(angle / (2 * pi / 12) + 1e-9) % 12] += 1
    counts = [count for ring in bins for count in ring]
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]


def chi_squared(a, b):
    """½ Σ (a − b)² / (a + b), empty bins left out."""
    return 0.5 * sum((p - q) ** 2 / (p + q) for p, q in zip(a, b, strict=True) if p + q > 0)


def delaunay_edges(points):
    """Two points are neighbours when some circle through them and a third point has no point inside."""
    edges = set()
    for i, j, k in combinations(range(len(points)), 3):
        circle = circumcircle(points[i], points[j], points[k])
        if circle is None:
            continue
        centre, r = circle
        if all(dist(centre, p) >= r * (1 - 1e-9) for p in points):
            edges |= {(i, j), (i, k), (j, k)}
    return edges


def circumcircle(a, b, c):
    """Centre and radius of the circle through three points, None for three on a line."""
    d = 2 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
    if d == 0:
        return None
    sb, sc = (dist(a, p) ** 2 for p in (b, c))
    x = a[0] + ((c[1] - a[1]) * sb - (b[1] - a[1]) * sc) / d
    y = a[1] + ((b[0] - a[0]) * sc - (c[0] - a[0]) * sb) / d
    return (x, y), dist((x, y), a)


def nearest_edges(points, k):
    """Pairs of which one is among the k nearest of the other; distances must all differ."""
    edges = set()
    for i, p in enumerate(points):
        others = sorted((dist(p, q), j) for j, q in enumerate(points) if j != i)
        edges |= {(min(i, j), max(i, j)) for _, j in others[:k]}
    return edges


def angle_sines(a, b, c):
    """Sines of the angles at a, b and c, all negative if the corners run the other way round."""
    around = [(c, a, b), (a, b, c), (b, c, a)]
    sines = []
    for before, here, after in around:
        u = (here[0] - before[0], here[1] - before[1])
        v = (after[0] - here[0], after[1] - here[1])
        size = hypot(*u) * hypot(*v)
        sines.append((u[0] * v[1] - u[1] * v[0]) / size if size else 0.0)
    return sines


def third_order(left, right, drawn, neighbours):
    """{((i1, i2), (j1, j2), (k1, k2)): similarity} of drawn left triples and their nearest ordered right triples."""
    found, squares = [], []
    others = list(permutations(range(len(right)), 3))
    for triple in drawn:
        feature = angle_sines(*(left[i] for i in triple))
        ranked = sorted((dist(feature, angle_sines(*(right[i] for i in other))) ** 2, other) for other in others)
        for square, other in ranked[:neighbours]:
            squares.append(square)
            found.append((tuple(sorted(zip(triple, other, strict=True))), square))
    gamma = sum(squares) / len(squares)
    return {match: exp(-square / gamma) for match, square in found}
