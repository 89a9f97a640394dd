// ADMM in the plane: two sets to drag, a point in each, the multiplier as an arrow, and the residual below them.
const UNIT = 56, WIDE = 190;              // pixels: of one unit, of the residual's chart
const TICKS = 60, TICK = 180;             // a run is played in so many ticks at most, of so many milliseconds
const ARROW = 1.2;                        // units of the sheet for a multiplier of length 1

class Plane extends Drawing {
  constructor(root) {
    const row = element(root, "div", "plane-row");
    super(row, 12 * UNIT, 6.6 * UNIT);
    this.svg.setAttribute("aria-label", "Two sets and two points");
    this.chart = make(row, "svg", { viewBox: `0 0 ${WIDE} ${6.6 * UNIT}`, role: "img", "aria-label": "The residual over the iterations" });
    this.scenes = element(root, "div", "plane-tools");
    this.scenes.role = "group";
    this.scenes.ariaLabel = "Sets";
    root.prepend(this.scenes);
    this.tools = element(root, "div", "plane-tools");
    this.buttons = {};
    for (const [name, does] of [["Start over", () => this.go(0)], ["Step back", () => this.go(this.k - 1)],
      ["Play", () => this.play()], ["Step forward", () => this.go(this.k + 1)]]) {
      this.buttons[name] = element(this.tools, "button", "tool", name);
      this.buttons[name].onclick = does;
    }
    const label = element(this.tools, "label", "rho", "ρ");
    this.slider = element(label, "input", "");
    this.slider.type = "range";
    this.slider.ariaLabel = "Penalty ρ";
    this.slider.oninput = () => this.change({ rho: this.data.rhos[this.slider.value] });
    this.shown = element(label, "output", "");
    this.told = element(root, "div", "told");
    this.told.ariaLive = "polite";
    this.number = Date.now();   // of the last message: greater than that of any board before
    this.spoken = null;         // the state that Python was told last, or told us
    this.k = 0;
  }

  update(component) {
    this.component = component;
    this.data = component.data;
    const { state: given, heard } = this.data, text = JSON.stringify(given);
    if (this.state) {
      const echo = heard !== null && heard < this.number;        // of a message that another one followed
      const known = text === this.spoken || (heard === null && text === this.known);
      if (echo || known || this.dragged !== null || this.timer) return this.paint();
    }
    this.known = this.spoken = text;
    const { at, ...state } = given;
    this.state = state;
    this.compute();
    this.k = Math.min(at, this.last);
    this.paint();
  }

  get scene() { return this.data.scenes[this.state.scene]; }
  get last() { return this.moments.length - 1; }
  held(name) { return this.data.locked.includes(name); }

  compute() {
    const [one, two, start] = this.state.sets, limits = this.data.limits;
    this.moments = admmWalk(this.scene.shapes, [one, two], start, this.state.rho, limits);
    this.best = lowestCommon(this.scene.shapes, [one, two], limits);
  }

  // Another scene, place or ρ; a run that was shown to its end stays at its end.
  change(what, now = true) {
    const whole = this.k > 0 && this.k === this.last;
    this.state = { ...this.state, ...what };
    this.compute();
    this.k = whole ? this.last : Math.min(this.k, this.last);
    this.paint();
    this.tell(now);
  }

  choose(scene) {
    const { places, start } = this.data.scenes[scene];
    this.stop();
    this.k = 0;
    this.change({ scene, sets: [...places, start] });
  }

  tell(now) {
    if (!now && performance.now() - this.sent < WAIT) return;
    const value = { ...this.state, at: this.k };
    [this.spoken, this.known, this.number] = [JSON.stringify(value), null, this.number + 1];
    this.send("state", { ...value, number: this.number }, true);
  }

  go(k) {
    this.stop();
    this.k = Math.min(Math.max(k, 0), this.last);
    this.paint();
    this.tell(true);
  }

  play() {
    if (this.timer) return this.go(this.k);
    if (this.k === this.last) this.k = 0;
    this.timer = setInterval(() => {
      if (!this.svg.isConnected) return this.stop();
      this.k = Math.min(this.k + Math.ceil(this.last / TICKS), this.last);
      this.paint();
      if (this.k === this.last) this.go(this.k);
    }, TICK);
    this.paint();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
  }

  // ------------------------------------------------------------------ what can be dragged

  at([x, y]) { return { x: x * UNIT, y: (this.data.size[1] - y) * UNIT }; }
  where(k) { return this.at(this.state.sets[k]); }

  moved(k, x, y, now) {
    if (this.held("sets")) return;
    if (x === null) return this.tell(true);
    const [wide, high] = this.data.size;
    const snap = (value, most) => Math.min(Math.max(Math.round(10 * value) / 10, 0.2), most - 0.2);
    const sets = this.state.sets.map((place, j) => (j === k ? [snap(x / UNIT, wide), snap(high - y / UNIT, high)] : place));
    this.change({ sets }, now);
  }

  // ------------------------------------------------------------------ painting

  paint() {
    this.back.replaceChildren();
    this.paintTools();
    const [wide, high] = this.data.size, now = this.moments[this.k];
    const frame = { width: wide * UNIT, height: high * UNIT, rx: 6 };
    make(make(this.back, "clipPath", { id: "sheet" }), "rect", frame);
    const sheet = make(this.back, "g", { "clip-path": "url(#sheet)" });
    make(sheet, "rect", { ...frame, class: "sheet" });
    this.scene.shapes.forEach((shape, k) => shape.forEach((part) => this.paintPart(sheet, part, k)));
    make(sheet, "text", { x: 12, y: high * UNIT - 12, class: "aside" }, "the cost is the height: lower is cheaper");
    for (const [k, name] of [[0, "one"], [1, "two"]]) {
      const points = this.moments.slice(this.k ? 1 : 0, this.k + 1).map((moment) => this.at(moment[name]));
      make(sheet, "polyline", { points: points.map(({ x, y }) => `${x},${y}`).join(" "), class: `path set-${k}` });
    }
    if (this.best && this.k === this.last) {
      const { x, y } = this.at(this.best);
      make(sheet, "text", { x, y: y + 24, class: "star" }, "★");
    }
    const one = this.at(now.one), two = this.at(now.two), [yx, yy] = now.multiplier;
    make(sheet, "line", { x1: one.x, y1: one.y, x2: two.x, y2: two.y, class: "gap" });
    this.arrow(sheet, two, [yx, yy], "y");
    this.arrow(sheet, one, [-yx, -yy], "−y");
    make(sheet, "circle", { cx: one.x, cy: one.y, r: 8, class: "point set-0" });
    make(sheet, "rect", { x: two.x - 7, y: two.y - 7, width: 14, height: 14, class: "point set-1", transform: `rotate(45 ${two.x} ${two.y})` });
    make(sheet, "text", { x: one.x - 17, y: one.y - 10, class: "point-name set-0" }, "x₁");
    make(sheet, "text", { x: two.x + 18, y: two.y - 10, class: "point-name set-1" }, "x₂");
    this.paintChart(high * UNIT);
    const colours = ["#0072B2", "#D55E00", "var(--st-text-color)"];
    this.place(["1", "2", "S"].map((sign, k) => ({ ...this.where(k), sign, step: UNIT / 10, colour: colours[k],
      label: `${k < 2 ? `Set ${sign}` : "Start S"}: drag it, or move it with the arrow keys` })));
    this.told.textContent = toldOf(this.moments, this.k, this.best, this.data.limits);
  }

  paintPart(sheet, part, k) {
    const corners = part.corners.map(([x, y]) => this.at([this.state.sets[k][0] + x, this.state.sets[k][1] + y]));
    if (part.radius) make(sheet, "circle", { cx: corners[0].x, cy: corners[0].y, r: part.radius * UNIT, class: `area set-${k}` });
    else make(sheet, "polygon", { points: corners.map(({ x, y }) => `${x},${y}`).join(" "), class: `area set-${k}` });
  }

  arrow(sheet, from, [x, y], name) {
    const long = Math.hypot(x, y), drawn = Math.min(long, 2) * ARROW * UNIT;
    if (drawn < 14) return;
    const dx = x / long, dy = -y / long, to = { x: from.x + dx * drawn, y: from.y + dy * drawn };
    const head = [[0, 0], [-11, 5], [-11, -5]].map(([a, b]) => `${to.x + a * dx - b * dy},${to.y + a * dy + b * dx}`);
    make(sheet, "line", { x1: from.x, y1: from.y, x2: to.x - 8 * dx, y2: to.y - 8 * dy, class: "multiplier" });
    make(sheet, "polygon", { points: head.join(" "), class: "multiplier-head" });
    make(sheet, "text", { x: to.x + 14 * dx - 12 * dy, y: to.y + 14 * dy + 12 * dx, dy: "0.35em", class: "multiplier-name" }, name);
  }

  // The residual over the iterations, in powers of ten.
  paintChart(tall) {
    const low = -7, high = 2, span = Math.max(this.last, 10), { chart } = this;
    chart.replaceChildren();
    const at = (k, value) => {
      const power = Math.min(Math.max(Math.log10(Math.max(value, 1e-12)), low), high);
      return `${8 + (k / span) * (WIDE - 16)},${((high - power) / (high - low)) * (tall - 60) + 30}`;
    };
    make(chart, "text", { x: 8, y: 16, class: "aside" }, "residual");
    const line = Number(at(0, this.data.limits.tolerance).split(",")[1]);
    make(chart, "path", { d: `M8 ${line}H${WIDE - 8}`, class: "level" });
    make(chart, "text", { x: 8, y: line - 6, class: "aside" }, "converged");
    make(chart, "text", { x: 8, y: tall - 6, class: "aside" }, "0");
    make(chart, "text", { x: WIDE - 8, y: tall - 6, class: "aside end" }, `iteration ${span}`);
    const points = this.moments.slice(1, this.k + 1).map((moment, k) => at(k + 1, moment.residual));
    make(chart, "polyline", { points: points.join(" "), class: "curve" });
    if (points.length) {
      const [x, y] = points.at(-1).split(",");
      make(chart, "circle", { cx: x, cy: y, r: 4, class: "curve-end" });
    }
  }

  paintTools() {
    const keys = Object.keys(this.data.scenes);
    while (this.scenes.children.length < keys.length) element(this.scenes, "button", "tool");
    keys.forEach((key, k) => {
      const button = this.scenes.children[k];
      button.textContent = this.data.scenes[key].name;
      button.ariaPressed = String(key === this.state.scene);
      button.disabled = this.held("scene");
      button.onclick = () => this.choose(key);
    });
    const { buttons, data, state } = this;
    buttons["Play"].textContent = this.timer ? "Pause" : "Play";
    buttons["Step back"].disabled = buttons["Start over"].disabled = this.k === 0;
    buttons["Step forward"].disabled = this.k === this.last;
    this.slider.max = data.rhos.length - 1;
    this.slider.value = data.rhos.indexOf(state.rho);
    this.slider.disabled = this.held("pen");
    this.slider.ariaValueText = `ρ = ${state.rho}`;
    this.shown.textContent = String(state.rho);
  }
}
