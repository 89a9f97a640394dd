// Matrices side by side

class Matrices {
  constructor(root) {
    this.root = element(root, "div", "matrices");
  }

  update({ data, setStateValue }) {
    const focus = this.root.getRootNode().activeElement?.dataset?.cell;
    this.root.replaceChildren();
    data.matrices.forEach((one, m) => {
      const box = element(this.root, "div", "matrix");
      element(box, "div", "title", one.title);
      const grid = element(box, "div", one.rows.length < 4 ? "cells low" : "cells");
      const sums = one.sums;
      grid.style.gridTemplateColumns = `auto repeat(${one.cols.length}, minmax(2.4rem, 1fr))${sums ? " auto" : ""}`;
      element(grid, "span", "name");
      for (const name of one.cols) element(grid, "span", "name", name);
      if (sums) element(grid, "span", "name", "Σ");
      one.values.forEach((row, i) => {
        element(grid, "span", "name", one.rows[i]);
        row.forEach((value, j) => this.cell(grid, one, m, i, j, value, setStateValue));
        if (sums) this.sum(grid, sums[0][i]);
      });
      if (sums) {
        element(grid, "span", "name", "Σ");
        for (const value of sums[1]) this.sum(grid, value);
        element(grid, "span", "name");
      }
      element(box, "div", "note", one.note);
    });
    if (focus) this.root.querySelector(`[data-cell="${focus}"]`)?.focus();
  }

  cell(grid, one, m, i, j, value, setStateValue) {
    const shown = Number.isInteger(value) ? String(value) : value.toFixed(2);
    const node = element(grid, one.pick ? "button" : "span", value > 0.92 ? "cell full" : "cell", shown);
    node.style.setProperty("--value", `${Math.round(100 * Math.min(Math.max(value, 0), 1))}%`);
    if (!one.pick) return;
    node.dataset.cell = `${m}-${i}-${j}`;
    node.ariaLabel = `${one.title}, row ${one.rows[i]}, column ${one.cols[j]}: ${shown}`;
    node.ariaPressed = String(one.picked?.[0] === i && one.picked[1] === j);
    node.onclick = () => setStateValue("cell", [m, i, j]);
  }

  sum(grid, value) {
    const one = Math.abs(value - 1) < 5e-4;
    element(grid, "span", one ? "sum one" : "sum", one ? "1 ✓" : value.toFixed(2));
  }
}
