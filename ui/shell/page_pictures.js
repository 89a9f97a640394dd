// The pictures that a page shows now, to be taken away: as they are seen, PNG and PDF; drawings also as SVG.

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "visibility", "display"];
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
    if (!isSheet && !isDrawing) continue;
    const { width, height } = one.getBoundingClientRect();
    if (Math.min(width, height) >= SMALLEST && !one.closest('[data-testid="stDataFrame"]') && one.checkVisibility()) seen.push(one);
  }
  return seen;
}

function nameOf(picture, k) {
  const host = picture.closest("[aria-label]") ?? picture.getRootNode().host?.closest("[aria-label]");
  const words = (picture.getAttribute("aria-label") ?? host?.getAttribute("aria-label") ?? "").split(/[:.;]/)[0].trim();
  return words && words.length < 60 ? words : `Picture ${k + 1}`;
}

const paper = () => getComputedStyle(document.querySelector('[data-testid="stApp"]') ?? document.body).backgroundColor;

function asSvg(drawing) {
  const copy = drawing.cloneNode(true), { width, height } = drawing.getBoundingClientRect();
  const [mine, theirs] = [[drawing, ...drawing.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  mine.forEach((one, k) => {
    const look = getComputedStyle(one);
    theirs[k].setAttribute("style", LOOKS.map((name) => `${name}:${look.getPropertyValue(name)}`).join(";"));
  });
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
  if (picture instanceof SVGSVGElement) made.append(button("SVG", async () => asSvg(picture)));
  return made;
}

export default function ({ parentElement, data: [data] }) {
  const root = parentElement.querySelector(".page-pictures"), pictures = found();
  root.replaceChildren(...pictures.map((picture, k) => row(picture, k, data.page)));
  if (!pictures.length) root.textContent = "This page shows no picture now.";
}
