// Matrices side by side

class Matrices {
  constructor(root) {
    this.root = element(root, "div", "matrices");
    this.root.dataset.picture = "Matrices";   // what Export and share takes away as one picture
  }

  update({ data, setStateValue }) {
    const focus = this.root.getRootNode().activeElement?.dataset?.cell;
    this.root.replaceChildren();
    data.matrices.forEach((one, m) => matrixIn(this.root, one, m, setStateValue));
    if (focus) this.root.querySelector(`[data-cell="${focus}"]`)?.focus();
  }
}

function matrixIn(root, one, m, setStateValue) {
  const box = element(root, "div", "matrix");
  element(box, "div", "title", one.title);
  const grid = element(box, "div", one.low ? "cells low" : "cells");
  const sums = one.sums;
  grid.style.gridTemplateColumns = `auto repeat(${one.cols.length}, minmax(var(--entry, 2.4rem), 1fr))${sums ? " auto" : ""}`;
  element(grid, "span", "name");
  for (const name of one.cols) element(grid, "span", "name", name);
  if (sums) element(grid, "span", "name", "Σ");
  const sum = (value) => {
    const one = Math.abs(value - 1) < 5e-4;
    element(grid, "span", one ? "sum one" : "sum", one ? "1 ✓" : value.toFixed(2));
  };
  one.values.forEach((row, i) => {
    element(grid, "span", "name", one.rows[i]);
    row.forEach((value, j) => matrixCell(grid, one, m, i, j, value, setStateValue));
    if (sums) sum(sums[0][i]);
  });
  if (sums) {
    element(grid, "span", "name", "Σ");
    sums[1].forEach(sum);
    element(grid, "span", "name");
  }
  if (one.note) element(box, "div", "note", one.note);
}

function matrixCell(grid, one, m, i, j, value, setStateValue) {
  const shown = value === null ? "?" : value.toFixed(Number.isInteger(value) ? 0 : one.digits).replace("-", "−");
  const node = element(grid, one.pick ? "button" : "span", value > 0.92 && one.shaded ? "cell full" : "cell", shown);
  if (one.shaded) node.style.setProperty("--value", `${Math.round(100 * Math.min(Math.max(value, 0), 1))}%`);
  if (one.picked.some(([a, b]) => a === i && b === j)) node.classList.add("picked");
  if (!one.pick) return;
  node.dataset.cell = `${m}-${i}-${j}`;
  node.ariaLabel = `${one.title}, row ${one.rows[i]}, column ${one.cols[j]}: ${shown}`;
  node.ariaPressed = String(node.classList.contains("picked"));
  node.onclick = () => setStateValue("cell", [m, i, j]);
}
