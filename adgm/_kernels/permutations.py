"""Tabu search over permutations for costs Σ A[i, j] · B[p(i), p(j)]: É. Taillard, Robust taboo search for the quadratic
assignment problem, Parallel Computing 1991."""

from typing import NamedTuple

import numpy as np
from numba import njit

from adgm._kernels.cache import kept
from adgm._kernels.types import FloatArray, LongArray, compiled, overwrite


class Walk(NamedTuple):
    """Where a search over permutations is; n × n tables, except for the permutations.

    `b` and what is barred are kept in the order of the permutation, and turned round as well: so all that a step
    reads lies side by side.
    """

    a: FloatArray
    a_turned: FloatArray
    b: FloatArray  # B[p(i), p(j)]
    b_turned: FloatArray
    partner: LongArray  # p
    best: LongArray  # the best permutation so far
    barred: FloatArray  # [u, v]: until which step u may not go where v is
    barred_turned: FloatArray
    change: FloatArray  # [u, v]: what it changes if u and v exchange their partners


class Steps(NamedTuple):
    """How far a walk is."""

    step: int
    cost: float
    lowest: float  # the lowest cost so far


@compiled
def weigh_exchanges(walk, u, symmetric):
    """What every exchange with u would change: row and column u of `change`."""
    n = walk.partner.size
    for v in range(n):
        total = 0.0
        for side in range(1 if symmetric else 2):
            a, b = (walk.a_turned, walk.b_turned) if side else (walk.a, walk.b)
            au, av, bu, bv = a[u], a[v], b[u], b[v]
            for k in range(n):
                total += (au[k] - av[k]) * (bv[k] - bu[k])
            total -= (au[u] - av[u]) * (bv[u] - bu[u]) + (au[v] - av[v]) * (bv[v] - bu[v])
        if symmetric:
            total += total
        a, b = walk.a, walk.b
        total += (a[u, u] - a[v, v]) * (b[v, v] - b[u, u]) + (a[u, v] - a[v, u]) * (b[v, u] - b[u, v])
        walk.change[u, v] = walk.change[v, u] = total


@kept
@njit(nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def least_allowed(walk, u, step, below):
    """The least change of an exchange of u with somebody after it that is not barred, or that is below a number."""
    change, barred, turned, least = walk.change[u], walk.barred[u], walk.barred_turned[u], np.inf
    for v in range(u + 1, change.size):
        least = min(least, change[v] if (min(barred[v], turned[v]) < step) | (change[v] < below) else np.inf)
    return least


@kept
@njit(nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def longest_free(walk, u):
    """Since which step, at the least, somebody after u could have gone where u is, and u there."""
    barred, turned, least = walk.barred[u], walk.barred_turned[u], np.inf
    for v in range(u + 1, barred.size):
        least = min(least, max(barred[v], turned[v]))
    return least


@compiled
def exchange(walk, u, v, symmetric):
    """u and v exchange their partners; all changes are kept up."""
    n, change = walk.partner.size, walk.change
    for side in range(1 if symmetric else 2):
        a, b = (walk.a_turned, walk.b_turned) if side else (walk.a, walk.b)
        x, y = a[u] - a[v], b[v] - b[u]
        if symmetric:
            x += x
        for i in range(n):
            xi, yi, row = x[i], y[i], change[i]
            for j in range(i + 1, n):
                row[j] += (xi - x[j]) * (y[j] - yi)
    for b in (walk.b, walk.b_turned):
        for k in range(n):
            b[u, k], b[v, k] = b[v, k], b[u, k]
        for k in range(n):
            b[k, u], b[k, v] = b[k, v], b[k, u]
    for k in range(n):
        walk.barred[k, u], walk.barred[k, v] = walk.barred[k, v], walk.barred[k, u]
    for k in range(n):
        walk.barred_turned[u, k], walk.barred_turned[v, k] = walk.barred_turned[v, k], walk.barred_turned[u, k]
    walk.partner[u], walk.partner[v] = walk.partner[v], walk.partner[u]
    weigh_exchanges(walk, u, symmetric)
    weigh_exchanges(walk, v, symmetric)


@compiled
def wander(walk, steps, tenure, wait, tolerance, symmetric):
    """A step for every row of `tenure`: the best of all exchanges that are allowed, even one that costs. For so many
    further steps the first of the two may not go back, and the second: unless that is better than anything so far.
    First comes what neither of two has been barred from for `wait` steps, so that every exchange has its turn."""
    n, change, barred, turned = walk.partner.size, walk.change, walk.barred, walk.barred_turned
    step, cost, lowest = steps
    for each in range(len(tenure)):
        step += 1
        lead, u, v, due = np.inf, -1, -1, False
        below = lowest - cost - tolerance
        for i in range(n - 1 if wait < np.inf else 0):
            if longest_free(walk, i) < step - wait:
                u, due = i, True
                break
        for i in range(0 if due else n - 1):
            least = least_allowed(walk, i, step, below)
            if least < lead:
                lead, u = least, i
        if u < 0:
            continue
        lead = np.inf
        for j in range(u + 1, n):
            one, other = barred[u, j], turned[u, j]
            allowed = max(one, other) < step - wait if due else min(one, other) < step or change[u, j] < below
            if allowed and change[u, j] < lead:
                lead, v = change[u, j], j
        exchange(walk, u, v, symmetric)
        cost += lead
        barred[u, v] = turned[v, u] = step + tenure[each, 0]
        barred[v, u] = turned[u, v] = step + tenure[each, 1]
        if cost < lowest - tolerance:
            lowest = cost
            overwrite(walk.best, walk.partner)
    return Steps(step, cost, lowest)
