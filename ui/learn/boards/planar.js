// ADMM in the plane: the arithmetic of features/explain/planar.py, operation by operation. A test compares the iterates.
const squared = (a, b) => (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);

function closest(points, at) {
  return points.reduce((best, point) => (squared(point, at) < squared(best, at) ? point : best));
}

function onSegment(a, b, at) {
  const dx = b[0] - a[0], dy = b[1] - a[1];
  const t = Math.min(Math.max(((at[0] - a[0]) * dx + (at[1] - a[1]) * dy) / (dx * dx + dy * dy), 0), 1);
  return [a[0] + t * dx, a[1] + t * dy];
}

function nearest(part, place, at) {
  const corners = part.corners.map(([x, y]) => [place[0] + x, place[1] + y]);
  if (part.radius) {
    const [x, y] = corners[0], dx = at[0] - x, dy = at[1] - y, far = Math.sqrt(dx * dx + dy * dy);
    return far <= part.radius ? at : [x + dx * (part.radius / far), y + dy * (part.radius / far)];
  }
  const edges = corners.map((a, k) => [a, corners[(k + 1) % corners.length]]);
  const inside = ([a, b]) => (b[0] - a[0]) * (at[1] - a[1]) >= (b[1] - a[1]) * (at[0] - a[0]);
  if (corners.length > 2 && edges.every(inside)) return at;
  return closest(edges.map(([a, b]) => onSegment(a, b, at)), at);
}

const project = (shape, place, at) => closest(shape.map((part) => nearest(part, place, at)), at);

// One iteration: both points, the multiplier, the gap and the residual.
function admmStep(shapes, places, rho, now) {
  const [yx, yy] = now.multiplier;
  const one = project(shapes[0], places[0], [now.two[0] - yx / rho, now.two[1] - yy / rho - 1 / rho]);
  const two = project(shapes[1], places[1], [one[0] + yx / rho, one[1] + yy / rho]);
  const multiplier = [yx + rho * (one[0] - two[0]), yy + rho * (one[1] - two[1])];
  const gap = squared(one, two);
  return { one, two, multiplier, gap, residual: gap + (squared(one, now.one) + squared(two, now.two)) };
}

const admmStart = (start) => ({ one: start, two: start, multiplier: [0, 0], gap: 0, residual: 0 });

function admmWalk(shapes, places, start, rho, { tolerance, most }) {
  const moments = [admmStart(start)];
  for (let k = 0; k < most; k++) {
    moments.push(admmStep(shapes, places, rho, moments[k]));
    if (moments[k + 1].residual <= tolerance) break;
  }
  return moments;
}

// The lowest point that lies in both shapes, or null.
function lowestCommon(shapes, places, { careful, longest }) {
  let best = null;
  for (const one of shapes[0]) {
    for (const two of shapes[1]) {
      let now = admmStart(places[0]);
      for (let k = 0; k < longest; k++) {
        now = admmStep([[one], [two]], places, 1, now);
        if (now.residual > careful) continue;
        if (best === null || now.two[1] < best[1]) best = now.two;
        break;
      }
    }
  }
  return best;
}

const SAME = 0.02;   // heights that differ by less are called the same: a run ends a little before its limit

// What an iterate means, in words.
function toldOf(moments, k, best, { tolerance, most }) {
  const now = moments[k], last = moments.length - 1;
  const end = moments[last].residual <= tolerance && last > 0;
  if (k === 0) return "Both points are at the start S. Press Play or Step forward.";
  if (k < last || !end) {
    const more = k === most ? ` They do not agree within ${most.toLocaleString("en")} iterations${best ? "" : ": the sets do not meet"}.` : "";
    return `Iteration ${k}: the points are ${Math.sqrt(now.gap).toFixed(3)} apart.${more}`;
  }
  const height = now.two[1].toFixed(2);
  const verdict = !best ? "" : now.two[1] - best[1] < SAME ? " No point of both sets is lower (★)."
    : ` Stuck: the lowest point of both sets (★) has height ${best[1].toFixed(2)}.`;
  return `After ${k} iterations the points agree, at height ${height}.${verdict}`;
}
