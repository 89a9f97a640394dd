// The two-image canvas. One Board lives on its root element and outlives every update: `update` takes what Python
// sends, `draw` paints, and two things travel back: the points after an edit, and the pair that was picked.
// Every text is set with textContent or drawn, never parsed as markup. Python joins this file to the others
// of this folder: a Board is Pointing, which is Masking, which is Editing, which is Geometry.

const FEWEST = 12;              // lines that the slider leaves at least
const LINGERS = 1500;           // milliseconds that a board stays whose next update may be on its way
const memories = new Map();     // session and canvas -> view and undo steps: they survive a remount of the element


class Board extends Pointing {
  constructor(root) {
    super();
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
    this.masking = [
      group("Regions", button("Keep", "Drag a rectangle: points are looked for in it", () => this.leave(false)),
        button("Leave out", "Drag a rectangle: points are not looked for in it", () => this.leave(true))),
      group("Undo regions", button("back", "Undo (Ctrl+Z)", () => this.undoRegion()),
        button("Clear", "Remove all regions", () => this.clearRegions())),
      group("Done", button("Done", "Back to the pictures; with other regions they are matched again", () => this.send.trigger("regions", "done"))),
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
    this.fade = element("input", { type: "range", min: 0, max: 1, step: 0.01, ariaLabel: "From the right picture to the left one over it" });
    this.fade.oninput = () => { this.memory.fade = Number(this.fade.value); this.refresh(); };
    this.fading = element("div", { className: "sifting" }, "right", this.fade, "left");
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
      element("div", { className: "bar" }, this.status, element("div", { className: "sieves" }, this.fading, this.thinning, this.sifting),
        element("div", { className: "tools" }, ...this.editing, ...this.masking, zooming)),
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
    this.board.classList.toggle("staged", Boolean(data.stage));
    this.tied.board = this;
    this.takePoints(data, before);
    this.takeRegions(data);
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

  showAs(look) {                // "lines"; "points": partners have one colour, and no line joins them; "over": the pictures on each other
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

  refresh() {
    announce(this);
    this.draw();
    this.tied.matrix?.draw();
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.data || !this.canvas.clientWidth) return;
      this.layout();
      this.buttons.zoomOut.disabled = this.buttons.reset.disabled = this.memory.zoom <= 1;
      this.buttons.zoomIn.disabled = this.memory.zoom >= MOST_ZOOM;
      this.canvas.style.touchAction = this.memory.zoom > 1 || this.data.mode === "mask" ? "none" : "pan-y";
      paint(this);
    });
  }
}

export default function ({ parentElement, data, locate, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".pair-canvas");
  root.board ??= new Board(root);
  const turn = (root.turn = (root.turn ?? 0) + 1);
  root.board.update(data, locate, { state: setStateValue, trigger: setTriggerValue });
  // Also called for an update that is overtaken by a newer one, before it or after it, which takes some time: only the
  // last one ends the board, or the picture would be gone for as long.
  return () => setTimeout(() => {
    if (root.turn === turn && root.board) { root.board.close(); root.board = null; }
  }, LINGERS);
}
