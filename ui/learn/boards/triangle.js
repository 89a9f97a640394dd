// The triangle of three candidates

// Points whose three entries sum to one lie in a plane: corner k is where entry k is 1. c is drawn in it as well.
const CORNERS = [[330, 95], [210, 303], [450, 303]];
const SUM = (entries) => [0, 1].map((axis) => entries.reduce((all, value, k) => all + value * CORNERS[k][axis], 0));

class Triangle extends Drawing {
  constructor(root) {
    const row = element(root, "div", "triangle-row");
    super(row, 660, 400);
    this.bars = barsIn(row);
    this.told = element(root, "div", "told");
    this.told.ariaLive = "polite";
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
    const split = splitOf(this.c), from = this.where(), [x, y] = SUM(split.x);
    make(this.back, "line", { x1: from.x, y1: from.y, x2: x, y2: y, class: "way" });
    make(this.back, "circle", { cx: x, cy: y, r: 9, class: "landing" });
    this.place([{ ...from, sign: "c", step: 12, colour: this.data.colour, label: `Target c = ${this.c.join(", ")}: drag it, or move it with the arrow keys` }]);
    paintBars(this.bars, { ...split, c: this.c, names: ["1", "2", "3"] });
    this.told.textContent = toldSplit(this.c, ["1", "2", "3"]);
  }
}
