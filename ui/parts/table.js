// A table: the line under the pointer, or with the keyboard's focus, is told; a click holds it.
const WAIT = 90;                // milliseconds that the pointer must rest: crossing the table lights nothing
const LEAVE = 400;              // after so many without it, nothing is lit any more

function cell(tag, text, bar) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (bar) {
    made.classList.add(bar > 0 ? "answer" : "truth");
    made.style.setProperty("--reach", `${Math.round(100 * Math.abs(bar))}%`);
  }
  return made;
}

function build(root, data) {
  const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
  head.append(...data.header.map((text) => cell("th", text)));
  data.rows.forEach((texts, k) => {
    const row = body.insertRow();
    row.tabIndex = 0;
    row.dataset.line = k;
    row.append(...texts.map((text, at) => cell("td", text, at === texts.length - 1 ? data.bars[k] : 0)));
  });
  root.replaceChildren(table);
}

export default function ({ parentElement, data, setStateValue }) {
  const root = parentElement.querySelector(".lines"), shown = JSON.stringify(data);
  root.tell = setStateValue;
  if (root.shown === shown) return;
  root.shown = shown;
  root.style.maxHeight = data.tall ? `max(${data.height}px, calc(100vh - 26rem))` : `${data.height}px`;
  root.held = root.told = null;
  build(root, data);
  const tell = (line) => {
    if (root.told === line) return;
    root.told = line;
    root.querySelectorAll("tbody tr").forEach((row, k) => row.setAttribute("aria-selected", String(k === line)));
    root.tell("line", line);
  };
  const lineOf = (event) => {
    const row = event.target.closest("tr[data-line]");
    return row ? Number(row.dataset.line) : null;
  };
  root.onmouseover = (event) => {
    clearTimeout(root.timer);
    const line = lineOf(event);
    if (root.held === null && line !== null) root.timer = setTimeout(() => tell(line), WAIT);
  };
  root.onmouseleave = () => {
    clearTimeout(root.timer);
    if (root.held === null) root.timer = setTimeout(() => { if (root.isConnected) tell(null); }, LEAVE);
  };
  root.onfocusin = (event) => { if (root.held === null && lineOf(event) !== null) tell(lineOf(event)); };
  root.onclick = (event) => {
    const line = lineOf(event);
    clearTimeout(root.timer);
    root.held = root.held === line ? null : line;
    tell(line);
  };
  root.onkeydown = (event) => {
    const row = event.target.closest("tr[data-line]");
    const next = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling }[event.key];
    if (next) { event.preventDefault(); root.held = null; next.focus(); }
    if (event.key === "Escape") { root.held = null; tell(null); }
  };
}
