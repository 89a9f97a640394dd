// Rectangles to keep and to leave out of a picture, dragged on it: what a Board does with them (see canvas.js).

const REGIONS = { keep: { colour: "#2fc79b", dash: [] }, drop: { colour: "#ff8a45", dash: [6, 4] } };
const SHADE = "rgba(15, 17, 21, 0.62)";
const SMALLEST = 4;             // pixels of the picture: a smaller rectangle is a click

class Masking extends Editing {
  takeRegions(data) {
    this.regions = data.regions;
    this.draft = null;
  }

  beginRegion(at) {
    const side = this.sideAt(...at);
    this.draft = side < 0 ? null : { side, from: this.toImage(side, ...at), to: this.toImage(side, ...at) };
  }

  growRegion(at) {
    if (!this.draft) return;
    const [left, top, width, height] = this.boxes[this.draft.side], [x, y] = this.toImage(this.draft.side, ...at);
    this.draft.to = [clamp(x, left, left + width), clamp(y, top, top + height)];
    this.draw();
  }

  endRegion() {
    const draft = this.draft && this.asRegion(this.draft), side = this.draft?.side;
    this.draft = null;
    if (!draft || draft[3] - draft[1] < SMALLEST || draft[4] - draft[2] < SMALLEST) return this.draw();
    this.sendRegions(this.regions.map((those, k) => (k === side ? [...those, draft] : those)));
  }

  asRegion({ from: [ax, ay], to: [bx, by] }) {
    return [this.memory.leaving ? 0 : 1, Math.min(ax, bx), Math.min(ay, by), Math.max(ax, bx), Math.max(ay, by)].map(round);
  }

  sendRegions(regions, back = false) {
    const past = this.memory.regions ??= [];
    if (!back) past.push(this.regions);
    this.regions = regions;
    this.send.trigger("regions", { left: regions[0], right: regions[1], turn: past.length });
    this.refresh();
  }

  undoRegion() {
    const before = this.memory.regions?.pop();
    if (before) this.sendRegions(before, true);
  }

  clearRegions() { this.sendRegions([[], []]); }

  leave(leaving) {
    this.memory.leaving = leaving;
    this.refresh();
  }
}

function paintRegions(board) {  // while they are drawn all else is shaded, afterwards their outlines remain
  const { context, width, height } = board, masking = board.data.mode === "mask";
  const all = board.regions.map((those, side) => (board.draft?.side === side ? [...those, board.asRegion(board.draft)] : those));
  const onScreen = (side, [, l, t, r, b]) => {
    const [x, y] = board.toScreen(side, [l, t]), [u, v] = board.toScreen(side, [r, b]);
    return [x, y, u - x, v - y];
  };
  if (isOverlaid(board)) return;
  all.forEach((those, side) => {
    if (!those.length) return;
    const clipped = new Path2D();
    clipped.rect(...(board.halves ? board.halfOnScreen(side) : [0, 0, width, height]));
    context.save();
    context.clip(clipped);
    if (masking) context.drawImage(shade(board, side, those.map((one) => [one[0], ...onScreen(side, one)])), 0, 0);
    those.forEach((one) => {
      context.beginPath();
      context.rect(...onScreen(side, one));
      stroke(context, { ...REGIONS[one[0] ? "keep" : "drop"], alpha: masking ? 1 : 0.6, width: masking ? 2 : 1.2 });
    });
    context.restore();
  });
  context.globalAlpha = 1;
}

function shade(board, side, places) {
  const sheet = (board.shade ??= document.createElement("canvas"));
  Object.assign(sheet, { width: Math.round(board.width), height: Math.round(board.height) });
  const context = sheet.getContext("2d"), [x, y, w, h] = board.boxes[side];
  const [left, top] = board.toScreen(side, [x, y]), [right, bottom] = board.toScreen(side, [x + w, y + h]);
  context.fillStyle = SHADE;
  if (places.some(([keep]) => keep)) context.fillRect(left, top, right - left, bottom - top);
  places.filter(([keep]) => keep).forEach(([, ...place]) => context.clearRect(...place));
  places.filter(([keep]) => !keep).forEach(([, ...place]) => { context.clearRect(...place); context.fillRect(...place); });
  return sheet;
}
