// Your own photographs: drop them anywhere on the page, paste, choose, or use the camera. The files go to Streamlit's
// own uploader, which stands beside this out of sight; what is shown here is where they go.
const SHEET = "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9.2a1.2 1.2 0 1 1 .01 0";

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function sketch() {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", SHEET);
  drawing.append(line);
  return drawing;
}

const uploader = () => document.querySelector('[class*="st-key-both-images"] input[type="file"]');

function hand(files) {          // to the uploader, as if they had been chosen there
  const input = uploader(), pictures = [...files].filter((file) => file.type.startsWith("image/") || /\.(hei[cf]|avif|tiff?)$/i.test(file.name));
  if (!input || !pictures.length) return false;
  const given = new DataTransfer();
  pictures.forEach((file, k) => given.items.add(file.name ? file : new File([file], `pasted ${k + 1}.png`, { type: file.type })));
  input.files = given.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}

async function paste(note) {
  try {
    const found = [];
    for (const item of await navigator.clipboard.read()) {
      const type = item.types.find((one) => one.startsWith("image/"));
      if (type) found.push(new File([await item.getType(type)], `pasted.${type.split("/")[1]}`, { type }));
    }
    note.textContent = found.length ? "" : "There is no picture in the clipboard.";
    if (found.length) hand(found);
  } catch {
    note.textContent = "The browser does not let the page read the clipboard: press Ctrl V.";
  }
}

function card(name, picture) {
  const inside = picture ? element("img", { src: picture, alt: name }) : sketch();
  return element("div", { className: picture ? "card there" : "card" }, inside, element("b", { textContent: picture ? `${name} is here` : name }));
}

function fill(root, data, send) {
  const button = (text, action, look = "") => element("button", { type: "button", textContent: text, className: look, onclick: action });
  const note = element("p", { className: "note", ariaLive: "polite" });
  root.replaceChildren(
    element("div", { className: "cards" }, card("First photograph", data.first), card("Second photograph", "")),
    element("div", { className: "ways" }, element("b", { textContent: data.first ? "Drop the second one here or" : "Drop both here or" }),
      button(data.first ? "Choose a file" : "Choose two files", () => uploader()?.click(), "main"), button("Paste", () => paste(note)),
      button("Camera", () => send("camera", true)), button("Other files", () => send("other", true), "other")),
    element("p", { textContent: data.about }), note);
}

function box(title, ...children) {
  return element("section", {}, element("h3", { textContent: title }), ...children);
}

function beside(root, data, send) {   // where the charts will be: what happens, other pictures, other files
  const steps = [[`Up to ${data.points} points are found`, "in each picture"], ["They are matched, live", "by ADGM, in a few seconds"],
    ["The matches are checked", "do they agree on one change of view?"]];
  const step = ([what, more], k) => element("li", {}, element("i", { textContent: String(k + 1) }),
    element("span", {}, element("b", { textContent: what }), element("small", { textContent: more })));
  const pair = ({ title, left, right }) => element("button", { type: "button", className: "pair", onclick: () => send("take", title) },
    element("img", { src: left, alt: "" }), element("img", { src: right, alt: "" }), element("b", { textContent: title }));
  const files = [["A saved pair", "ZIP from Export and share"], ["Your own points", "CSV, beside two pictures"], ["A matching problem", "DD, QAPLIB, NPZ"]];
  const file = ([what, more]) => element("li", {}, element("span", {}, element("b", { textContent: what }), element("small", { textContent: more })),
    element("button", { type: "button", textContent: "Open", ariaLabel: `Open: ${what}`, onclick: () => send("other", true) }));
  root.replaceChildren(box("What happens next", element("ol", {}, ...steps.map(step))),
    data.ready.length ? box("No photographs at hand?", element("p", { textContent: "Take a ready pair." }), ...data.ready.map(pair))
      : box("No photographs at hand?", element("p", { textContent: "The examples above have some." })),
    box("Other files", element("ul", {}, ...files.map(file))));
}

export default function ({ parentElement, data: [data], setTriggerValue }) {
  const root = parentElement.querySelector(".drop"), aside = parentElement.querySelector(".beside"), state = JSON.stringify(data);
  root.hidden = aside.hidden = !data.empty;
  if (root.state !== state) {
    root.state = state;
    const send = (name, value) => {
      if (name === "other") document.querySelector('[data-testid="stExpandSidebarButton"]')?.click();
      else setTriggerValue(name, value);
    };
    if (data.empty) for (const [part, make] of [[root, fill], [aside, beside]]) make(part, data, send);
    else [root, aside].forEach((part) => part.replaceChildren());
  }
  window.photographs?.abort();   // one listener for the page, whoever mounted last
  const ends = (window.photographs = new AbortController()), options = { signal: ends.signal };
  const brings = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    root.classList.add("over");
  }, options);
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) root.classList.remove("over"); }, options);
  document.addEventListener("drop", (event) => {
    root.classList.remove("over");
    const box = event.target.closest?.('[data-testid="stFileUploaderDropzone"]');
    if (!brings(event) || box) return;       // a box of its own takes what is dropped into it
    event.preventDefault();
    hand(event.dataTransfer.files);
  }, options);
  document.addEventListener("paste", (event) => { if (hand(event.clipboardData?.files ?? [])) event.preventDefault(); }, options);
  return () => ends.abort();
}
