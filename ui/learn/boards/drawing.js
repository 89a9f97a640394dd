// The small pictures of the Learn page that one can touch: two graphs to drag, a triangle to drag in, matrices to click.
// Points follow the hand, and what was moved or picked travels back to Python. Texts are set with
// textContent. What is drawn behind the handles is drawn anew with every update; the handles stay, with their focus.
const SVG = "http://www.w3.org/2000/svg";
const WAIT = 120;               // milliseconds between two messages while something is dragged

function make(parent, tag, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  return parent.appendChild(node);
}

function element(parent, tag, className, text = null) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== null) node.textContent = text;
  return parent.appendChild(node);
}

class Drawing {
  constructor(root, width, height) {
    this.svg = make(root, "svg", { viewBox: `0 0 ${width} ${height}`, role: "group" });
    this.back = make(this.svg, "g");
    this.front = make(this.svg, "g");
    this.handles = [];
    this.dragged = null;
    this.sent = 0;
  }

  // The handles as they are given; only those that are not in a hand move.
  place(handles) {
    while (this.handles.length < handles.length) this.handles.push(this.handle(this.handles.length));
    handles.forEach((given, k) => {
      const own = this.handles[k];
      own.step = given.step;
      own.setAttribute("transform", `translate(${given.x} ${given.y})`);
      own.setAttribute("aria-label", given.label);
      own.dot.setAttribute("fill", given.colour);
      own.text.textContent = given.sign;
    });
  }

  handle(k) {
    const node = make(this.front, "g", { class: "handle", tabindex: 0, role: "button", "data-arrows": "1" });
    make(node, "circle", { r: 22, fill: "transparent" });
    node.dot = make(node, "circle", { r: 13, class: "dot" });
    node.text = make(node, "text", { dy: "0.35em", class: "sign" });
    node.addEventListener("pointerdown", (event) => {
      this.dragged = k;
      node.setPointerCapture(event.pointerId);
      event.preventDefault();
      node.focus();
    });
    node.addEventListener("pointermove", (event) => {
      if (this.dragged !== k) return;
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
      this.moved(k, at.x, at.y, false);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      node.addEventListener(end, () => {
        if (this.dragged !== k) return;
        this.dragged = null;
        this.moved(k, null, null, true);
      });
    }
    node.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      const at = this.where(k);
      this.moved(k, at.x + by[0] * node.step, at.y + by[1] * node.step, true);
    });
    return node;
  }

  send(name, value, now) {
    if (!now && performance.now() - this.sent < WAIT) return;
    this.sent = performance.now();
    this.component.setStateValue(name, value);
  }
}
