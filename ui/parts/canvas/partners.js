// Who is whose partner in edit mode: pairs [left, right] of point numbers, one-to-one; a point is [side, number].

const touches = ([i, j], [side, k]) => (side ? j : i) === k;

function partnerOf(partners, point) {
  const found = partners.find((pair) => touches(pair, point));
  return found ? [1 - point[0], found[1 - point[0]]] : null;
}

function single(partners, point) { return partners.filter((pair) => !touches(pair, point)); }

function paired(partners, a, b) {        // both leave whom they had
  const [left, right] = a[0] ? [b, a] : [a, b];
  return [...single(single(partners, left), right), [left[1], right[1]]].sort((one, other) => one[0] - other[0]);
}

function withoutPoint(partners, point) { // the points after it count one less
  const [side, k] = point;
  return single(partners, point).map((pair) => pair.map((number, s) => number - Number(s === side && number > k)));
}
