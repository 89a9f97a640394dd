// The two pictures laid over each other: a look of the stage beside lines and points only. Where a map between them is
// known, the left picture and its points are carried by it into the pixels of the right one.

const MESH = 24;                // cells along a side of the left picture, each of which is carried as two flat triangles

function carried([x, y], m) {   // a point under a homography, told row by row
  const w = m[6] * x + m[7] * y + m[8];
  return [(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w];
}

const isOverlaid = ({ data, memory }) => Boolean(data.stage) && data.mode === "view" && memory.look === "over";

// One triangle of a picture, in its own pixels, where three other places are.
function paintTriangle(context, pixels, from, to) {
  const [[ax, ay], [bx, by], [cx, cy]] = from, area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
  const along = (axis) => {
    const [a, b, c] = to.map((place) => place[axis]);
    const dx = ((b - a) * (cy - ay) - (c - a) * (by - ay)) / area, dy = ((c - a) * (bx - ax) - (b - a) * (cx - ax)) / area;
    return [dx, dy, a - dx * ax - dy * ay];
  };
  const [xx, xy, x0] = along(0), [yx, yy, y0] = along(1);
  const middle = [0, 1].map((axis) => (to[0][axis] + to[1][axis] + to[2][axis]) / 3);
  context.save();
  context.beginPath();
  to.forEach(([x, y]) => {      // a little wider: no seam between neighbours
    const far = Math.hypot(x - middle[0], y - middle[1]) || 1;
    context.lineTo(x + (x - middle[0]) / far, y + (y - middle[1]) / far);
  });
  context.clip();
  context.transform(xx, yx, xy, yy, x0, y0);
  context.drawImage(pixels, 0, 0);
  context.restore();
}

// The left picture in the pixels of the right one; drawn once, kept as long as pictures and map are the same.
function laidOver(board) {
  const [left, right] = board.images, map = board.data.over, name = [left.address, right.address, map].join();
  if (board.laid?.name === name) return board.laid.sheet;
  const { naturalWidth: w, naturalHeight: h } = left.pixels, [, , width, height] = board.boxes[1];
  const sheet = Object.assign(document.createElement("canvas"), { width: Math.round(width), height: Math.round(height) });
  const context = sheet.getContext("2d");
  const node = (i, j) => [i * w / MESH, j * h / MESH], ahead = ([x, y]) => map[6] * x + map[7] * y + map[8];
  const sign = Math.sign(ahead([w / 2, h / 2]));
  for (let i = 0; i < MESH; i += 1) for (let j = 0; j < MESH; j += 1) {
    const corners = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
    if (corners.some((place) => sign * ahead(place) <= 0)) continue;             // behind the camera
    for (const three of [[0, 1, 2], [0, 2, 3]]) {
      const from = three.map((k) => corners[k]);
      paintTriangle(context, left.pixels, from, from.map((place) => carried(place, map)));
    }
  }
  board.laid = { name, sheet };
  return sheet;
}

function paintOverlay(board) {
  const { context, images, data } = board, fade = board.memory.fade ?? 0.5;
  paintImage(board, 1);
  if (!images[0]?.pixels || !images[1]?.pixels) return;
  const side = data.over.length ? 1 : 0, [x, y, w, h] = board.boxes[side];
  const [left, top] = board.toScreen(side, [x, y]), [right, bottom] = board.toScreen(side, [x + w, y + h]);
  context.globalAlpha = fade;
  context.drawImage(data.over.length ? laidOver(board) : images[0].pixels, left, top, right - left, bottom - top);
  context.globalAlpha = 1;
}
