// Edits and picks: what a Board changes and sends back to Python (see canvas.js).

const UNDO_STEPS = 200;
const round = (value) => Math.round(value * 100) / 100;

class Editing extends Geometry {
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
}
