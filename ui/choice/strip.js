// The strip of examples: as many chips as fit beside each other, the rest in a menu at the end; on a phone it scrolls.
const LEAST = 124;              // pixels that a chip needs
const PHONE = 640;
const CAMERA = "M4 8h3l2-3h6l2 3h3v11H4zM12 10.5a3.2 3.2 0 1 0 0 6.4 3.2 3.2 0 0 0 0-6.4z";
const FETCH = "M12 4v11m-5-5 5 5 5-5M5 20h14";

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function icon(path) {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  drawing.append(line);
  return drawing;
}

function chip(item, data, take) {
  const made = element("button", { type: "button", className: "chip", title: item.about, disabled: data.locked });
  made.classList.toggle("own", item.own);
  made.classList.toggle("on", item.on);
  made.ariaPressed = String(item.on);
  const picture = item.src ? element("img", { src: item.src, alt: "" }) : icon(item.own ? CAMERA : FETCH);
  made.append(picture, element("span", { textContent: item.title }));
  made.onclick = () => take(item.title);
  return made;
}

function fill(root, data, take) {
  const chips = data.items.map((item) => chip(item, data, take));
  const menu = element("div", { className: "menu", hidden: true });
  const opener = element("button", { type: "button", className: "chip others", textContent: "Others ▾" });
  opener.ariaExpanded = "false";
  opener.setAttribute("aria-haspopup", "true");
  const open = (shown) => { menu.hidden = !shown; opener.ariaExpanded = String(shown); };
  opener.onclick = () => open(menu.hidden);
  const rest = element("div", { className: "rest" }, opener, menu);
  const arrange = () => {
    const width = root.clientWidth, room = width - (chips[0].classList.contains("own") ? 215 : 0);
    const all = width < PHONE || room / (chips.length - 1) >= LEAST;
    const fits = all ? chips.length : Math.max(2, Math.floor((room - 90) / LEAST) + 1);
    root.replaceChildren(...chips.slice(0, fits), ...(all ? [] : [rest]));
    menu.replaceChildren(...chips.slice(fits));
  };
  root.ends?.abort();
  const ends = (root.ends = new AbortController());
  const away = (event) => { if (!event.composedPath().includes(rest)) open(false); };
  document.addEventListener("pointerdown", away, { signal: ends.signal });
  root.addEventListener("keydown", (event) => { if (event.key === "Escape") open(false); }, { signal: ends.signal });
  const observer = new ResizeObserver(arrange);
  observer.observe(root);
  ends.signal.addEventListener("abort", () => observer.disconnect());
  arrange();
}

export default function ({ parentElement, data: [data], setTriggerValue }) {
  const root = parentElement.querySelector(".strip"), state = JSON.stringify(data);
  const take = (title) => setTriggerValue("take", title);
  if (root.state !== state) { root.state = state; fill(root, data, take); }
  const turn = (root.turn = (root.turn ?? 0) + 1);
  return () => {
    if (root.turn === turn) { root.ends?.abort(); root.state = ""; }   // an update that follows fills it again
  };
}
