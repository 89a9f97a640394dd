// Where everything is: image pixels -> picture -> screen, and back. The first part of a Board (see canvas.js).

const NARROW = 480;             // below this width (CSS pixels) the images are stacked
const MOST_ZOOM = 40;
const AROUND = 360;             // pixels of the window that are not the picture's: bars above and below it
const SEAM = 4;                 // pixels between the halves of a stage
const AIR = 0.03;               // of a picture, around its points: a stage cuts it no further
const GAP = 0.015;              // between the images, as a share of the picture
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

class Geometry {
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
    if (isOverlaid(this)) {
      const whole = [0, 0, width, height], [one, other] = [0, 1].map((side) => filling(this.boxes[side], whole, this.kept(side)));
      return Object.assign(this, { width, height, stacked: false, halves: [whole, whole], area: other.area, size: [width, height],
        fit: 1, scales: [one.scale, other.scale], offsets: [one.offset, other.offset] });
    }
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
    if (this.data.mode !== "view" || !this.data.sides[side].src) return box;
    if (!points.length) return [left + width / 2, top + height / 2, 0, 0];
    const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
    const ends = (values, low, length) => [Math.max(low, Math.min(...values) - AIR * length),
      Math.min(low + length, Math.max(...values) + AIR * length)];
    const [x0, x1] = ends(xs, left, width), [y0, y1] = ends(ys, top, height);
    return [x0, y0, Math.max(x1 - x0, 0), Math.max(y1 - y0, 0)];
  }

  get pixelsPerUnit() { return this.fit * this.memory.zoom; }

  toScreen(side, place) {
    if (side === 0 && isOverlaid(this) && this.data.over.length) return this.toScreen(1, carried(place, this.data.over));
    const [x, y] = place;
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
}
