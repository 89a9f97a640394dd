// The small pictures of the Learn page that one can touch: two graphs to drag, a triangle to drag in, matrices to click.
// Python owns every number; here points follow the hand, and what was moved or picked travels back. Texts are set with
// textContent. What is drawn behind the handles is drawn anew with every update; the handles stay, with their focus.
const SVG = "http://www.w3.org/2000/svg";
const WAIT = 120;               // milliseconds between two messages while something is dragged

function make(parent, tag, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  return parent.appendChild(node);
}

function element(parent, tag, className, text = null) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== null) node.textContent = text;
  return parent.appendChild(node);
}

class Drawing {
  constructor(root, width, height) {
    this.svg = make(root, "svg", { viewBox: `0 0 ${width} ${height}`, role: "group" });
    this.back = make(this.svg, "g");
    this.front = make(this.svg, "g");
    this.handles = [];
    this.dragged = null;
    this.sent = 0;
  }

  // The handles as they are given; only those that are not in a hand move.
  place(handles) {
    while (this.handles.length < handles.length) this.handles.push(this.handle(this.handles.length));
    handles.forEach((given, k) => {
      const own = this.handles[k];
      own.step = given.step;
      own.setAttribute("transform", `translate(${given.x} ${given.y})`);
      own.setAttribute("aria-label", given.label);
      own.dot.setAttribute("fill", given.colour);
      own.text.textContent = given.sign;
    });
  }

  handle(k) {
    const node = make(this.front, "g", { class: "handle", tabindex: 0, role: "button", "data-arrows": "1" });
    make(node, "circle", { r: 22, fill: "transparent" });
    node.dot = make(node, "circle", { r: 13, class: "dot" });
    node.text = make(node, "text", { dy: "0.35em", class: "sign" });
    node.addEventListener("pointerdown", (event) => {
      this.dragged = k;
      node.setPointerCapture(event.pointerId);
      event.preventDefault();
      node.focus();
    });
    node.addEventListener("pointermove", (event) => {
      if (this.dragged !== k) return;
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
      this.moved(k, at.x, at.y, false);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      node.addEventListener(end, () => {
        if (this.dragged !== k) return;
        this.dragged = null;
        this.moved(k, null, null, true);
      });
    }
    node.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      const at = this.where(k);
      this.moved(k, at.x + by[0] * node.step, at.y + by[1] * node.step, true);
    });
    return node;
  }

  send(name, value, now) {
    if (!now && performance.now() - this.sent < WAIT) return;
    this.sent = performance.now();
    this.component.setStateValue(name, value);
  }
}

// ---------------------------------------------------------------- two graphs of three points

const SQUARE = 52, COLUMNS = 6, ROWS = 6, BETWEEN = 40;

class Graphs extends Drawing {
  constructor(root) {
    super(root, 2 * COLUMNS * SQUARE + BETWEEN, ROWS * SQUARE);
    this.svg.style.setProperty("--tall", "17rem");
  }

  update(component) {
    this.component = component;
    this.data = component.data;
    if (this.dragged === null) this.sides = this.data.sides.map((side) => side.map((point) => [...point]));
    this.paint();
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
    const to = this.data.matching;
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

// ---------------------------------------------------------------- the triangle of three candidates

// Points whose three entries sum to one lie in a plane: corner k is where entry k is 1. c is drawn in it as well.
const CORNERS = [[330, 95], [210, 303], [450, 303]];
const SUM = (entries) => [0, 1].map((axis) => entries.reduce((all, value, k) => all + value * CORNERS[k][axis], 0));

class Triangle extends Drawing {
  constructor(root) {
    super(root, 660, 400);
  }

  update(component) {
    this.component = component;
    this.data = component.data;
    if (this.dragged === null) this.c = [...this.data.c];
    this.paint();
  }

  where() {
    const [x, y] = SUM(this.c);
    return { x, y };
  }

  moved(k, x, y, now) {
    if (x !== null) {
      const [px, py] = [Math.min(Math.max(x, 14), 646), Math.min(Math.max(y, 14), 386)];
      const [a, b, c] = CORNERS;
      const area = (b[1] - c[1]) * (a[0] - c[0]) + (c[0] - b[0]) * (a[1] - c[1]);
      const first = ((b[1] - c[1]) * (px - c[0]) + (c[0] - b[0]) * (py - c[1])) / area;
      const second = ((c[1] - a[1]) * (px - c[0]) + (a[0] - c[0]) * (py - c[1])) / area;
      const [p, q] = [first, second].map((value) => Math.round(100 * value));
      this.c = [p / 100, q / 100, (100 - p - q) / 100];   // they sum to one
      this.paint();
    }
    this.send("target", this.c, now);
  }

  paint() {
    this.back.replaceChildren();
    for (const points of this.data.regions) {
      make(this.back, "polygon", { points: points.map((p) => SUM(p).join(",")).join(" "), class: "region" });
    }
    make(this.back, "polygon", { points: CORNERS.join(" "), class: "simplex" });
    CORNERS.forEach(([x, y], k) => {
      const [dx, dy] = [[0, -16], [-14, 26], [14, 26]][k];
      make(this.back, "text", { x: x + dx, y: y + dy, class: "corner" }, this.data.names[k]);
    });
    const from = this.where(), [x, y] = SUM(this.data.x);
    make(this.back, "line", { x1: from.x, y1: from.y, x2: x, y2: y, class: "way" });
    make(this.back, "circle", { cx: x, cy: y, r: 9, class: "landing" });
    this.place([{ ...from, sign: "c", step: 12, colour: this.data.colour, label: `Target c = ${this.c.join(", ")}: drag it, or move it with the arrow keys` }]);
  }
}

// ---------------------------------------------------------------- matrices side by side

class Matrices {
  constructor(root) {
    this.root = element(root, "div", "matrices");
  }

  update({ data, setStateValue }) {
    const focus = this.root.getRootNode().activeElement?.dataset?.cell;
    this.root.replaceChildren();
    data.matrices.forEach((one, m) => {
      const box = element(this.root, "div", "matrix");
      element(box, "div", "title", one.title);
      const grid = element(box, "div", one.rows.length < 4 ? "cells low" : "cells");
      const sums = one.sums;
      grid.style.gridTemplateColumns = `auto repeat(${one.cols.length}, minmax(2.4rem, 1fr))${sums ? " auto" : ""}`;
      element(grid, "span", "name");
      for (const name of one.cols) element(grid, "span", "name", name);
      if (sums) element(grid, "span", "name", "Σ");
      one.values.forEach((row, i) => {
        element(grid, "span", "name", one.rows[i]);
        row.forEach((value, j) => this.cell(grid, one, m, i, j, value, setStateValue));
        if (sums) this.sum(grid, sums[0][i]);
      });
      if (sums) {
        element(grid, "span", "name", "Σ");
        for (const value of sums[1]) this.sum(grid, value);
        element(grid, "span", "name");
      }
      element(box, "div", "note", one.note);
    });
    if (focus) this.root.querySelector(`[data-cell="${focus}"]`)?.focus();
  }

  cell(grid, one, m, i, j, value, setStateValue) {
    const shown = Number.isInteger(value) ? String(value) : value.toFixed(2);
    const node = element(grid, one.pick ? "button" : "span", value > 0.92 ? "cell full" : "cell", shown);
    node.style.setProperty("--value", `${Math.round(100 * Math.min(Math.max(value, 0), 1))}%`);
    if (!one.pick) return;
    node.dataset.cell = `${m}-${i}-${j}`;
    node.ariaLabel = `${one.title}, row ${one.rows[i]}, column ${one.cols[j]}: ${shown}`;
    node.ariaPressed = String(one.picked?.[0] === i && one.picked[1] === j);
    node.onclick = () => setStateValue("cell", [m, i, j]);
  }

  sum(grid, value) {
    const one = Math.abs(value - 1) < 5e-4;
    element(grid, "span", one ? "sum one" : "sum", one ? "1 ✓" : value.toFixed(2));
  }
}

// ---------------------------------------------------------------- which block is tied to which

class Ties {
  constructor(root) {
    this.root = element(root, "div", "ties");
  }

  update({ data }) {
    this.root.replaceChildren();
    for (const { title, places, ties } of data.drawings) {
      const box = element(this.root, "figure", "");
      const svg = make(box, "svg", { viewBox: "0 0 170 64", role: "img", "aria-label": title });
      for (const [a, b] of ties) make(svg, "path", { d: `M${places[a]}L${places[b]}`, class: "tie" });
      places.forEach(([x, y], k) => {
        make(svg, "circle", { cx: x, cy: y, r: 15, class: "block" });
        make(svg, "text", { x, y, dy: "0.35em", class: "length" }, `x${"₁₂₃"[k]}`);
      });
      element(box, "figcaption", "note", title);
    }
  }
}

const KINDS = { graphs: Graphs, triangle: Triangle, matrices: Matrices, ties: Ties };

export default function (component) {
  const root = component.parentElement.querySelector(".learn-board");
  if (root.kind !== component.data.kind) {
    root.replaceChildren();
    root.kind = component.data.kind;
    root.board = new KINDS[root.kind](root);
  }
  root.board.update(component);
}
