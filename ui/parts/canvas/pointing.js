// Pointer and keyboard: what they do to a Board (see canvas.js).

class Pointing extends Masking {
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
    this.gesture.region = this.data.mode === "mask" && this.pointers.size === 1;
    if (this.gesture.region) this.beginRegion(at);
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
    if (gesture.region) return this.growRegion(at);
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
    if (gesture.region) return this.endRegion();
    if (gesture.moved) return this.finishNudge();
    if (this.data.mode === "view") return this.choose(this.lineAt(...at, event.pointerType === "touch" ? 14 : 7));
    if (this.linking && gesture.point && gesture.point[0] !== this.linking[0]) return this.link();
    const side = this.sideAt(...at);
    if (!gesture.point && side >= 0) this.addPoint(side, this.toImage(side, ...at));
  }

  cancel(event) {                                                // the browser took the pointer over: undo the drag
    if (event) this.pointers.delete(event.pointerId);
    if (this.gesture?.point && this.settled) this.points = this.settled;
    this.gesture = this.settled = this.draft = null;
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
      ? this.data.mode === "mask" ? { z: () => this.undoRegion() }[letter] : edit && { z: () => this.travel(event.shiftKey ? 1 : -1), y: () => this.travel(1) }[letter]
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
}
