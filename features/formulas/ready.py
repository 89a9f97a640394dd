"""READY: the text of every ready model that can be written as a formula; the same problem, to the last digit."""

READY: dict[str, str] = {
    "A": """\
name        Pairwise A
points      weight * shape_context
edges       eta * exp((change / sigma_l)^2) + (1 - eta) * exp((turn / sigma_a)^2) - 1   on delaunay
weight = 1 in 0..100 step 0.5
eta = 0.5 in 0..1 step 0.05
sigma_l = 0.5 in 0.2..5 step 0.1
sigma_a = 2.5 in 0.5..10 step 0.1
""",
    "B": """\
name        Pairwise B
edges       similarity exp(-(d1 - d2)^2 / sigma2)
sigma2 = 2500 in 1..1000000 step 100
""",
    "C": """\
name        Pairwise C
edges       eta * change + (1 - eta) * (1 - cosine) / 2
eta = 0.5 in 0..1 step 0.05
""",
    "third": """\
name        Third order
triangles   similarity exp(-gap / mean_gap)   with nearest by sa, sb, sc
""",
    "affine": """\
name        Affine, fourth order
quadruples  similarity exp(-gap / mean_gap)   with 100 nearest by wa, wb, wc, wd
""",
}
