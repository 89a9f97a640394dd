const KINDS = { graphs: Graphs, triangle: Triangle, matrices: Matrices, steps: Steps, ties: Ties, plane: Plane };

function mount(component) {
  const root = component.parentElement.querySelector(".learn-board");
  if (root.kind !== component.data.kind) {
    root.replaceChildren();
    root.kind = component.data.kind;
    root.board = new KINDS[root.kind](root);
  }
  root.board.update(component);
}
