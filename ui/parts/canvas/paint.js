// How the canvas looks: colours, marks, halos, icons, the legend. Reads a Board and changes nothing but its pixels.

const SUPPORTS = { name: "supports it", colour: "#4cb5f5", dash: [], mark: "+" };
const CONTRADICTS = { name: "contradicts it", colour: "#e58ac0", dash: [10, 4], mark: "−" };
// Viridis without its darkest end, which no photograph would let through.
const RAMP = [[98, 88, 196], [62, 118, 184], [38, 150, 152], [74, 193, 109], [180, 222, 44], [253, 231, 37]];
const FADED = 0.12;
const CROWD = 40;               // lines from here on are drawn thin and without a rim
// How sure a match is, by its confidence: values crowd near 1, where a ramp would show one colour.
const LEVELS = [[0.95, "sure", "#56b4e9"], [0.85, "likely", "#f0e442"], [0, "unsure", "#ff8c3a"]];
const ARMS = {                  // strokes of a mark: x, y to x, y
  "×": [[-3, -3, 3, 3], [-3, 3, 3, -3]], "○": [], "+": [[-3.6, 0, 3.6, 0], [0, -3.6, 0, 3.6]], "−": [[-3.6, 0, 3.6, 0]],
};
const ICONS = {
  zoomIn: "M12 5v14M5 12h14", zoomOut: "M5 12h14", reset: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  back: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3", undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3", redo: "M15 14l5-5-5-5M20 9H10a6 6 0 0 0 0 12h3",
  remove: "M6 6l12 12M18 6 6 18", copy: "M9 9h11v11H9zM15 9V4H4v11h5",
};
const MANY = 150;               // points or lines from which on each is drawn smaller or fainter
const HINTS = {
  view: "Scroll or pinch to zoom, drag to move, click a line to isolate it.",
  edit: "Click to add a point, drag to move it, × removes it, Partner pairs it.",
  mask: "Drag a rectangle: points are looked for there, or not.",
  linking: "Click its partner, or its place; Partner again: it has none.",
};
const PARTNERS = { name: "true partners", colour: "#4cb5f5", dash: [], mark: "" };
const ALONE = "#dee2e6";        // a point without partner, where others have one

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function icon(path) {
  return svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path }));
}

function distanceToSegment(x, y, [ax, ay], [bx, by]) {
  const dx = bx - ax, dy = by - ay, length = dx * dx + dy * dy;
  const t = length ? clamp(((x - ax) * dx + (y - ay) * dy) / length, 0, 1) : 0;
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

function ramp(value) {
  const at = value * (RAMP.length - 1), k = Math.min(Math.floor(at), RAMP.length - 2);
  return `rgb(${RAMP[k].map((low, n) => Math.round(low + (at - k) * (RAMP[k + 1][n] - low))).join(",")})`;
}

function halo(colour) {         // a dark line needs a light rim, any other a dark one
  const [r, g, b] = colour.startsWith("#")
    ? [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)) : colour.match(/\d+/g).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b < 105 ? "rgba(255,255,255,0.6)" : "rgba(0,0,0,0.6)";
}

function lineText(line) {
  return line.text || `${line.i} → ${line.j} · ${line.value.toFixed(2)}`;
}

function pointText(board, [side, k]) {
  const [x, y] = board.points[side][k], name = board.data.sides[side].names[k];
  const other = board.data.mode === "edit" && partnerOf(board.partners, [side, k]);
  const partner = other ? ` · partner: ${["left", "right"][other[0]]} ${other[1]}` : other === null ? " · no partner" : "";
  return `${name ?? `${["left", "right"][side]} point ${k}`} · x ${x.toFixed(1)}, y ${y.toFixed(1)}${partner}`;
}

function announce(board) {      // what is said around the picture: status, legend, which buttons can be used
  const { data, memory, points, selected, buttons } = board, edit = data.mode === "edit";
  board.editing.forEach((group) => { group.hidden = !edit; });
  const mask = data.mode === "mask";
  board.masking.forEach((group) => { group.hidden = !mask; });
  buttons.Keep.ariaPressed = String(!memory.leaving);
  buttons["Leave out"].ariaPressed = String(Boolean(memory.leaving));
  buttons.back.disabled = !memory.regions?.length;
  buttons.Clear.disabled = !board.regions.flat().length;
  board.canvas.classList.toggle("edit", edit || mask);
  board.board.classList.toggle("editing", edit || mask);
  buttons.undo.disabled = !memory.past.length;
  buttons.redo.disabled = !memory.future.length;
  buttons.remove.disabled = buttons.Partner.disabled = !board.chosen;
  buttons.Partner.ariaPressed = String(Boolean(board.linking));
  ["Clear left", "Clear right"].forEach((name, side) => { buttons[name].disabled = !points[side].length; });
  const said = edit ? board.chosen && pointText(board, board.chosen) : selected && lineText(selected);
  const preview = board.previewed && `Iteration ${board.previewed.iteration}; a click on the curve goes there.`;
  board.status.textContent = board.tuplesTold || preview || (board.linking && HINTS.linking) || said?.replace(/\s*\n\s*/g, " · ") || HINTS[data.mode];
  board.status.classList.toggle("chosen", Boolean(said));
  board.canvas.ariaLabel = `Two images: ${points[0].length} points on the left, ${points[1].length} on the right, `
    + `${board.shown.length} lines. Arrow keys move, plus and minus zoom, 0 resets, n and p go through the `
    + (edit ? "points, a adds a point, Delete removes it, t asks for its partner." : "lines, Escape lets go.");
  board.sifting.hidden = !data.sift || edit;
  board.least.value = memory.least ?? 0;
  board.leastText.textContent = `${data.scale} ≥ ${(memory.least ?? 0).toFixed(2)}`;
  board.thinning.hidden = !board.many || edit || memory.look === "points";
  buttons["All lines"].ariaPressed = String(Boolean(memory.all));
  buttons["All lines"].textContent = buttons["All lines"].ariaLabel = memory.all ? "Fewer lines" : "All lines";
  board.fading.hidden = !isOverlaid(board);
  board.fade.value = memory.fade ?? 0.5;
  board.howMany.max = board.wanted.length;
  board.howMany.value = board.shown.length;
  board.manyText.textContent = `${board.shown.length} of ${board.wanted.length} lines`;
  board.legend.replaceChildren(...legendEntries(board));
}

const levelOf = (value) => LEVELS.find(([least]) => value >= least) ?? LEVELS.at(-1);

function colourOf(board, line) {  // of a line whose kind is not known: by how sure it is, over the range there is
  if (board.data.sift) return levelOf(line.value)[2];
  if (!board.data.final) return "#4cb5f5";
  const values = board.lines.map((one) => one.value), low = Math.min(...values), high = Math.max(...values);
  return ramp(high > low ? (line.value - low) / (high - low) : 1);
}

function placeColour(board, line) {  // partners have one colour, told by where the left one is
  const [left, top, width, height] = board.boxes[0], [x, y] = board.points[0][line.i];
  return `hsl(${Math.round(215 + 290 * (x - left) / width) % 360} 90% ${Math.round(68 - 26 * (y - top) / height)}%)`;
}

function lineStyle(board, line, selected) {
  const { support, against, kinds } = board.data, kind = kinds[line.kind];
  const supports = selected && support.includes(line.index), contradicts = selected && against.includes(line.index);
  const role = supports ? SUPPORTS : contradicts ? CONTRADICTS : null;
  const style = role ?? { ...kind, colour: kind.colour || colourOf(board, line) };
  const hovered = line === board.hover?.line || touchedBy(board.hover?.point, line);
  const strong = line === selected || hovered || role, crowd = board.shown.length > CROWD;
  const faint = (crowd ? 0.1 + 0.55 * line.value : 0.12 + 0.78 * line.value) * (selected ? FADED : 1);
  const growing = board.data.final ? 0 : 1.4 * line.value;        // during a run: the thicker, the surer
  const width = line === selected ? 3 : strong ? 2.4 : (crowd ? 1.1 : 1.3) + growing;
  return { ...style, alpha: strong ? 1 : faint, width, plain: crowd && !strong };
}

const touchedBy = (point, line) => Boolean(point) && (point[0] ? line.j : line.i) === point[1];

function paint(board) {
  const { canvas, context, width, height } = board, ratio = window.devicePixelRatio || 1;
  const look = getComputedStyle(board.board), theme = (name) => look.getPropertyValue(`--st-${name}`).trim();
  const [sheet, accent] = [theme("background-color"), theme("primary-color")];
  board.theme = { text: look.color, sheet, accent, font: look.fontFamily };
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  if (isOverlaid(board)) paintOverlay(board);
  else [0, 1].forEach((side) => paintImage(board, side));
  [0, 1].forEach((side) => paintEdges(board, side));
  paintRegions(board);
  const selected = board.data.mode === "view" ? board.selected : null;
  const { line: lit = null, point = null } = board.hover ?? {}, hidden = (line) => !board.shown.includes(line);
  const asked = [...(lit ? [lit] : []), ...(point ? board.wanted.filter((line) => touchedBy(point, line)) : [])].filter(hidden);
  const onlyPoints = board.data.mode === "view" && board.memory.look === "points";
  const styled = (line) => ({ line, ...lineStyle(board, line, selected) });
  const drawn = (board.tuples ? [] : [...(onlyPoints ? board.wanted : board.shown), ...(onlyPoints ? [] : asked)]).map(styled)
    .sort((a, b) => a.width - b.width || a.alpha - b.alpha);
  if (board.data.mode === "edit") paintPartners(board);
  const visible = (style) => !onlyPoints || style.line === selected || style.line === lit || touchedBy(point, style.line);
  const fainter = Math.min(1, Math.sqrt(MANY / drawn.length));   // hundreds of lines leave the pictures visible
  drawn.filter(visible).forEach((style) => paintLine(board, [selected, lit].includes(style.line) ? style : { ...style, alpha: fainter * style.alpha }));
  paintPoints(board, onlyPoints ? drawn.map((style) => ({ ...style, colour: placeColour(board, style.line), alpha: 1 })) : ends(board, drawn));
  if (board.tuples) paintTuples(board);
  if (isOverlaid(board)) tag(board, 8, 17, board.data.over.length ? "Left over right, by the map" : "Left over right, as they are", false);
  else [0, 1].forEach((side) => paintLabel(board, side));
}

function ends(board, drawn) {  // what gives the points their colours: also the lines that are thinned out
  if (board.tuples) return drawn;
  const there = new Set(drawn.map((style) => style.line));
  return [...board.wanted.filter((line) => !there.has(line)).map((line) => ({ line, ...lineStyle(board, line, board.selected) })), ...drawn];
}

function paintImage(board, side) {
  const { context } = board;
  context.save();
  if (board.halves) {
    context.beginPath();
    context.rect(...board.halfOnScreen(side));
    context.clip();
  }
  fillHalf(board, side);
  context.restore();
}

function fillHalf(board, side) {
  const { context, theme } = board, [x, y, w, h] = board.boxes[side], image = board.images[side];
  const [left, top] = board.toScreen(side, [x, y]), [right, bottom] = board.toScreen(side, [x + w, y + h]);
  context.globalAlpha = 1;
  context.fillStyle = theme.sheet;
  if (board.halves && !image?.address) context.fillRect(...board.halfOnScreen(side));
  else context.fillRect(left, top, right - left, bottom - top);
  if (image?.pixels) {
    context.imageSmoothingEnabled = (right - left) / image.pixels.naturalWidth < 4;     // pixels, when asked that closely
    context.imageSmoothingQuality = "high";
    context.drawImage(image.pixels, left, top, right - left, bottom - top);
  } else if (image?.failed) {
    context.fillStyle = theme.text;
    context.font = `14px ${theme.font}`;
    context.fillText("This image could not be loaded.", left + 16, top + 48);
  }
}

function paintEdges(board, side) {
  const { context } = board, edges = board.data.sides[side].edges, points = board.points[side];
  context.beginPath();
  for (let k = 0; k + 1 < edges.length; k += 2) {
    if (!points[edges[k]] || !points[edges[k + 1]]) continue;
    context.moveTo(...board.toScreen(side, points[edges[k]]));
    context.lineTo(...board.toScreen(side, points[edges[k + 1]]));
  }
  const alpha = board.data.mode === "view" && board.selected ? 0.25 : 0.6;
  stroke(context, { colour: "#ffffff", alpha, width: 1, dash: [] });
}

function stroke(context, { colour, alpha, width, dash, plain = false }) {
  context.lineCap = "round";
  context.setLineDash(dash);
  for (const [ink, extra] of plain ? [[colour, 0]] : [[halo(colour), 1.6], [colour, 0]]) {
    context.globalAlpha = alpha;
    context.strokeStyle = ink;
    context.lineWidth = width + extra;
    context.stroke();
  }
  context.setLineDash([]);
}

function paintLine(board, style) {
  const { context } = board, [from, to] = board.endsOf(style.line);
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  stroke(context, style);
  if (!style.mark || style.alpha < 0.2 || style.plain) return;
  const [x, y] = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  disc(context, x, y, 7.5, style.colour, halo(style.colour));
  context.beginPath();
  ARMS[style.mark].forEach(([ax, ay, bx, by]) => { context.moveTo(x + ax, y + ay); context.lineTo(x + bx, y + by); });
  context.strokeStyle = "#111";
  context.lineWidth = 1.8;
  context.stroke();
}

function paintPartners(board) {
  const strong = board.linking ?? board.chosen, { context } = board;
  board.partners.forEach((pair) => {
    const [from, to] = board.endsOf({ i: pair[0], j: pair[1] }), own = strong && touches(pair, strong);
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    stroke(context, { ...PARTNERS, alpha: own ? 1 : strong ? 0.25 : 0.6, width: own ? 2.4 : 1.2 });
  });
}

function disc(context, x, y, radius, fill, rim) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = rim;
  context.lineWidth = 1.4;
  context.stroke();
}

function paintPoints(board, drawn) {
  const { context, theme, hover } = board, edit = board.data.mode === "edit";
  const ends = [new Map(), new Map()];          // the strongest line at each point gives it its colour
  drawn.forEach((style) => [style.line.i, style.line.j].forEach((k, side) => ends[side].set(k, style)));
  const isolating = !edit && board.selected;
  board.points.forEach((points, side) => {
    const many = points.length > MANY, crowd = [];
    points.forEach((point, k) => {
      const style = ends[side].get(k), [x, y] = board.toScreen(side, point);
      const chosen = edit && board.chosen?.[0] === side && board.chosen[1] === k;
      const hovered = hover?.point?.[0] === side && hover.point[1] === k;
      if (many && !style && !chosen && !hovered && !edit) return crowd.push([x, y]);
      const radius = (points.length > 5 * MANY ? 2.2 : many ? 3 : 4) + (edit ? 1 : 0) + (chosen || hovered ? 1.5 : 0);
      context.globalAlpha = isolating && !hovered ? Math.max(style?.alpha ?? 0, 0.3) : 1;
      disc(context, x, y, radius + 0.8, "rgba(0,0,0,0.55)", "rgba(0,0,0,0)");
      const alone = edit && board.partners.length > 0 && !partnerOf(board.partners, [side, k]);
      const fill = chosen || String(board.linking) === String([side, k]) ? theme.accent : alone ? ALONE : "#ffd43b";
      if (edit) disc(context, x, y, radius, fill, chosen ? "#fff" : "#1b1b1b");
      else disc(context, x, y, radius, style?.colour ?? "rgba(0,0,0,0.35)", "#fff");
      if (hovered || chosen) tag(board, x, y - radius - 12, board.data.sides[side].names[k] ?? String(k));
    });
    paintCrowd(context, crowd, isolating ? 0.3 : 0.75);
  });
  const told = hover?.line ?? (isolating || null);
  if (told) board.endsOf(told).forEach(([x, y], side) => {
    const k = side ? told.j : told.i;
    tag(board, x, y - 17, board.data.sides[side].names[k] ?? String(k));
  });
  context.globalAlpha = 1;
}

function paintCrowd(context, places, alpha) {   // many points without a line: small, and in one stroke
  if (!places.length) return;
  context.beginPath();
  for (const [x, y] of places) { context.moveTo(x + 1.8, y); context.arc(x, y, 1.8, 0, 2 * Math.PI); }
  context.globalAlpha = alpha;
  context.fillStyle = "#fff";
  context.strokeStyle = "rgba(0,0,0,0.7)";
  context.lineWidth = 1;
  context.stroke();
  context.fill();
}

function tag(board, x, y, text, middle = true) {
  const { context, theme } = board;
  context.globalAlpha = 1;
  context.font = `600 12px ${theme.font}`;
  const width = context.measureText(text).width + 10, left = middle ? x - width / 2 : x;
  context.fillStyle = "rgba(20,22,28,0.78)";
  context.beginPath();
  context.roundRect(left, y - 9, width, 18, 5);
  context.fill();
  context.fillStyle = "#fff";
  context.textBaseline = "middle";
  context.fillText(text, left + 5, y + 0.5);
}

function paintLabel(board, side) {
  const { context } = board, [x, y, w] = board.boxes[side], count = board.points[side].length;
  const [hx, hy, hw] = board.halves ? board.halfOnScreen(side) : [];
  const [left, top] = board.halves ? [hx, hy] : board.toScreen(side, [x, y]);
  const right = board.halves ? hx + hw : board.toScreen(side, [x + w, y])[0];
  let text = board.data.sides[side].label;
  context.font = `600 12px ${board.theme.font}`;
  const suffix = `${text ? " · " : ""}${count} point${count === 1 ? "" : "s"}`;
  const fits = (label) => context.measureText(label + suffix).width <= right - left - 34;
  if (!fits(text)) {
    while (text && !fits(`${text}…`)) text = text.slice(0, -1);
    text = text && `${text.trimEnd()}…`;
  }
  tag(board, left + 8, top + 17, text ? text + suffix : suffix.replace(/^ · /, ""), false);
}

function legendEntries(board) {
  if (board.data.mode === "mask") return [];
  if (board.data.mode === "edit") return board.partners.length ? [sample(PARTNERS, board.partners.length)] : [];
  const { kinds, scale, sift, stage, final, missed } = board.data, { lines, memory } = board, only = memory.only ?? null;
  const counts = kinds.map((_, kind) => lines.filter((line) => line.kind === kind).length);
  const entries = [];
  if (stage && !final && !lines.length) {
    const dot = svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true", class: "dot" }, svg("circle", { cx: 7, cy: 7, r: 5.5, fill: "#212529", stroke: "#fff", "stroke-width": 1.6 }));
    return [element("span", { className: "entry" }, dot, "a point"), element("span", { className: "entry quiet" }, "Scroll to zoom, drag to move")];
  }
  const points = memory.look === "points", over = memory.look === "over", pictures = board.data.sides.every((side) => side.src);
  const all = counts.reduce((sum, n, k) => sum + (final && k === missed ? 0 : n), 0);
  if (stage && final && all) {
    entries.push(choice("Lines", !points && !over, () => board.showAs("lines")), choice("Points only", points, () => board.showAs("points")));
    if (pictures) entries.push(choice("Overlay", over, () => board.showAs("over"), "The pictures laid over each other"));
  }
  if (points) entries.push(element("span", { className: "entry" }, placeBar(), element("b", { textContent: String(all) }), "same colour, same match"));
  else kinds.forEach((kind, k) => {
    if (!counts[k]) return;
    const entry = !kind.colour && sift ? null : kind.colour ? sample(kind, counts[k]) : scaleSample(board, scale, counts[k]);
    if (entry && stage && final) entries.push(choice(entry, only === k, () => board.showOnly(k), `Only the lines: ${kind.name}`));
    else if (entry) entries.push(entry);
    else entries.push(...levels(board, k));
  });
  if (board.selected) {
    for (const [role, those] of [[SUPPORTS, board.data.support], [CONTRADICTS, board.data.against]])
      if (those.length) entries.push(sample(role, those.length));
  }
  return entries;
}

function choice(content, on, action, title = "") {  // an entry of the legend that can be pressed
  const made = element("button", { type: "button", className: "key", title, onclick: action }, content);
  made.ariaPressed = String(on);
  return made;
}

function levels(board, kind) {  // how many matches are sure, likely and unsure
  return LEVELS.map(([least, name, colour], k) => {
    const upper = k ? LEVELS[k - 1][0] : Infinity;
    const count = board.lines.filter((line) => line.kind === kind && line.value >= least && line.value < upper).length;
    return count ? sample({ name, colour, dash: [], mark: "" }, count) : null;
  }).filter(Boolean);
}

function placeBar() {
  const bar = element("span", { className: "ramp" });
  bar.style.background = `linear-gradient(to right, ${[0, 1, 2, 3, 4].map((k) => `hsl(${(215 + 72.5 * k) % 360} 90% 55%)`).join(",")})`;
  return bar;
}

function sample({ name, colour, dash, mark }, count) {
  const line = { x1: 2, y1: 7, x2: 30, y2: 7, "stroke-dasharray": dash.join(" "), "stroke-linecap": "round" };
  const drawing = svg("svg", { viewBox: "0 0 32 14", "aria-hidden": "true" },
    svg("line", { ...line, stroke: "#444", "stroke-width": 4.4 }),
    svg("line", { ...line, stroke: colour, "stroke-width": 2.4 }));
  if (mark) {
    const text = svg("text", { x: 16, y: 11, "text-anchor": "middle", "font-size": 12, "font-weight": 700, fill: "#111" });
    text.textContent = mark;
    drawing.append(svg("circle", { cx: 16, cy: 7, r: 6.5, fill: colour, stroke: "#444" }), text);
  }
  return element("span", { className: "entry" }, drawing, element("b", { textContent: String(count) }), name);
}

function scaleSample(board, name, count) {  // during a run the thickness tells how sure, afterwards the colour does
  if (board.data.final) return element("span", { className: "entry" }, element("b", { textContent: String(count) }), `${name}: low`, rampBar(), "high");
  const line = (width) => svg("line", { x1: 2, y1: 7, x2: 30, y2: 7, stroke: "#4cb5f5", "stroke-width": width, "stroke-linecap": "round" });
  const drawn = (width) => svg("svg", { viewBox: "0 0 32 14", "aria-hidden": "true" }, line(width));
  return element("span", { className: "entry" }, drawn(1.2), "maybe", drawn(4), "nearly sure");
}
