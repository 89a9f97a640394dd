// The projection onto the simplex as bars: what stands above the water line τ stays
const BARS = { bar: 74, tall: 330, top: 26, bottom: 52 };

// The nearest point x ≥ 0 with sum one to c, and what is taken from every entry that stays.
function splitOf(c) {
  const falling = [...c].sort((a, b) => b - a);
  let sum = 0, tau = 0;
  falling.forEach((value, k) => {
    sum += value;
    if (value > (sum - 1) / (k + 1)) tau = (sum - 1) / (k + 1);
  });
  return { x: c.map((value) => Math.max(value - tau, 0)), tau };
}

function toldSplit(c, names) {
  const { x, tau } = splitOf(c), two = (value) => value.toFixed(2).replace("-", "−");
  const parts = names.map((name, k) => `${name}: ${two(c[k])} ${x[k] > 0 ? `− ${two(tau)}` : `≤ ${two(tau)}`} → ${x[k] > 0 ? two(x[k]) : "0"}`);
  return `τ = ${two(tau)}. ${parts.join(" · ")}`;
}

function paintBars(svg, { c, x, tau, names }) {
  svg.replaceChildren();
  const wide = 20 + c.length * BARS.bar;
  svg.setAttribute("viewBox", `0 0 ${wide} ${BARS.tall}`);
  const { tall, top, bottom } = BARS, two = (value) => value.toFixed(2).replace("-", "−");
  const low = Math.min(0, tau, ...c), high = Math.max(tau, ...c, low + 1e-9);
  const y = (value) => top + ((high - value) / (high - low)) * (tall - top - bottom);
  const step = (wide - 20) / c.length, floor = y(low);
  c.forEach((value, k) => {
    const at = { x: 10 + k * step + step * 0.18, width: step * 0.64 };
    make(svg, "rect", { ...at, y: y(value), height: Math.max(floor - y(value), 0), class: "bar" });
    if (value > tau) make(svg, "rect", { ...at, y: y(value), height: y(tau) - y(value), class: "bar above" });
    make(svg, "text", { x: at.x + at.width / 2, y: y(value) - 6, class: "bar-value" }, two(value));
    make(svg, "text", { x: at.x + at.width / 2, y: tall - 30, class: "bar-name" }, names[k]);
    make(svg, "text", { x: at.x + at.width / 2, y: tall - 9, class: "bar-value" }, `x = ${x[k] > 0 ? two(x[k]) : 0}`);
  });
  make(svg, "path", { d: `M4 ${y(tau)}H${wide - 4}`, class: "water" });
  make(svg, "text", { x: wide - 4, y: y(tau) + 18, class: "water-name" }, `τ = ${two(tau)}`);
}

const barsIn = (root) => make(root, "svg", { role: "img",
  "aria-label": "The entries of c as bars, and the threshold τ as a line", class: "bars" });
