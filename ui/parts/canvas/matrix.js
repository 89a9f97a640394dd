// The assignment matrix beside the picture, and what ties both to the curves: a cell lights its line, a line its cell,
// and the pointer over a curve shows that iteration in picture and matrix. Python joins this file to canvas.js.

const TRUE_PAIR = "#d55e00";
const MARGINS = { left: 30, right: 8, top: 4, bottom: 20 };
const instruments = new Map();  // session and canvas -> its board and its matrix

function instrument({ session, key }) {
  const name = `${session} ${key}`;
  if (!instruments.has(name)) instruments.set(name, { board: null, matrix: null });
  return instruments.get(name);
}

const unpack = ({ body }) => new Response(body.pipeThrough(new DecompressionStream("gzip"))).json();

class Matrix {
  constructor(root) {
    this.root = root;
    this.ends = new AbortController();
    this.title = element("div", { className: "title" });
    this.note = element("span", { className: "entry scale" });
    this.canvas = element("canvas", {});
    this.canvas.setAttribute("role", "img");
    this.tip = element("div", { className: "tip", hidden: true });
    this.tip.setAttribute("role", "tooltip");
    this.sheet = element("div", { className: "board matrix" }, element("style", { textContent: STYLE }),
      this.title, element("div", { className: "cells" }, this.canvas, this.note, this.tip));
    root.replaceChildren(this.sheet);
    const { signal } = this.ends;
    this.canvas.addEventListener("pointermove", (event) => this.hover(event), { signal });
    this.canvas.addEventListener("pointerleave", () => this.hover(null), { signal });
    this.canvas.addEventListener("click", (event) => this.choose(this.cellAt(event)), { signal });
    document.addEventListener("pointermove", (event) => this.follow(event), { signal });
    document.addEventListener("click", (event) => this.jump(event), { signal });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.canvas.parentElement);
  }

  close() {
    this.ends.abort();
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    if (this.tied?.matrix === this) this.tied.matrix = null;
    this.root.replaceChildren();
  }

  update(data, locate, send) {
    if (this.data?.frames !== data.frames) this.stored = null;
    Object.assign(this, { data, locate, send, previewed: null });
    this.tied = instrument(data);
    this.tied.matrix = this;
    this.place = new Map(data.order.map((j, column) => [j, column]));
    this.canvas.ariaLabel = data.shape[0]
      ? `Assignment matrix, ${data.shape[0]} left points downwards, ${data.shape[1]} right points to the right: ${data.title}`
      : "Assignment matrix";
    this.draw();
  }

  // ---------------------------------------------------------------- cells: which is where

  get box() {
    const { clientWidth: width, clientHeight: height } = this.canvas, [rows, columns] = this.data.shape;
    const inner = [width - MARGINS.left - MARGINS.right, height - MARGINS.top - MARGINS.bottom];
    return { width, height, inner, w: inner[0] / Math.max(columns, 1), h: inner[1] / Math.max(rows, 1) };
  }

  cellAt(event) {
    const frame = this.canvas.getBoundingClientRect(), { w, h } = this.box, [rows, columns] = this.data.shape;
    const column = Math.floor((event.clientX - frame.left - MARGINS.left) / w);
    const i = Math.floor((event.clientY - frame.top - MARGINS.top) / h);
    return i >= 0 && i < rows && column >= 0 && column < columns ? [i, this.data.order[column]] : null;
  }

  corner([i, j]) {
    const { w, h } = this.box;
    return [MARGINS.left + this.place.get(j) * w, MARGINS.top + i * h];
  }

  get cells() { return this.previewed?.cells ?? this.data.cells; }

  valueAt([i, j]) {
    const at = this.cells[0].indexOf(i * this.data.shape[1] + j);
    return at < 0 ? 0 : this.cells[1][at];
  }

  hover(event) {
    const cell = event && this.cellAt(event);
    this.tied.board?.light(cell);
    this.light(cell);
    this.tip.hidden = !cell;
    if (!cell) return;
    this.tip.textContent = `left ${cell[0]} → right ${cell[1]} · ${this.valueAt(cell).toFixed(3)}`;
    const { width } = this.box, [x, y] = this.corner(cell);
    this.tip.style.transform = `translate(${clamp(x - 60, 0, Math.max(width - this.tip.offsetWidth, 0))}px, ${y > 40 ? y - 32 : y + 14}px)`;
  }

  choose(cell) {
    const board = this.tied.board, line = cell && board?.lines.find((one) => one.i === cell[0] && one.j === cell[1]);
    if (line) board.choose(line);
  }

  light(cell) {
    if (String(this.lit) === String(cell ?? undefined)) return;
    this.lit = cell ?? undefined;
    this.draw();
  }

  // ---------------------------------------------------------------- the curves: an iteration under the pointer

  iterationAt(event) {
    const { curves } = this.data, chart = curves && event.target.closest?.(curves.charts.map((name) => `.st-key-${name}`).join());
    if (!chart) return null;
    const frame = (chart.querySelector("canvas") ?? chart).getBoundingClientRect(), inner = frame.width - curves.left - curves.right;
    const share = (event.clientX - frame.left - curves.left) / inner;
    return share < -0.02 || share > 1.02 ? null : clamp(Math.round(share * curves.last), 0, curves.last);
  }

  async follow(event) {
    const iteration = this.data?.frames ? this.iterationAt(event) : null;
    this.wanted = iteration;
    if (iteration === null) return this.previewed && this.preview(null);
    this.stored ??= fetch(this.locate(this.data.frames)).then(unpack).catch(() => []);
    const frames = await this.stored;
    if (this.wanted !== iteration || !frames.length) return;
    const found = frames.reduce((best, one) =>
      Math.abs(one.iteration - iteration) < Math.abs(best.iteration - iteration) ? one : best);
    if (found !== this.previewed) this.preview(found);
  }

  preview(frame) {
    this.previewed = frame;
    this.tied.board?.preview(frame);
    this.draw();
  }

  jump(event) {
    const iteration = this.data?.frames ? this.iterationAt(event) : null;
    if (iteration === null) return;
    this.wanted = null;
    this.preview(null);
    this.send.trigger("jump", iteration);
  }

  // ---------------------------------------------------------------- pixels

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.data && this.canvas.clientWidth && this.paint());
  }

  paint() {
    const { data, canvas } = this, context = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
    const { width, height, inner, w, h } = this.box, [rows, columns] = data.shape, look = getComputedStyle(this.sheet);
    const told = this.previewed ? `assignment matrix, iteration ${this.previewed.iteration}` : data.title;
    this.title.replaceChildren(element("b", { textContent: "Who goes with whom" }), ` ${told}`);
    this.note.replaceChildren(...(rows ? [
      ...(data.truth.length ? [swatch(TRUE_PAIR), word("true")] : []), word("0"), rampBar(), word("1")] : []));
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.strokeStyle = context.fillStyle = look.color;
    context.globalAlpha = 0.25;
    context.strokeRect(MARGINS.left - 0.5, MARGINS.top - 0.5, inner[0] + 1, inner[1] + 1);
    context.globalAlpha = 0.75;
    context.font = `11px ${look.fontFamily}`;
    context.fillText("right point →", MARGINS.left, height - 5);
    context.textAlign = "center";
    if (!rows) promise(context, [MARGINS.left + inner[0] / 2, MARGINS.top + inner[1] / 2]);
    context.save();
    context.translate(12, MARGINS.top + inner[1] / 2);
    context.rotate(-Math.PI / 2);
    context.fillText("← left point", 0, 0);
    context.restore();
    context.globalAlpha = 1;
    const paintCell = (cell, grow = 0) => {
      const [x, y] = this.corner(cell);
      return [x - grow, y - grow, Math.max(w, 1.2) + 2 * grow, Math.max(h, 1.2) + 2 * grow];
    };
    this.cells[0].forEach((k, at) => {
      context.globalAlpha = 0.15 + 0.85 * this.cells[1][at];
      context.fillStyle = ramp(this.cells[1][at]);
      context.fillRect(...paintCell([Math.floor(k / columns), k % columns]));
    });
    context.globalAlpha = 1;
    const outline = (cell, colour, thick, grow) => {
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.strokeRect(...paintCell(cell, grow));
    };
    if (Math.min(w, h) > 2) data.truth.forEach((k) => outline([Math.floor(k / columns), k % columns], TRUE_PAIR, 1.1, 0));
    const picked = this.tied.board?.memory.pick;
    if (picked && this.place.has(picked[1])) outline(picked, look.color, 2, 2.5);
    if (this.lit && this.place.has(this.lit[1])) outline(this.lit, look.color, 2, 1.5);
  }
}

function promise(context, [x, y]) {  // what will be there
  context.font = context.font.replace("11px", "13px");
  ["A row for each left point,", "a column for each right one:", "bright where they belong together."]
    .forEach((words, k) => context.fillText(words, x, y + 18 * (k - 1) + 4));
  context.font = context.font.replace("13px", "11px");
}

const word = (text) => element("span", { textContent: text });

function swatch(colour) {
  const made = element("span", { className: "swatch" });
  made.style.borderColor = colour;
  return made;
}

function rampBar() {
  const bar = element("span", { className: "ramp" });
  bar.style.background = `linear-gradient(to right, ${RAMP.map((_, k) => ramp(k / (RAMP.length - 1))).join(",")})`;
  return bar;
}

export function matrix({ parentElement, data, locate, setTriggerValue }) {
  const root = parentElement.querySelector(".matrix-canvas");
  root.matrix ??= new Matrix(root);
  const turn = (root.turn = (root.turn ?? 0) + 1);
  root.matrix.update(data, locate, { trigger: setTriggerValue });
  return () => setTimeout(() => {
    if (root.turn === turn && root.matrix) { root.matrix.close(); root.matrix = null; }
  }, LINGERS);
}
