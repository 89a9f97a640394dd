// One iteration, sub-step by sub-step: the problem, matrices to click, bars, and the arithmetic of one entry in words
const POINTS = { wide: 250, tall: 150 };

class Steps {
  constructor(root) {
    const both = element(root, "div", "");
    both.dataset.picture = "The sub-step";    // what Export and share takes away as one picture
    this.heads = element(both, "div", "heads");
    this.root = element(both, "div", "steps");
  }

  update({ data, setStateValue }) {
    const focus = this.root.getRootNode().activeElement?.dataset?.cell;
    this.heads.replaceChildren();
    for (const [name, now] of data.heads) element(this.heads, "span", now ? "head now" : "head", name);
    this.root.replaceChildren();
    data.cells.forEach((one, m) => {
      if (one.kind === "points") this.points(one);
      else if (one.kind === "bars") this.bars(one);
      else if (one.kind === "words") this.words(one, m, setStateValue);
      else matrixIn(this.root, one, m, setStateValue);
    });
    if (focus) this.root.querySelector(`[data-cell="${focus}"]`)?.focus();
  }

  // Both sets of points, and between them lines as strong as the entries of a block.
  points({ title, sides, names, weights, picked }) {
    const box = element(this.root, "div", "matrix");
    element(box, "div", "title", title);
    const svg = make(box, "svg", { viewBox: `0 0 ${POINTS.wide} ${POINTS.tall}`, role: "img", "aria-label": title });
    const at = (side, k) => {
      const [x, y] = sides[side][k];
      return { x: 16 + side * (POINTS.wide / 2) + x * (POINTS.wide / 2 - 32), y: 14 + y * (POINTS.tall - 28) };
    };
    weights.forEach((row, i) => row.forEach((weight, j) => {
      const a = at(0, i), b = at(1, j), chosen = picked[0] === i && picked[1] === j;
      if (weight < 0.02 && !chosen) return;
      make(svg, "line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "stroke-opacity": Math.max(weight, 0.15), class: chosen ? "tie-line chosen" : "tie-line" });
    }));
    for (const side of [0, 1]) sides[side].forEach((_, k) => {
      const { x, y } = at(side, k);
      make(svg, "circle", { cx: x, cy: y, r: 9, class: "spot" });
      make(svg, "text", { x, y, dy: "0.35em", class: "spot-name" }, names[side][k]);
    });
  }

  bars(one) {
    const box = element(this.root, "div", "matrix wide");
    element(box, "div", "title", one.title);
    paintBars(barsIn(box), one);
  }

  words({ lines, back }, m, setStateValue) {
    const box = element(this.root, "div", "matrix words");
    for (const line of lines) element(box, "div", "", line);
    if (!back) return;
    element(box, "button", "tool", back).onclick = () => setStateValue("cell", [m, -1, -1]);
  }
}
