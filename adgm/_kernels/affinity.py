"""What the affinity methods need beyond contractions: products and max-pooling with a matrix, Sinkhorn scaling, tensors
with two open modes."""

import numpy as np

from adgm._kernels.contraction import add_fibers, list_support
from adgm._kernels.types import compiled


@compiled
def moved(v, old, older):
    """How far v is from the nearer of two others, relative to its own length; and its sum."""
    change, swing, length, total = 0.0, 0.0, 0.0, 0.0
    for i in range(v.size):
        change += (v[i] - old[i]) ** 2
        swing += (v[i] - older[i]) ** 2
        length += v[i] ** 2
        total += v[i]
    return np.sqrt(min(change, swing) / length) if length > 0.0 else 0.0, total


@compiled
def mix(v, u, v_image, u_image, out):
    """out = the image of the mixture of v and u with the largest Rayleigh quotient, at length 1; returns its length.

    v and u have length 1; the images are products with one symmetric matrix.
    """
    vu, top, cross, low = 0.0, 0.0, 0.0, 0.0
    for i in range(v.size):
        vu += v[i] * u[i]
        top += v[i] * v_image[i]
        cross += u[i] * v_image[i]
        low += u[i] * u_image[i]
    a, b = 1.0, 0.0
    rest = np.sqrt(max(0.0, 1.0 - vu * vu))  # the part of u that is orthogonal to v
    if rest > 1e-7:
        side = (cross - vu * top) / rest
        other = (low - 2.0 * vu * cross + vu * vu * top) / rest**2
        angle = 0.5 * np.arctan2(2.0 * side, top - other)
        b = np.sin(angle) / rest
        a = np.cos(angle) - b * vu
    for i in range(v.size):
        out[i] = a * v_image[i] + b * u_image[i]
    length = 0.0
    for i in range(v.size):  # a loop that stores sums in another order where `out` lies close behind what it reads
        length += out[i] * out[i]
    length = np.sqrt(length)
    if length > 0.0:
        for i in range(v.size):
            out[i] /= length
    return length


@compiled
def mark_apart(index, row, col, apart):
    """Which rows of `index` have no two different variables in one row or one column of the assignment; how many."""
    count = 0
    for r in range(len(index)):
        able = True
        for a in range(index.shape[1]):
            i = index[r, a]
            for b in range(a):
                j = index[r, b]
                able = able and (i == j or (row[i] != row[j] and col[i] != col[j]))
        apart[r] = able
        count += able
    return count


@compiled
def scale_groups(x, groups, extra, times):
    """Divide every group of x, with `times` copies of its entry of `extra` added, by its sum; returns the largest
    |sum − 1| found."""
    start, member = groups.start, groups.member
    off = 0.0
    for g in range(start.size - 1):
        total = times * extra[g]
        for k in range(start[g], start[g + 1]):
            total += x[member[k]]
        if total > 0.0:
            off = max(off, abs(total - 1.0))
            for k in range(start[g], start[g + 1]):
                x[member[k]] /= total
            extra[g] /= total
    return off


@compiled
def balance(x, few, many, dummies, sweeps, tolerance):
    """Sinkhorn scaling of x in place: the groups of `few`, then of `many`, to sum 1, until both do.

    `dummies` more groups of `few`, equal to each other, share the groups of `many` that are too many.
    """
    dummy = np.full(many.start.size - 1, 1.0 / (many.start.size - 1))
    nothing = np.zeros(few.start.size - 1)
    for sweep in range(sweeps):
        off = scale_groups(x, few, nothing, 0)
        if dummies > 0:
            off = max(off, abs(dummy.sum() - 1.0))
            dummy /= dummy.sum()
        off = max(off, scale_groups(x, many, dummy, dummies))
        if off <= tolerance:
            return sweep + 1
    return sweeps


@compiled
def multiply_symmetric(matrix, x, out):
    """out = matrix · x, reading the lower half of the symmetric matrix only: what it costs is its way from memory."""
    n = x.size
    out[:] = 0.0
    i = 0
    while i + 4 <= n:  # four rows in one pass over x and out
        a, b, c, d = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        xa, xb, xc, xd = x[i], x[i + 1], x[i + 2], x[i + 3]
        sa, sb, sc, sd = 0.0, 0.0, 0.0, 0.0
        for j in range(i):
            xj = x[j]
            sa += a[j] * xj
            sb += b[j] * xj
            sc += c[j] * xj
            sd += d[j] * xj
            out[j] += a[j] * xa + b[j] * xb + c[j] * xc + d[j] * xd
        out[i] += sa
        out[i + 1] += sb
        out[i + 2] += sc
        out[i + 3] += sd
        for k in range(i, i + 4):
            for j in range(i, i + 4):
                out[k] += matrix[k, j] * x[j]
        i += 4
    for k in range(i, n):
        row, total = matrix[k], 0.0
        for j in range(k):
            total += row[j] * x[j]
            out[j] += row[j] * x[k]
        out[k] += total + row[k] * x[k]


@compiled
def pool_rows(rows, first, x, groups, squared, out):
    """out_i = Σ over groups of max_j rows[i, j] · x_j, or of its square, for a matrix's rows `first`, first + 1, …"""
    start, member = groups.start, groups.member
    for i in range(len(rows)):
        row = rows[i]
        total = 0.0
        for g in range(start.size - 1):
            best = 0.0
            for k in range(start[g], start[g + 1]):
                value = row[member[k]] * x[member[k]]
                best = value if value > best else best
            total += best * best if squared else best
        out[first + i] = total


@compiled
def pool_symmetric(matrix, x, groups, squared, out):
    """`pool_rows` for a whole symmetric matrix: it runs along its rows, where vector registers help."""
    start, member = groups.start, groups.member
    n = x.size
    best = np.empty(n)
    out[:] = 0.0
    for g in range(start.size - 1):
        best[:] = 0.0
        for k in range(start[g], start[g + 1]):
            j = member[k]
            weight = x[j]
            if weight > 0.0:
                row = matrix[j]
                for i in range(n):
                    value = weight * row[i]
                    best[i] = value if value > best[i] else best[i]
        for i in range(n):
            out[i] += best[i] * best[i] if squared else best[i]


@compiled
def pool_sparse(indptr, indices, data, x, group, n_groups, squared, out):
    """`pool_rows` for a matrix in compressed rows; `group[j]` is the group of variable j."""
    best = np.zeros(n_groups)
    for i in range(out.size):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            g = group[indices[e]]
            value = data[e] * x[indices[e]]
            if value > best[g]:
                total += value * value - best[g] * best[g] if squared else value - best[g]
                best[g] = value
        for e in range(indptr[i], indptr[i + 1]):
            best[group[indices[e]]] = 0.0
        out[i] = total


@compiled
def add_tree(fibers, tree, x, out):
    """out += tree ⊗ x_1 ⊗ … ⊗ x_{D−1}, its open mode open, the others in their order; the last row of x is not used."""
    support = np.empty(x.shape, np.uint32)
    count = np.zeros(x.shape[0], np.int64)
    for b in range(x.shape[0] - 1):
        count[b] = list_support(x[b], support[b])
    add_fibers(fibers, tree, x.shape[0] - 1, x, support, count, out)


@compiled
def add_nodes(fibers, low, high, weight, out):
    """out[key, target] += weight · value over the leaves of the nodes low … high."""
    key, child, stop, target, value = fibers.key, fibers.child, fibers.stop, fibers.target, fibers.value
    for p in range(low, high):
        row = out[key[p]]
        for e in range(child[p], stop[p]):
            row[target[e]] += weight * value[e]


@compiled
def open_pair(fibers, tree, x, weight, out):
    """out += weight · (symmetric tree of order 3 or 4) ⊗ x (⊗ x), two modes open."""
    root, key, child, stop = fibers.root[tree], fibers.key, fibers.child, fibers.stop
    for j in range(x.size):
        w = weight * x[j]
        if w == 0.0:
            continue
        if fibers.order[tree] == 3:
            add_nodes(fibers, root[j], root[j + 1], w, out)
        else:
            for p in range(root[j], root[j + 1]):
                if x[key[p]] != 0.0:
                    add_nodes(fibers, child[p], stop[p], w * x[key[p]], out)
