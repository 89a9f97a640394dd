// Does a potential tell right from wrong? A histogram for every part of a model; the bar under the pointer shows its
// tuples on the picture, a click holds it. Python joins this file to canvas.js.

const HISTOGRAM = { height: 64, least: 1.5 };

const share = (count, all) => (all ? count / all : 0);
const percent = (value) => `${value && value < 0.01 ? "<1" : value > 0.99 && value < 1 ? ">99" : Math.round(100 * value)} %`;
const short = (value) => String(Number(value.toPrecision(3)));

class Separation {
  constructor(root) {
    this.root = root;
    this.parts = element("div", { className: "parts" });
    root.replaceChildren(element("style", { textContent: SEPARATION }), this.parts);
    this.observer = new ResizeObserver(() => this.width !== root.clientWidth && this.draw());
    this.observer.observe(root);
  }

  close() {
    this.observer.disconnect();
    this.light(null);
  }

  update(data) {
    this.tied = instrument(data);
    const shown = JSON.stringify([data.parts, data.curves]);
    if (this.shown === shown) return;
    Object.assign(this, { data, shown, held: null });
    this.light(null);
    this.draw();
  }

  draw() {
    this.width = this.root.clientWidth;
    if (!this.data || !this.width) return;
    this.parts.replaceChildren(...this.data.parts.map((part, k) => this.part(part, k)), ...this.courses());
  }

  courses() {                   // what a potential costs over one of the names that it depends on
    const { curves } = this.data;
    if (!curves.length) return [];
    this.over = Math.min(this.over ?? 0, curves.length - 1);
    const one = curves[this.over], several = new Set(curves.map((each) => each.what)).size > 1;
    const chips = curves.map((each, k) => {
      const chip = element("button", { type: "button", textContent: several ? `${each.what} ${each.over}` : each.over, onclick: () => { this.over = k; this.draw(); } });
      chip.ariaPressed = String(k === this.over);
      return chip;
    });
    const fixed = element("div", { className: "told", textContent: one.fixed ? `The others stay: ${one.fixed}.` : "" });
    const head = element("div", { className: "head" }, element("span", { className: "name", textContent: `Cost over ${one.label}` }), element("span", { className: "chips" }, ...chips));
    return [element("section", { className: "part" }, head, ...this.course(one), fixed)];
  }

  course({ y, ends, over }) {
    const width = this.width, height = HISTOGRAM.height, known = y.filter((value) => value !== null);
    const low = Math.min(...known), high = Math.max(...known), flat = !(high > low);
    const place = (value, k) => `${(width * k / (y.length - 1)).toFixed(1)} ${(flat ? height / 2 : height - 4 - (height - 8) * (value - low) / (high - low)).toFixed(1)}`;
    const path = y.map((value, k) => (value === null ? "" : `${k && y[k - 1] !== null ? "L" : "M"}${place(value, k)}`)).join("");
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", class: "course" }, svg("path", { d: path }));
    drawing.setAttribute("aria-label", `The cost over ${over}: from ${short(low)} to ${short(high)}`);
    const scale = known.length ? [`${short(ends[0])}`, `cost ${short(low)} to ${short(high)}`, `${short(ends[1])}`] : ["", "nowhere finite", ""];
    return [drawing, element("div", { className: "ends" }, ...scale.map((textContent) => element("span", { textContent })))];
  }

  part(part, k) {
    const quality = part.auc === null ? "" : part.auc >= 0.9 ? "good" : part.auc >= 0.7 ? "fair" : "poor";
    const auc = element("b", { className: `auc ${quality}`, textContent: part.auc === null ? "AUC –" : `AUC ${part.auc.toFixed(3)}` });
    auc.title = part.verdict;
    const half = part.name.includes(":") && this.data.parts.some((one) => !one.name.includes(":"));
    const name = element("span", { className: "name", textContent: half ? part.name.replace(/^[^:]*: /, "") : part.name, title: part.name });
    const head = element("div", { className: "head" }, name, auc);
    const told = element("div", { className: "told", textContent: this.summary(part) });
    const bars = this.bars(part, k, told, half ? (this.width - 14) / 2 : this.width);
    return element("section", { className: `part ${half ? "half" : ""}` }, head, bars, this.ends(part), told);
  }

  summary(part) {
    const unseen = part.unseen ? ` ${part.unseen} right ones are not looked at and cost 0.` : "";
    return `${part.totals[0].toLocaleString("en")} right and ${part.totals[1].toLocaleString("en")} wrong tuples, ${percent(part.overlap)} overlap.${unseen}`;
  }

  ends(part) {
    const [low, high] = part.ends;
    return element("div", { className: "ends" }, element("span", { textContent: short(low) }), element("span", { textContent: "cost" }), element("span", { textContent: short(high) }));
  }

  bars(part, k, told, width) {
    const { height, least } = HISTOGRAM, count = part.counts[0].length, step = width / count;
    const shares = part.counts.map((counts, which) => counts.map((one) => share(one, part.totals[which])));
    const most = Math.max(...shares.flat(), 1e-9);
    const tall = (value) => (value ? Math.max(least, (height - 4) * value / most) : 0);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, width, tabindex: 0, role: "img", "data-arrows": "", "data-part": k });
    drawing.setAttribute("aria-label", `${part.name}: ${part.verdict} ${this.summary(part)} Arrow keys go from bar to bar.`);
    shares[0].forEach((value, at) => {
      if (value) drawing.append(svg("rect", { class: "right", x: at * step + 0.5, width: Math.max(step - 1, 1), y: height - tall(value), height: tall(value) }));
    });
    const steps = shares[1].flatMap((value, at) => [[at * step, height - tall(value)], [(at + 1) * step, height - tall(value)]]);
    const outline = [[0, height], ...steps, [width, height]].map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
    drawing.append(svg("path", { class: "wrong", d: `M${outline}` }));
    const cursor = svg("rect", { class: "cursor", y: 0, height, width: step, visibility: "hidden" });
    drawing.append(cursor);
    const show = (at) => this.show(part, at, { cursor, step, told, shares });
    const place = (event) => clamp(Math.floor((event.clientX - drawing.getBoundingClientRect().left) / step), 0, count - 1);
    drawing.onpointermove = (event) => { if (!this.held) show(place(event)); };
    drawing.onpointerleave = () => { if (!this.held) show(null); };
    drawing.onclick = (event) => {
      const at = place(event), again = this.held?.part === k && this.held.at === at;
      this.held?.release();
      this.held = again ? null : { part: k, at, release: () => show(null) };
      show(again ? null : at);
    };
    drawing.onkeydown = (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") { this.held = null; show(this.at = null); }
      if (!way) return;
      event.preventDefault();
      this.at = clamp((this.at ?? (way > 0 ? -1 : count)) + way, 0, count - 1);
      show(this.at);
    };
    drawing.onblur = () => { if (!this.held) show(null); };
    return drawing;
  }

  show(part, at, { cursor, step, told, shares }) {
    cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at === null) {
      told.textContent = this.summary(part);
      return this.light(null);
    }
    cursor.setAttribute("x", at * step);
    const [low, high] = part.ends, wide = (high - low) / part.counts[0].length;
    const words = `Cost ${short(low + at * wide)} to ${short(low + (at + 1) * wide)}: ${percent(shares[0][at])} of the right and ${percent(shares[1][at])} of the wrong tuples`;
    told.textContent = `${words}.`;
    const tuples = [...part.tuples[1][at].map((one) => [false, one]), ...part.tuples[0][at].map((one) => [true, one])];
    this.light(tuples, words);
  }

  light(tuples, words) {
    if (this.tied?.board) showTuples(this.tied.board, tuples, words);
  }
}

export function separation({ parentElement, data }) {
  const root = parentElement.querySelector(".separation");
  root.separation ??= new Separation(root);
  const turn = (root.turn = (root.turn ?? 0) + 1);
  root.separation.update(data);
  return () => {
    if (root.turn === turn) { root.separation.close(); root.separation = null; }
  };
}
