// Which block is tied to which

class Ties {
  constructor(root) {
    this.root = element(root, "div", "ties");
  }

  update({ data }) {
    this.root.replaceChildren();
    for (const { title, places, ties } of data.drawings) {
      const box = element(this.root, "figure", "");
      const svg = make(box, "svg", { viewBox: "0 0 170 64", role: "img", "aria-label": title });
      for (const [a, b] of ties) make(svg, "path", { d: `M${places[a]}L${places[b]}`, class: "tie" });
      places.forEach(([x, y], k) => {
        make(svg, "circle", { cx: x, cy: y, r: 15, class: "block" });
        make(svg, "text", { x, y, dy: "0.35em", class: "length" }, `x${"₁₂₃"[k]}`);
      });
      element(box, "figcaption", "note", title);
    }
  }
}
