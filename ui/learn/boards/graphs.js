// Two graphs of three points

const SQUARE = 52, COLUMNS = 6, ROWS = 6, BETWEEN = 40;

const EDGES = [[0, 1], [0, 2], [1, 2]];

// The energy of a matching, edge by edge: each costs the difference of its two lengths.
function toldEdges(sides, matching, names) {
  const far = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by);
  let energy = 0;
  const parts = EDGES.map(([a, b]) => {
    const [i, j] = [matching[a], matching[b]];
    const cost = Math.abs(far(sides[0][a], sides[0][b]) - far(sides[1][i], sides[1][j]));
    energy += cost;
    return `${names[0][a]}${names[0][b]} on ${names[1][i]}${names[1][j]}: ${cost.toFixed(2)}`;
  });
  return `${parts.join(" · ")} · energy ${energy.toFixed(2)}`;
}

class Graphs extends Drawing {
  constructor(root) {
    super(root, 2 * COLUMNS * SQUARE + BETWEEN, ROWS * SQUARE);
    this.svg.style.setProperty("--tall", "min(14.4rem, var(--most, 100rem) - 6.2rem)");
    this.told = element(root, "div", "told");
    this.told.ariaLive = "polite";
    this.choices = element(root, "div", "plane-tools");
  }

  update(component) {
    this.component = component;
    this.data = component.data;
    if (this.dragged === null) this.sides = this.data.sides.map((side) => side.map((point) => [...point]));
    this.matching = this.data.matching;
    this.paintChoices();
    this.paint();
  }

  // Buttons for all matchings, where the page around has none.
  paintChoices() {
    this.choices.replaceChildren();
    for (const matching of this.data.choices) {
      const name = matching.map((j, k) => this.data.names[0][k] + this.data.names[1][j]).join(" ");
      const button = element(this.choices, "button", "tool", name);
      button.ariaPressed = String(matching.join() === this.matching.join());
      button.onclick = () => {
        this.matching = matching;
        this.paintChoices();
        this.paint();
      };
    }
  }

  at(side, k) {
    const [x, y] = this.sides[side][k];
    return { x: side * (COLUMNS * SQUARE + BETWEEN) + x * SQUARE, y: y * SQUARE };
  }

  where(k) { return this.at(k < 3 ? 0 : 1, k % 3); }

  moved(k, x, y, now) {
    const side = k < 3 ? 0 : 1;
    if (x !== null) {
      const snap = (value, most) => Math.min(Math.max(Math.round(2 * value / SQUARE) / 2, 0.5), most - 0.5);
      this.sides[side][k % 3] = [snap(x - side * (COLUMNS * SQUARE + BETWEEN), COLUMNS), snap(y, ROWS)];
      this.paint();
    }
    this.send("moved", this.sides, now);
  }

  paint() {
    this.back.replaceChildren();
    for (const side of [0, 1]) {
      const left = side * (COLUMNS * SQUARE + BETWEEN);
      make(this.back, "rect", { x: left, y: 0, width: COLUMNS * SQUARE, height: ROWS * SQUARE, class: "sheet", rx: 6 });
      for (let k = 1; k < COLUMNS; k++) make(this.back, "path", { d: `M${left + k * SQUARE} 0v${ROWS * SQUARE}M${left} ${k * SQUARE}h${COLUMNS * SQUARE}`, class: "grid" });
    }
    const to = this.matching;
    this.told.textContent = toldEdges(this.sides, to, this.data.names);
    this.data.edges.forEach(({ ends, colour, dash }) => {
      for (const side of [0, 1]) {
        const [a, b] = ends.map((k) => this.at(side, side ? to[k] : k));
        const [p, q] = ends.map((k) => this.sides[side][side ? to[k] : k]);
        make(this.back, "line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, stroke: colour, "stroke-width": 5, "stroke-dasharray": dash });
        const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
        make(this.back, "rect", { x: middle.x - 24, y: middle.y - 14, width: 48, height: 27, rx: 8, fill: colour });
        make(this.back, "text", { x: middle.x, y: middle.y, dy: "0.35em", class: "length" }, Math.hypot(p[0] - q[0], p[1] - q[1]).toFixed(2));
      }
    });
    to.forEach((j, k) => {
      const [a, b] = [this.at(0, k), this.at(1, j)];
      make(this.back, "path", { d: `M${a.x} ${a.y}L${b.x} ${b.y}`, class: "match" });
    });
    this.place([0, 1, 2, 3, 4, 5].map((k) => {
      const sign = this.data.names[k < 3 ? 0 : 1][k % 3];
      return { ...this.where(k), sign, step: SQUARE / 2, colour: "var(--st-text-color)",
        label: `Point ${sign}: drag it, or move it with the arrow keys` };
    }));
  }
}
