// Where pictures stand on a stage, and which of many lines are drawn there. Python joins this file to canvas.js.

// A picture in a rectangle: as large as covers it, but no larger than shows all of `kept`. [left, top, width, height] each.
function filling([left, top, width, height], [x, y, w, h], [kx, ky, kw, kh]) {
  const whole = Math.min(w / width, h / height), cover = Math.max(w / width, h / height);
  const scale = clamp(Math.min(w / kw, h / kh), whole, cover);
  const along = (from, room, low, length, keep, keeps) => {
    if (length * scale <= room) return from + (room - length * scale) / 2;
    return clamp(from + room / 2 - (keep + keeps / 2 - low) * scale, from + room - length * scale, from);
  };
  return { scale, offset: [along(x, w, left, width, kx, kw), along(y, h, top, height, ky, kh)],
    area: Math.min(w, width * scale) * Math.min(h, height * scale) };
}

// Some of many lines, spread over the picture: the surest first, then always the one farthest from those chosen, where
// a sure line counts as farther than an unsure one. The same lines give the same choice.
function spread(board, lines, count) {
  if (lines.length <= count) return lines;
  const ends = lines.map((line) => [...board.points[0][line.i], ...board.points[1][line.j]]);
  const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) + Math.hypot(a[2] - b[2], a[3] - b[3]);
  const gaps = lines.map(() => Infinity), chosen = [];
  let next = lines.reduce((best, line, k) => (line.value > lines[best].value ? k : best), 0);
  while (chosen.length < count) {
    chosen.push(next);
    gaps[next] = -1;
    lines.forEach((_, k) => { if (gaps[k] >= 0) gaps[k] = Math.min(gaps[k], far(ends[k], ends[next])); });
    let most = -1;
    gaps.forEach((gap, k) => { const worth = gap * (0.2 + lines[k].value); if (gap >= 0 && worth > most) [most, next] = [worth, k]; });
  }
  return chosen.sort((a, b) => a - b).map((k) => lines[k]);
}
