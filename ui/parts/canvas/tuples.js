// Tuples over the picture: of points, edges, triangles or quadruples, with the matches that they consist of. Python
// joins this file to canvas.js.

function showTuples(board, tuples, told) {      // [[right or not, [[i, j], …]], …]; none: the lines again
  board.tuples = tuples?.length ? tuples : null;
  board.tuplesTold = tuples?.length ? told : "";
  board.refresh();
}

function paintTuples(board) {
  for (const [right, matches] of board.tuples) {
    if (!matches.every(([i, j]) => board.points[0][i] && board.points[1][j])) continue;
    const { colour, dash } = board.data.kinds[right ? 0 : 1], look = { colour, dash, alpha: 1 };
    for (const pair of matches) {
      const [from, to] = board.endsOf({ i: pair[0], j: pair[1] });
      trace(board, [from, to], { ...look, width: matches.length > 1 ? 1.2 : 2.4 });
    }
    [0, 1].forEach((side) => {
      const corners = matches.map((pair) => board.toScreen(side, board.points[side][pair[side]]));
      if (corners.length > 1) trace(board, corners.length > 2 ? [...corners, corners[0]] : corners, { ...look, width: 3.4 });
      corners.forEach(([x, y], k) => {
        disc(board.context, x, y, 5, colour, "#fff");
        tag(board, x, y < 26 ? y + 16 : y - 16, String(matches[k][side]));
      });
    });
  }
}

function trace(board, places, style) {
  board.context.beginPath();
  places.forEach(([x, y], k) => (k ? board.context.lineTo(x, y) : board.context.moveTo(x, y)));
  stroke(board.context, style);
}
