// The two-image canvas. One Board lives on its root element and outlives every update: `update` takes what Python
// sends, `draw` paints, and two things travel back: the points after an edit, and the pair that was picked.
// Every text is set with textContent or drawn, never parsed as markup. Python joins this file to paint.js.

const NARROW = 480;             // below this width (CSS pixels) the images are stacked
const MOST_ZOOM = 40;
const AROUND = 360;             // pixels of the window that are not the picture's: bars above and below it
const SEAM = 4;                 // pixels between the halves of a stage
const AIR = 0.03;               // of a picture, around its points: a stage cuts it no further
const FEWEST = 12;              // lines that the slider leaves at least
const GAP = 0.015;              // between the images, as a share of the picture
const UNDO_STEPS = 200;
const memories = new Map();     // session and canvas -> view and undo steps: they survive a remount of the element

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const round = (value) => Math.round(value * 100) / 100;

class Board {
  constructor(root) {
    this.root = root;
    this.ends = new AbortController();
    this.images = [null, null];
    this.pointers = new Map();
    this.hover = this.cursor = this.gesture = null;
    this.chosen = null;         // the selected point in edit mode: [side, index]
    this.linking = null;        // the point whose partner is asked for
    this.lastScroll = -Infinity;
    this.build();
    this.listen();
  }

  // ---------------------------------------------------------------- the elements

  build() {
    const button = (name, label, action) => {
      const made = element("button", { type: "button", title: label, ariaLabel: label, onclick: action });
      made.append(ICONS[name] ? icon(ICONS[name]) : name);
      return (this.buttons[name] = made);
    };
    const group = (label, ...buttons) => {
      const made = element("div", { className: "group", ariaLabel: label }, ...buttons);
      made.setAttribute("role", "group");
      return made;
    };
    this.buttons = {};
    this.status = element("div", { className: "status", ariaLive: "polite" });
    this.status.setAttribute("role", "status");
    this.editing = [
      group("Undo and redo", button("undo", "Undo (Ctrl+Z)", () => this.travel(-1)),
        button("redo", "Redo (Ctrl+Y)", () => this.travel(1))),
      group("Remove points", button("remove", "Delete the selected point (Delete)", () => this.removePoint(this.chosen)),
        button("Clear left", "Remove all points of the left image", () => this.clear(0)),
        button("Clear right", "Remove all points of the right image", () => this.clear(1))),
      group("Truth", button("Partner", "Say which point is the partner of the selected one (t)", () => this.link())),
    ];
    this.least = element("input", { type: "range", min: 0, max: 1, step: 0.01, ariaLabel: "Least strength of a line" });
    this.least.oninput = () => { this.memory.least = Number(this.least.value); this.sift(); this.refresh(); };
    this.leastText = element("span");
    this.sifting = element("label", { className: "sifting" }, this.leastText, this.least);
    this.howMany = element("input", { type: "range", min: FEWEST, step: 1, ariaLabel: "How many lines are drawn" });
    this.howMany.oninput = () => { Object.assign(this.memory, { many: Number(this.howMany.value), all: false }); this.sift(); this.refresh(); };
    this.manyText = element("span");
    this.thinning = element("div", { className: "sifting" }, this.manyText, this.howMany,
      group("How many lines", button("All lines", "Draw every line", () => this.showAll())));
    const zooming = group("Zoom", button("zoomIn", "Zoom in (+)", () => this.zoom(1.5)),
      button("zoomOut", "Zoom out (−)", () => this.zoom(1 / 1.5)),
      button("reset", "Reset view (0)", () => this.resetView()), button("copy", "Copy the picture", () => this.copy()));
    this.canvas = element("canvas", { tabIndex: 0 });
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "image pair");
    this.context = this.canvas.getContext("2d");
    this.tip = element("div", { className: "tip", hidden: true });
    this.tip.setAttribute("role", "tooltip");
    this.legend = element("div", { className: "legend" });
    this.board = element("div", { className: "board" }, element("style", { textContent: STYLE }),
      element("div", { className: "bar" }, this.status, element("div", { className: "sieves" }, this.thinning, this.sifting),
        element("div", { className: "tools" }, ...this.editing, zooming)),
      (this.stage = element("div", { className: "stage" }, this.canvas, this.tip)), this.legend);
    this.root.replaceChildren(element("div", { className: "pair" }, this.board));
  }

  listen() {
    const { canvas, ends: { signal } } = this;
    const on = (type, action, options) => canvas.addEventListener(type, action.bind(this), { signal, ...options });
    on("pointerdown", this.press);
    on("pointermove", this.move);
    on("pointerup", this.release);
    on("pointercancel", this.cancel);
    on("pointerleave", () => this.setHover(null));
    on("dblclick", () => this.data.mode === "view" && this.resetView());
    on("wheel", this.wheel, { passive: false });
    on("keydown", this.key);
    on("keyup", () => this.finishNudge());
    on("blur", () => this.finishNudge());
    on("contextmenu", (event) => {
      const point = this.data.mode === "edit" && event.pointerType !== "touch" && this.pointAt(...this.place(event));
      if (point) { event.preventDefault(); this.cancel(event); this.removePoint(point); }
    });
    // A finger on a point drags it; elsewhere an unzoomed canvas lets the page scroll.
    on("touchstart", (event) => {
      if (this.data.mode === "edit" && this.pointAt(...this.place(event.touches[0]), 18)) event.preventDefault();
    }, { passive: false });
    const scrolled = () => { this.lastScroll = performance.now(); };
    document.addEventListener("scroll", scrolled, { signal, capture: true, passive: true });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.board);
  }

  close() {
    this.ends.abort();
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    if (this.tied?.board === this) this.tied.board = null;
    this.root.replaceChildren();
  }

  // ---------------------------------------------------------------- what Python sends

  update(data, locate, send) {
    const before = this.data;
    const key = `${data.session} ${data.key}`;
    const blank = { zoom: 1, centre: [0.5, 0.5], past: [], future: [], revision: 0, serial: 0 };
    if (!memories.has(key)) memories.set(key, blank);
    this.memory = memories.get(key);
    Object.assign(this, { data, locate, send, hover: null, previewed: null, tied: instrument(data) });
    this.tied.board = this;
    this.takePoints(data, before);
    this.takeLines(data.lines);
    if (data.serial >= this.memory.serial) Object.assign(this.memory, { serial: data.serial, pick: data.pick });
    this.sift();
    data.sides.forEach((side, k) => this.loadImage(k, side.src));
    const shape = JSON.stringify(this.boxes);
    if (this.memory.shape !== shape) Object.assign(this.memory, { shape, zoom: 1, centre: [0.5, 0.5] });
    this.refresh();
    this.setHover(this.cursor);                          // the line under a resting pointer may have changed
  }

  takeLines({ i: lefts, j, kind, value, text }) {
    this.lines = lefts.map((i, k) => ({ index: k, i, j: j[k], kind: kind[k], value: value[k], text: text[k] }))
      .filter((line) => this.points[0][line.i] && this.points[1][line.j]);
  }

  preview(frame) {              // another iteration of the run, while the pointer is over the curves
    this.previewed = frame;
    this.takeLines(frame ? frame.lines : this.data.lines);
    this.hover = null;
    this.sift();
    this.refresh();
  }

  light(pair) {                 // the line of a cell of the matrix; one that is not drawn is, as long as it is asked for
    const line = pair && this.points[0][pair[0]] && this.points[1][pair[1]]
      ? this.lines.find((one) => one.i === pair[0] && one.j === pair[1])
        ?? { index: -1, i: pair[0], j: pair[1], kind: this.data.candidate, value: 0, text: "" } : null;
    this.hover = line ? { point: null, line } : null;
    this.draw();
  }

  sift() {                      // which lines are drawn: of the kinds asked for, the strong enough, and some of many
    const { least = 0, all = false, many, only = null } = this.memory, { sift, most, final, missed } = this.data;
    const wanted = (line) => (only === null ? !(final && line.kind === missed) : line.kind === only);
    this.wanted = this.lines.filter((line) => wanted(line) && !(sift && line.value < least));
    this.many = this.wanted.length > most;
    const thinned = this.many && !all;
    this.shown = thinned ? spread(this, this.wanted, Math.min(many ?? most, this.wanted.length)) : this.wanted;
    const pick = thinned && this.selected;
    if (pick && !this.shown.includes(pick)) this.shown.push(pick);
  }

  showAll() {
    this.memory.all = !this.memory.all;
    this.sift();
    this.refresh();
  }

  showOnly(kind) {              // one kind of lines, or all of them again
    this.memory.only = this.memory.only === kind ? null : kind;
    this.sift();
    this.refresh();
  }

  showAs(look) {                // "lines", or "points": partners have one colour, and no line joins them
    this.memory.look = look;
    this.refresh();
  }

  takePoints(data, before) {
    const memory = this.memory, edit = data.mode === "edit", known = edit && memory.start === data.start;
    if (edit && !known) Object.assign(memory, { start: data.start, past: [], future: [], revision: 0 });
    if (!known || before?.mode !== data.mode) this.gesture = this.settled = this.chosen = this.linking = null;
    // An answer older than the last edit made here is about to be replaced: keep what the user sees.
    if (known && this.points && data.revision < memory.revision) return;
    if (edit) memory.revision = data.revision;
    if (!this.settled) this.points = data.sides.map((side) => side.points);
    this.partners = data.partners;
    // A sheet without image is sized by its points; it must not jump while they are being edited.
    if (!known || !this.boxes) this.boxes = data.sides.map((side) => side.box);
    if (this.chosen && !this.points[this.chosen[0]][this.chosen[1]]) this.chosen = null;
  }

  loadImage(k, address) {
    if (this.images[k]?.address === address) return;
    const image = { address, pixels: null };
    this.images[k] = image;
    if (!address) return;
    const pixels = new Image();
    pixels.onload = () => { image.pixels = pixels; this.draw(); };
    pixels.onerror = () => { image.failed = true; this.draw(); };
    pixels.src = this.locate(address);
  }

  // ---------------------------------------------------------------- edits and picks: what travels back

  commit(points, partners = this.partners) {
    const memory = this.memory;
    memory.past = [...memory.past.slice(1 - UNDO_STEPS), { points: this.settled ?? this.points, partners: this.partners }];
    memory.future = [];
    this.linking = null;
    this.sendPoints(points, partners);
  }

  travel(direction) {
    const [from, to] = direction < 0 ? [this.memory.past, this.memory.future] : [this.memory.future, this.memory.past];
    if (!from.length) return;
    to.push({ points: this.points, partners: this.partners });
    this.chosen = this.linking = null;
    const { points, partners } = from.pop();
    this.sendPoints(points, partners);
  }

  sendPoints(points, partners) {
    Object.assign(this, { points, partners, settled: null, hover: null });
    this.lines = this.lines.filter((line) => points[0][line.i] && points[1][line.j]);
    this.sift();
    const revision = (this.memory.revision += 1);
    this.send.state("points", { left: points[0], right: points[1], partners, revision, start: this.data.start });
    this.refresh();
  }

  edited(side, change) { return this.points.map((points, k) => (k === side ? change(points) : points)); }

  addPoint(side, point) {
    const asked = this.linking?.[0] === 1 - side ? this.linking : null;
    this.chosen = [side, this.points[side].length];
    const partners = asked ? paired(this.partners, asked, this.chosen) : this.partners;
    this.commit(this.edited(side, (points) => [...points, point.map(round)]), partners);
  }

  link() {                      // first the one, then the other; the same point twice: it has no partner
    const [from, to] = [this.linking, this.chosen];
    if (!to) return;
    if (from && from[0] !== to[0]) return this.commit(this.points, paired(this.partners, from, to));
    if (String(from) === String(to)) return this.commit(this.points, single(this.partners, to));
    this.linking = to;
    this.refresh();
  }

  removePoint(which) {
    if (!which) return;
    this.chosen = null;
    this.setHover(null);
    this.commit(this.edited(which[0], (points) => points.filter((_, k) => k !== which[1])),
      withoutPoint(this.partners, which));
  }

  movePoint([side, index], place) {              // shown now, sent when the pointer or the key is let go
    this.settled ??= this.points;
    const [left, top, width, height] = this.boxes[side];
    const kept = [round(clamp(place[0], left, left + width)), round(clamp(place[1], top, top + height))];
    this.points = this.edited(side, (points) => points.map((point, k) => (k === index ? [...kept, ...point.slice(2)] : point)));
    this.draw();
  }

  finishNudge() { if (this.settled && !this.gesture) this.commit(this.points); }

  clear(side) {
    this.chosen = null;
    this.commit(this.edited(side, () => []), []);
  }

  choose(line) {
    const pair = line ? [line.i, line.j] : null;
    if (!pair && !this.memory.pick) return;
    this.memory.pick = pair;
    this.memory.serial += 1;
    this.send.trigger("pick", { pair, index: line ? line.index : -1, serial: this.memory.serial });
    this.refresh();
  }

  get selected() {
    const pick = this.memory.pick;
    return (pick && this.lines.find((line) => line.i === pick[0] && line.j === pick[1])) ?? null;
  }

  // ---------------------------------------------------------------- geometry: image pixels -> picture -> screen

  layout() {
    if (this.data.stage) return this.layOnStage(this.stage.clientWidth || 1, this.stage.clientHeight || 1);
    const width = this.canvas.clientWidth || 1, narrow = width < NARROW;
    const room = Math.max(window.innerHeight - AROUND, 200);
    const most = narrow ? Math.max(this.data.height, 1.6 * width) : Math.min(this.data.height, room);
    // Beside each other with equal heights or, on a phone if they are larger so, stacked with equal widths.
    const sized = (stacked) => {
      const across = stacked ? 2 : 3, along = stacked ? 3 : 2, boxes = this.boxes;
      const common = Math.max(boxes[0][across], boxes[1][across]), scales = boxes.map((box) => common / box[across]);
      const lengths = boxes.map((box, k) => box[along] * scales[k]), gap = GAP * (lengths[0] + lengths[1]);
      const total = lengths[0] + gap + lengths[1], size = stacked ? [common, total] : [total, common];
      return { stacked, scales, lengths, gap, size, scale: Math.min(width / size[0], most / size[1]) * scales[0] };
    };
    const beside = sized(false), below = sized(true);
    const { stacked, scales, lengths, gap, size } = narrow && below.scale > beside.scale ? below : beside;
    const height = Math.max(Math.min((width * size[1]) / size[0], most), 160);
    const fit = Math.min(width / size[0], height / size[1]), second = lengths[0] + gap;
    const offsets = [[0, 0], stacked ? [0, second] : [second, 0]];
    Object.assign(this, { width, height, stacked, scales, offsets, size, fit, halves: null });
  }

  // A stage has a fixed size. Each picture gets one half of it and fills that as far as no point is cut off; the halves
  // lie side by side or above each other, whichever shows more of the pictures.
  layOnStage(width, height) {
    const arranged = (stacked) => {
      const w = stacked ? width : (width - SEAM) / 2, h = stacked ? (height - SEAM) / 2 : height;
      const halves = [[0, 0, w, h], stacked ? [0, h + SEAM, w, h] : [w + SEAM, 0, w, h]];
      const placed = this.boxes.map((box, side) => filling(box, halves[side], this.kept(side)));
      return { stacked, halves, placed, area: placed.reduce((sum, one) => sum + one.area, 0) };
    };
    const beside = arranged(false), below = arranged(true);
    const { stacked, halves, placed, area } = below.area > beside.area ? below : beside;
    Object.assign(this, { width, height, stacked, halves, area, size: [width, height], fit: 1,
      scales: placed.map((one) => one.scale), offsets: placed.map((one) => one.offset) });
  }

  kept(side) {                  // what a stage must show of a picture: its points; all of it where they are edited
    const box = this.boxes[side], [left, top, width, height] = box, points = this.points[side];
    if (this.data.mode === "edit" || !this.data.sides[side].src) return box;
    if (!points.length) return [left + width / 2, top + height / 2, 0, 0];
    const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
    const ends = (values, low, length) => [Math.max(low, Math.min(...values) - AIR * length),
      Math.min(low + length, Math.max(...values) + AIR * length)];
    const [x0, x1] = ends(xs, left, width), [y0, y1] = ends(ys, top, height);
    return [x0, y0, Math.max(x1 - x0, 0), Math.max(y1 - y0, 0)];
  }

  get pixelsPerUnit() { return this.fit * this.memory.zoom; }

  toScreen(side, [x, y]) {
    const box = this.boxes[side], unit = this.pixelsPerUnit, [cx, cy] = this.memory.centre;
    return [
      ((x - box[0]) * this.scales[side] + this.offsets[side][0] - cx * this.size[0]) * unit + this.width / 2,
      ((y - box[1]) * this.scales[side] + this.offsets[side][1] - cy * this.size[1]) * unit + this.height / 2,
    ];
  }

  toImage(side, px, py) {
    const box = this.boxes[side], unit = this.pixelsPerUnit, [cx, cy] = this.memory.centre;
    return [
      ((px - this.width / 2) / unit + cx * this.size[0] - this.offsets[side][0]) / this.scales[side] + box[0],
      ((py - this.height / 2) / unit + cy * this.size[1] - this.offsets[side][1]) / this.scales[side] + box[1],
    ];
  }

  halfOnScreen(side) {          // left, top, width and height of a stage's half
    const [x, y, w, h] = this.halves[side], zoom = this.pixelsPerUnit, [cx, cy] = this.memory.centre;
    return [(x - cx * this.size[0]) * zoom + this.width / 2, (y - cy * this.size[1]) * zoom + this.height / 2, w * zoom, h * zoom];
  }

  sideAt(px, py) {
    return this.boxes.findIndex(([left, top, width, height], side) => {
      const [x, y] = this.toImage(side, px, py);
      const [hx, hy, hw, hh] = this.halves ? this.halfOnScreen(side) : [-Infinity, -Infinity, Infinity, Infinity];
      if (px < hx || py < hy || px > hx + hw || py > hy + hh) return false;
      return x >= left && x <= left + width && y >= top && y <= top + height;
    });
  }

  pointAt(px, py, reach = 9) {
    let best = null;
    this.points.forEach((points, side) => points.forEach((point, k) => {
      const [x, y] = this.toScreen(side, point), far = Math.hypot(x - px, y - py);
      if (far <= reach) { reach = far; best = [side, k]; }
    }));
    return best;
  }

  lineAt(px, py, reach = 7) {
    let best = null;
    for (const line of this.shown) {
      const far = distanceToSegment(px, py, ...this.endsOf(line));
      if (far < reach) { reach = far; best = line; }
    }
    return best;
  }

  endsOf(line) { return [this.toScreen(0, this.points[0][line.i]), this.toScreen(1, this.points[1][line.j])]; }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const memory = this.memory, before = this.pixelsPerUnit;
    memory.zoom = clamp(memory.zoom * factor, 1, MOST_ZOOM);
    const shift = 1 / before - 1 / this.pixelsPerUnit;           // the place under the pointer stays there
    this.pan([(px - this.width / 2) * shift, (py - this.height / 2) * shift]);
  }

  pan([dx, dy]) {                                                // in units of the picture
    const memory = this.memory;
    memory.centre = memory.zoom <= 1 ? [0.5, 0.5]
      : [clamp(memory.centre[0] + dx / this.size[0], 0, 1), clamp(memory.centre[1] + dy / this.size[1], 0, 1)];
    this.draw();
  }

  slide(from, to) { this.pan([(from[0] - to[0]) / this.pixelsPerUnit, (from[1] - to[1]) / this.pixelsPerUnit]); }

  resetView() { this.zoom(0); }

  copy() {                      // the picture as it is seen, into the clipboard; the browser may refuse
    const blob = new Promise((done) => this.canvas.toBlob(done, "image/png"));
    const told = (words) => { this.buttons.copy.title = this.buttons.copy.ariaLabel = words; };
    return navigator.clipboard.write([new ClipboardItem({ "image/png": blob })])
      .then(() => told("Copied"), () => told("The browser does not let the page copy: save it from Export and share"));
  }

  // ---------------------------------------------------------------- pointer and keyboard

  place(event) {
    const frame = this.canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  press(event) {
    if (event.button) return;
    const at = this.place(event), reach = event.pointerType === "touch" ? 18 : 9;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, at);
    const point = this.data.mode === "edit" && this.pointers.size === 1 ? this.pointAt(...at, reach) : null;
    if (this.pointers.size > 1) this.cancel();                   // a second finger: pinch, and no click at its end
    this.gesture = { start: at, point, moved: this.pointers.size > 1 };
    if (point) { this.chosen = point; this.refresh(); }
  }

  move(event) {
    const at = this.place(event), gesture = this.gesture, before = this.pointers.get(event.pointerId);
    if (!before) return this.setHover(at);
    this.pointers.set(event.pointerId, at);
    if (!gesture) return;
    if (this.pointers.size === 2) {
      const other = [...this.pointers.values()].find((one) => one !== at);
      const far = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
      const middle = (a) => [(a[0] + other[0]) / 2, (a[1] + other[1]) / 2];
      this.zoom(far(at) / far(before), ...middle(before));
      return this.slide(middle(before), middle(at));
    }
    const from = gesture.moved ? before : gesture.start;
    gesture.moved ||= Math.hypot(at[0] - from[0], at[1] - from[1]) > 3;
    if (!gesture.moved) return;
    this.canvas.classList.add("moving");
    this.setHover(null);
    if (gesture.point) this.movePoint(gesture.point, this.toImage(gesture.point[0], ...at));
    else this.slide(from, at);
  }

  release(event) {
    const gesture = this.gesture, at = this.place(event);
    if (!this.pointers.delete(event.pointerId) || !gesture) return;
    this.canvas.classList.remove("moving");
    if (this.pointers.size) return;
    this.gesture = null;
    if (gesture.moved) return this.finishNudge();
    if (this.data.mode === "view") return this.choose(this.lineAt(...at, event.pointerType === "touch" ? 14 : 7));
    if (this.linking && gesture.point && gesture.point[0] !== this.linking[0]) return this.link();
    const side = this.sideAt(...at);
    if (!gesture.point && side >= 0) this.addPoint(side, this.toImage(side, ...at));
  }

  cancel(event) {                                                // the browser took the pointer over: undo the drag
    if (event) this.pointers.delete(event.pointerId);
    if (this.gesture?.point && this.settled) this.points = this.settled;
    this.gesture = this.settled = null;
    this.canvas.classList.remove("moving");
    this.draw();
  }

  wheel(event) {
    const scrolling = performance.now() - this.lastScroll < 400; // the page is being scrolled past: let it
    const idle = event.deltaY > 0 && this.memory.zoom <= 1;      // nothing to zoom out of: scroll the page
    if (!event.ctrlKey && (scrolling || idle)) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1);
    this.zoom(Math.exp(-clamp(pixels, -240, 240) * (event.ctrlKey ? 0.01 : 0.002)), ...this.place(event));
    this.setHover(this.place(event));
  }

  key(event) {
    const edit = this.data.mode === "edit", step = event.shiftKey ? 10 : 1, command = event.ctrlKey || event.metaKey;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const letter = event.key.toLowerCase();
    const remove = () => this.removePoint(this.chosen);
    const editing = { a: () => this.addAtCentre(), t: () => this.link(), delete: remove, backspace: remove };
    const always = {
      "+": () => this.zoom(1.5), "=": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5), "0": () => this.resetView(),
      n: () => this.next(1), p: () => this.next(-1), escape: () => this.letGo(),
    };
    const action = command
      ? edit && { z: () => this.travel(event.shiftKey ? 1 : -1), y: () => this.travel(1) }[letter]
      : arrow ? () => this.arrow(arrow, step) : always[letter] ?? (edit && editing[letter]);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();                                     // Streamlit has shortcuts of its own
    action();
  }

  letGo() { this.chosen = this.linking = null; this.choose(null); this.refresh(); }

  arrow([dx, dy], step) {
    if (this.data.mode === "edit" && this.chosen) {
      const [x, y] = this.points[this.chosen[0]][this.chosen[1]];
      return this.movePoint(this.chosen, [x + dx * step, y + dy * step]);
    }
    this.slide([dx * step * 30, dy * step * 30], [0, 0]);
  }

  next(direction) {                                              // walk through the lines, or through the points
    const view = this.data.mode === "view";
    const all = view ? this.shown : this.points.flatMap((points, side) => points.map((_, k) => [side, k]));
    if (!all.length) return;
    const now = all.findIndex((item) => (view ? item === this.selected : String(item) === String(this.chosen)));
    const item = all[now < 0 && direction < 0 ? all.length - 1 : (now + direction + all.length) % all.length];
    if (view) return this.choose(item);
    this.chosen = item;
    this.refresh();
  }

  addAtCentre() {
    const side = Math.max(this.sideAt(this.width / 2, this.height / 2), this.chosen?.[0] ?? 0);
    const [left, top, width, height] = this.boxes[side];
    this.addPoint(side, [left + width / 2, top + height / 2]);
  }

  setHover(at) {
    this.cursor = at;
    if (at && this.gesture) return;
    const point = at && this.pointAt(...at), line = at && !point ? this.lineAt(...at) : null;
    const same = this.hover?.line === line && String(this.hover?.point) === String(point);
    this.hover = point || line ? { point, line } : null;
    this.canvas.classList.toggle("over", Boolean(line || (point && this.data.mode === "edit")));
    this.tip.hidden = !this.hover || (line !== null && line === this.selected);      // the status line tells it already
    if (this.hover) {
      this.tip.textContent = line ? lineText(line) : pointText(this, point);
      const x = at[0] + 14 + this.tip.offsetWidth > this.width ? at[0] - 12 - this.tip.offsetWidth : at[0] + 14;
      const y = at[1] + 18 + this.tip.offsetHeight > this.height ? at[1] - 10 - this.tip.offsetHeight : at[1] + 18;
      this.tip.style.transform = `translate(${Math.max(x, 2)}px, ${Math.max(y, 2)}px)`;
    }
    if (same) return;
    this.tied.matrix?.light(line && [line.i, line.j]);
    this.draw();
  }

  refresh() {
    announce(this);
    this.draw();
    this.tied.matrix?.draw();
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.data || !this.canvas.clientWidth) return;
      this.board.classList.toggle("staged", Boolean(this.data.stage));
      this.layout();
      this.buttons.zoomOut.disabled = this.buttons.reset.disabled = this.memory.zoom <= 1;
      this.buttons.zoomIn.disabled = this.memory.zoom >= MOST_ZOOM;
      this.canvas.style.touchAction = this.memory.zoom > 1 ? "none" : "pan-y";
      paint(this);
    });
  }
}

export default function ({ parentElement, data, locate, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".pair-canvas");
  root.board ??= new Board(root);
  const turn = (root.turn = (root.turn ?? 0) + 1);
  root.board.update(data, locate, { state: setStateValue, trigger: setTriggerValue });
  return () => {                // also called for an update that was overtaken by a newer one: only the last one ends it
    if (root.turn === turn) { root.board.close(); root.board = null; }
  };
}
