// Several images on one canvas, with the points that belong together, and the table of all pairs of views beside it.
// A ViewsBoard lives on its root element: `update` takes what Python sends, `draw` paints, a click on a point goes back.
// Python joins this file to the others of this folder.

const TRACKS = [                // told apart on photographs; beyond them colours repeat, and the pointer tells tracks apart
  "#56b4e9", "#e69f00", "#2fc79b", "#f0e442", "#cc79a7", "#ff8a45", "#9fd356", "#b39ddb", "#4dd0e1", "#ef9a9a", "#ffe0b2", "#90caf9",
];
const SPACE = 8, NEAR = 12;       // pixels between two images, and from the pointer to a point

function tiles(boxes, width, height, ring) {   // where every image goes: as large as they can be
  const shape = boxes.reduce((sum, box) => sum + box[2] / box[3], 0) / boxes.length, count = boxes.length;
  if (ring) return around(count, shape, width, height);
  let best = null;
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns), w = (width - SPACE * (columns - 1)) / columns, h = (height - SPACE * (rows - 1)) / rows;
    const size = Math.min(w, h * shape);
    if (!best || size > best.size) best = { size, columns, rows, w, h };
  }
  return boxes.map((_, k) => {
    const row = Math.floor(k / best.columns), inRow = Math.min(best.columns, count - row * best.columns);
    const shift = (best.columns - inRow) * (best.w + SPACE) / 2;        // a last row with fewer images stands in the middle
    return [shift + (k % best.columns) * (best.w + SPACE), row * (best.h + SPACE), best.w, best.h];
  });
}

function around(count, shape, width, height) { // on an ellipse, clockwise from the top, as large as they do not overlap
  for (let share = 1; share > 0.05; share *= 0.96) {
    const w = Math.min(width, height * shape) * share, h = w / shape;
    if (h > height) continue;
    const placed = Array.from({ length: count }, (_, k) => {
      const angle = 2 * Math.PI * k / count - Math.PI / 2;
      return [(width - w) / 2 * (1 + Math.cos(angle)), (height - h) / 2 * (1 + Math.sin(angle)), w, h];
    });
    const apart = (a, b) => Math.abs(a[0] - b[0]) >= w + SPACE || Math.abs(a[1] - b[1]) >= h + SPACE;
    if (placed.every((a, k) => placed.slice(k + 1).every((b) => apart(a, b)))) return placed;
  }
  return tiles(Array.from({ length: count }, () => [0, 0, shape, 1]), width, height, false);
}

class ViewsBoard {
  constructor(root) {
    this.root = root;
    this.views = [];
    this.hover = null;
    this.canvas = element("canvas", { tabIndex: 0 });
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "several views");
    this.context = this.canvas.getContext("2d");
    this.tip = element("div", { className: "tip", hidden: true });
    this.legend = element("div", { className: "legend" });
    this.told = element("div", { className: "status", ariaLive: "polite" });
    const looks = ["Film", "Ring"].map((name) => element("button", { type: "button", textContent: name, onclick: () => this.arrange(name) }));
    this.looks = looks;
    const group = element("div", { className: "group", ariaLabel: "Arrangement" }, ...looks);
    group.setAttribute("role", "group");
    this.board = element("div", { className: "board staged" }, element("style", { textContent: STYLE }),
      element("div", { className: "bar" }, this.told, element("div", { className: "tools" }, group)),
      element("div", { className: "stage" }, this.canvas, this.tip), this.legend);
    root.replaceChildren(element("div", { className: "pair" }, this.board));
    this.canvas.onpointermove = (event) => this.point(this.at(event), event);
    this.canvas.onpointerleave = () => this.point(null);
    this.canvas.onclick = (event) => { const found = this.at(event); if (found || this.data.pick) this.pick(found); };
    this.canvas.onkeydown = (event) => this.key(event);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.board);
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    this.root.replaceChildren();
  }

  async update(data, locate, trigger) {
    Object.assign(this, { data, trigger });
    this.ring ??= false;
    this.canvas.ariaLabel = data.label;
    this.legend.replaceChildren(...data.legend.map(([kind, words]) => this.entry(kind, words)));
    if (data.sheet && this.sheet !== data.sheet) {
      this.sheet = data.sheet;
      this.views = await (await fetch(locate(data.sheet))).json();
      if (this.sheet !== data.sheet) return;     // overtaken by other views
      for (const view of this.views) {
        if (!view.src) continue;
        const pixels = new Image();
        pixels.onload = () => { view.pixels = pixels; this.draw(); };
        pixels.src = locate(view.src);
      }
    }
    if (this.hover) this.tip.textContent = this.words(...this.hover);
    this.draw();
  }

  entry(kind, words) {
    const dot = element("i", { className: "swatch" }), colour = this.data.looks[kind];
    if (colour) Object.assign(dot.style, { background: colour, borderColor: colour });
    return element("span", { className: "entry" }, ...(colour ? [dot] : []), element("span", { textContent: words }));
  }

  arrange(name) {
    this.ring = name === "Ring";
    this.draw();
  }

  // ---------------------------------------------------------------- where things are

  place(i, p) {                 // a point on the canvas
    const view = this.views[i], [left, top, scale] = view.fit, [x, y] = view.points[p];
    return [left + (x - view.box[0]) * scale, top + (y - view.box[1]) * scale];
  }

  at(event) {                   // the nearest point, if the pointer is near one
    const { left, top } = this.canvas.getBoundingClientRect(), x = event.clientX - left, y = event.clientY - top;
    let best = null, least = NEAR ** 2;
    this.views.forEach((view, i) => view.fit && view.points.forEach((_, p) => {
      const [px, py] = this.place(i, p), far = (px - x) ** 2 + (py - y) ** 2;
      if (far < least) [best, least] = [[i, p], far];
    }));
    return best;
  }

  track(i, p) { return this.data.marks[i]?.[p] ?? -1; }

  mates(i, p) {                 // the points of the same track; of pairs alone only the point itself
    const { marks, tracks } = this.data, mine = this.track(i, p);
    if (!tracks || mine < 0) return [[i, p]];
    return marks.flatMap((view, k) => view.flatMap((one, q) => (one === mine ? [[k, q]] : [])));
  }

  point(found, event) {
    const same = found && this.hover && found[0] === this.hover[0] && found[1] === this.hover[1];
    if (!same) { this.hover = found; this.draw(); }
    this.canvas.classList.toggle("over", Boolean(found));
    this.tip.hidden = !found;
    if (!found) return;
    this.tip.textContent = this.words(...found);
    const { left, top, width } = this.canvas.getBoundingClientRect();
    const x = clamp(event.clientX - left + 14, 0, Math.max(width - 180, 0));
    this.tip.style.transform = `translate(${x}px, ${event.clientY - top + 14}px)`;
  }

  words(i, p) {
    const view = this.views[i], { tracks, ways } = this.data, head = `${view.name}, point ${p}`;
    if (tracks) {
      const seen = this.mates(i, p).length;
      return `${head}\n${this.track(i, p) < 0 ? "no partner in any view" : `track ${this.track(i, p)}, in ${seen} of ${this.views.length} views`}`;
    }
    const [back, astray] = ways?.[i]?.[p] ?? [0, 0];
    return `${head}\n${back + astray ? `${back} ways over two other views come back, ${astray} end elsewhere` : "no way over two other views comes back"}`;
  }

  pick(found) { this.trigger("pick", found ?? []); }

  key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") return this.pick(null);
    if (event.key === "Enter" && this.hover) return this.pick(this.hover);
    if (!step || !this.views.length) return;
    event.preventDefault();
    const all = this.views.flatMap((view, i) => view.points.map((_, p) => [i, p]));
    const now = this.hover ?? this.data.pick, k = now ? all.findIndex(([i, p]) => i === now[0] && p === now[1]) : -1;
    this.hover = all[(k + step + all.length) % all.length];
    this.told.textContent = this.words(...this.hover);
    this.draw();
  }

  // ---------------------------------------------------------------- painting

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.data && this.canvas.clientWidth && this.paint());
  }

  paint() {
    const { canvas, context, views } = this, ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.looks.forEach((button, k) => { button.ariaPressed = String(Boolean(k) === this.ring); });
    if (!views.length) return;
    const look = getComputedStyle(this.board);
    tiles(views.map((view) => view.box), width, height - (this.data.legend.length ? 44 : 0), this.ring).forEach(([x, y, w, h], k) => {
      const view = views[k], scale = Math.min(w / view.box[2], h / view.box[3]), [wide, high] = [view.box[2] * scale, view.box[3] * scale];
      const left = x + (w - wide) / 2, top = y + (h - high) / 2;
      view.fit = [left, top, scale];
      if (view.pixels) context.drawImage(view.pixels, left, top, wide, high);
      else { context.fillStyle = look.getPropertyValue("--st-background-color") || "#fff"; context.fillRect(left, top, wide, high); }
    });
    this.paintPoints();
    this.paintLines();
    context.font = `600 11px ${look.fontFamily}`;
    context.textBaseline = "middle";
    this.views.forEach((view, k) => this.title(view, k));
  }

  title({ name, fit: [left, top, scale], box }, k) {      // what a view is called, over a corner of its image
    const { context } = this, most = box[2] * scale - 14, wide = (text) => context.measureText(text).width;
    let text = `${k + 1} · ${name}`;
    while (text.length > 3 && wide(text) > most) text = `${text.slice(0, -2)}…`;
    context.fillStyle = "rgba(15,17,21,0.72)";
    context.fillRect(left + 3, top + 3, wide(text) + 8, 16);
    context.fillStyle = "#ffffff";
    context.fillText(text, left + 7, top + 11.5);
  }

  paintPoints() {
    const { data: { marks, kinds, looks, tracks, pick, wrong }, context } = this, dim = pick || this.hover;
    const lit = new Set((this.hover ? this.mates(...this.hover) : pick ? this.mates(...pick) : []).map(String));
    const small = this.views.reduce((sum, view) => sum + view.points.length, 0) > 1500;
    this.views.forEach((view, i) => view.points.forEach((_, p) => {
      const [x, y] = this.place(i, p), mark = marks[i]?.[p] ?? -1, bright = !dim || lit.has(String([i, p]));
      const colour = tracks ? (mark < 0 ? "" : TRACKS[mark % TRACKS.length]) : looks[kinds[marks[i]?.[p] ?? 0]];
      context.globalAlpha = bright ? 1 : 0.3;
      context.beginPath();
      context.arc(x, y, bright && dim ? 6.5 : small ? 2.6 : 4.2, 0, 2 * Math.PI);
      context.fillStyle = colour || "rgba(255,255,255,0.35)";
      context.fill();
      const bad = wrong?.[i]?.includes(p);
      context.lineWidth = bad ? 2.2 : 1.2;
      context.strokeStyle = bad ? "#b3261e" : "rgba(0,0,0,0.75)";
      context.setLineDash(bad ? [3, 2] : []);
      context.stroke();
      context.setLineDash([]);
    }));
    context.globalAlpha = 1;
  }

  paintLines() {
    const { context } = this;
    for (const [i, p, j, q, kind] of this.data.lines) {
      if (!this.views[i]?.points[p] || !this.views[j]?.points[q]) continue;
      const [x, y] = this.place(i, p), [u, v] = this.place(j, q);
      for (const [wide, colour] of [[kind === "joined" ? 2.6 : 4.4, "rgba(0,0,0,0.55)"], [kind === "joined" ? 1.2 : 2.4, this.data.looks[kind]]]) {
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(u, v);
        context.setLineDash(kind === "wrong" ? [7, 4] : []);
        Object.assign(context, { lineWidth: wide, strokeStyle: colour });
        context.stroke();
      }
    }
    context.setLineDash([]);
  }
}

export function views({ parentElement, data, locate, setTriggerValue }) {
  const root = parentElement.querySelector(".views-canvas");
  root.board ??= new ViewsBoard(root);
  const turn = (root.turn = (root.turn ?? 0) + 1);
  root.board.update(data, locate, setTriggerValue);
  return () => { if (root.turn === turn) { root.board.close(); root.board = null; } };
}

// ---------------------------------------------------------------- all pairs of views

function cell(value, text, title, action, kind) {
  const made = element("button", { type: "button", textContent: text, title, className: kind, disabled: !action });
  made.style.setProperty("--share", value);
  if (action) made.onclick = action;
  return made;
}

export function couples({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".views-couples"), state = JSON.stringify(data);
  if (root.state === state) return;
  root.state = state;
  const { names, matches, errors, most, picked } = data, count = names.length;
  const head = element("div", { className: "title" }, element("b", { textContent: "All pairs" }), ` ${data.title}`);
  const grid = element("div", { className: "grid" });
  grid.style.setProperty("--count", count);
  grid.classList.toggle("tiny", count > 9);
  for (let i = 0; i < count; i++) for (let j = 0; j < count; j++) {
    if (i === j) { grid.append(element("span", { textContent: i + 1, title: names[i] })); continue; }
    const [a, b] = i < j ? [i, j] : [j, i], made = matches[a][b], error = errors[a][b], open = made !== null;
    const told = `${names[a]} and ${names[b]}: ${open ? `${made} matches` : "not compared"}${error === null ? "" : `, ${Math.round(100 * error)} % of the ways over third views contradict them`}`;
    const one = i < j
      ? cell(open ? made / Math.max(most, 1) : 0, open ? made : "", told, open && (() => setTriggerValue("couple", [a, b])), "made")
      : cell(error ?? 0, error === null ? "" : Math.round(100 * error), told, open && (() => setTriggerValue("couple", [a, b])), "error");
    one.ariaLabel = told;
    one.classList.toggle("on", Boolean(picked) && picked[0] === a && picked[1] === b);
    grid.append(one);
  }
  const foot = element("div", { className: "foot" }, element("span", { textContent: "above: matches" }), element("span", { textContent: "below: % of ways that contradict" }));
  root.replaceChildren(element("style", { textContent: COUPLES }), head, grid, foot);
}
