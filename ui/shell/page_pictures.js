// The pictures that a page shows now, to be taken away: as they are seen, PNG and PDF; drawings also as SVG.

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "visibility", "display"];
const DRAWN = "[data-picture]";  // what is laid out as text and boxes, and still is a picture
const SMALLEST = 120;           // pixels: what is smaller is an icon
const SHARP = 2;                // pixels of a file for one of the screen

function* everything(root) {    // also what stands within components
  for (const one of root.querySelectorAll("*")) {
    yield one;
    if (one.shadowRoot) yield* everything(one.shadowRoot);
  }
}

function found() {
  const main = document.querySelector('[data-testid="stMain"]') ?? document.body, seen = [];
  for (const one of everything(main)) {
    const isSheet = one instanceof HTMLCanvasElement, isDrawing = one instanceof SVGSVGElement && !one.parentElement?.closest?.("svg");
    const isLaid = one.matches(DRAWN);
    if (!isSheet && !isDrawing && !isLaid) continue;
    if (!isLaid && one.closest(DRAWN)) continue;   // it is part of that one
    const { width, height } = one.getBoundingClientRect();
    if (Math.min(width, height) >= SMALLEST && !one.closest('[data-testid="stDataFrame"]') && one.checkVisibility()) seen.push(one);
  }
  return seen;
}

function nameOf(picture, k) {
  const host = picture.closest("[aria-label]") ?? picture.getRootNode().host?.closest("[aria-label]");
  const words = (picture.dataset?.picture ?? picture.getAttribute("aria-label") ?? host?.getAttribute("aria-label") ?? "").split(/[:.;]/)[0].trim();
  return words && words.length < 60 ? words : `Picture ${k + 1}`;
}

const paper = () => getComputedStyle(document.querySelector('[data-testid="stApp"]') ?? document.body).backgroundColor;

// What is laid out as a drawing of its own: boxes with their colours, texts where they stand, drawings within.
function laidOut(root) {
  const from = root.getBoundingClientRect(), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const make = (tag, attributes, text) => {
    const one = svg.appendChild(document.createElementNS(svg.namespaceURI, tag));
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    if (text) one.textContent = text;
    return one;
  };
  make("rect", { width: from.width, height: from.height, fill: paper() });
  for (const one of root.querySelectorAll("*")) {
    if (one.closest("svg")) {
      if (!(one instanceof SVGSVGElement)) continue;
      const { x, y, width, height } = one.getBoundingClientRect(), inner = svg.appendChild(styled(one));
      for (const [name, value] of Object.entries({ x: x - from.x, y: y - from.y, width, height })) inner.setAttribute(name, value);
      continue;
    }
    const look = getComputedStyle(one), box = one.getBoundingClientRect(), outline = parseFloat(look.outlineWidth) || 0;
    const place = { x: box.x - from.x, y: box.y - from.y, width: box.width, height: box.height, rx: parseFloat(look.borderRadius) || 0 };
    if (look.backgroundColor !== "rgba(0, 0, 0, 0)") make("rect", { ...place, fill: look.backgroundColor });
    if (outline && look.outlineStyle !== "none") make("rect", { ...place, fill: "none", stroke: look.outlineColor, "stroke-width": outline });
    if (parseFloat(look.borderBottomWidth) && look.borderBottomStyle !== "none" && !parseFloat(look.borderTopWidth)) {
      make("rect", { x: place.x, y: place.y + place.height - 3, width: place.width, height: 3, fill: look.borderBottomColor });
    }
    for (const node of one.childNodes) if (node.nodeType === Node.TEXT_NODE && node.data.trim()) lines(node).forEach(({ text, x, y, right }) => make("text",
      { x: x - from.x, y: y - from.y, fill: look.color, "fill-opacity": look.opacity, "dominant-baseline": "central", "font-family": look.fontFamily,
        "font-size": look.fontSize, "font-weight": look.fontWeight,
        textLength: right - x, lengthAdjust: "spacingAndGlyphs" }, text));    // as wide in whatever font it is shown
  }
  return svg;
}

function lines(node) {          // a text as it is broken, each line with its left end and middle
  const range = document.createRange(), found = [];
  [...node.data].reduce((at, letter) => {
    range.setStart(node, at);
    range.setEnd(node, at + letter.length);
    const box = range.getClientRects()[0], last = found.at(-1);
    if (box && last && Math.abs(last.y - box.y - box.height / 2) < 3) Object.assign(last, { text: last.text + letter, right: Math.max(last.right, box.right) });
    else if (box && box.width) found.push({ text: letter, x: box.x, right: box.right, y: box.y + box.height / 2 });
    return at + letter.length;
  }, 0);
  return found;
}

function styled(drawing) {
  const copy = drawing.cloneNode(true);
  const [mine, theirs] = [[drawing, ...drawing.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  mine.forEach((one, k) => {
    const look = getComputedStyle(one);
    theirs[k].setAttribute("style", LOOKS.map((name) => `${name}:${look.getPropertyValue(name)}`).join(";"));
  });
  return copy;
}

function asSvg(drawing) {
  const { width, height } = drawing.getBoundingClientRect();
  const copy = drawing instanceof SVGSVGElement ? styled(drawing) : laidOut(drawing);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  if (!copy.getAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

async function asSheet(picture) {  // its pixels, on the page's own colour
  const { width, height } = picture.getBoundingClientRect(), isSheet = picture instanceof HTMLCanvasElement;
  const size = isSheet ? [picture.width, picture.height] : [Math.round(width * SHARP), Math.round(height * SHARP)];
  const sheet = Object.assign(document.createElement("canvas"), { width: size[0], height: size[1] });
  const context = sheet.getContext("2d");
  context.fillStyle = paper();
  context.fillRect(0, 0, ...size);
  if (isSheet) context.drawImage(picture, 0, 0);
  else {
    const image = new Image(), address = URL.createObjectURL(asSvg(picture));
    await new Promise((done, failed) => Object.assign(image, { onload: done, onerror: failed, src: address }));
    context.drawImage(image, 0, 0, ...size);
    URL.revokeObjectURL(address);
  }
  return sheet;
}

const blobOf = (sheet, type) => new Promise((done) => sheet.toBlob(done, type, 0.95));

async function asPdf(sheet) {   // one page with one picture: points of 1/72 inch, the picture's pixels as JPEG
  const jpeg = new Uint8Array(await (await blobOf(sheet, "image/jpeg")).arrayBuffer());
  const [w, h] = [sheet.width / SHARP, sheet.height / SHARP], text = new TextEncoder(), parts = [], places = [];
  let length = 0;
  const put = (one) => { const bytes = typeof one === "string" ? text.encode(one) : one; parts.push(bytes); length += bytes.length; };
  const object = (number, ...body) => { places[number] = length; put(`${number} 0 obj\n`); body.forEach(put); put("\nendobj\n"); };
  const drawn = `q ${w} 0 0 ${h} 0 0 cm /P Do Q`;
  put("%PDF-1.4\n");
  object(1, "<< /Type /Catalog /Pages 2 0 R >>");
  object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
  object(3, `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${w} ${h}] /Contents 4 0 R /Resources << /XObject << /P 5 0 R >> >> >>`);
  object(4, `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`);
  object(5, `<< /Type /XObject /Subtype /Image /Width ${sheet.width} /Height ${sheet.height} /ColorSpace /DeviceRGB `
    + `/BitsPerComponent 8 /Filter /DCTDecode /Length ${jpeg.length} >>\nstream\n`, jpeg, "\nendstream");
  const table = length;
  put(`xref\n0 6\n0000000000 65535 f \n${places.slice(1).map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("")}`);
  put(`trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`);
  return new Blob(parts, { type: "application/pdf" });
}

function save(blob, name) {     // a link that is nowhere on the page: a click elsewhere would close what is open
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function row(picture, k, page) {
  const made = Object.assign(document.createElement("div"), { className: "row" }), name = nameOf(picture, k);
  const button = (kind, make) => {
    const one = Object.assign(document.createElement("button"), { type: "button", textContent: kind, ariaLabel: `${name} as ${kind}` });
    one.onclick = async () => save(await make(), `${page}-${k + 1}.${kind.toLowerCase()}`);
    return one;
  };
  const label = Object.assign(document.createElement("span"), { textContent: name, title: name });
  made.append(label, button("PNG", async () => blobOf(await asSheet(picture), "image/png")),
    button("PDF", async () => asPdf(await asSheet(picture))));
  if (!(picture instanceof HTMLCanvasElement)) made.append(button("SVG", async () => asSvg(picture)));
  return made;
}

export default function ({ parentElement, data: [data] }) {
  const root = parentElement.querySelector(".page-pictures"), pictures = found();
  root.replaceChildren(...pictures.map((picture, k) => row(picture, k, data.page)));
  if (!pictures.length) root.textContent = "This page shows no picture now.";
}
