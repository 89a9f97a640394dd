// Keys for the whole page. They press the page's own buttons, so that a key can do nothing that a click cannot.
const SIGNS = { ArrowRight: "→", ArrowLeft: "←", PageDown: "Page ↓", PageUp: "Page ↑" };

// Whoever types, drags a slider or opens a list keeps the keys to themselves.
function taken(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return true;
  const inner = event.composedPath()[0];
  if (!(inner instanceof Element)) return false;
  if (inner.closest("input[type=radio], input[type=checkbox]")) return event.key.startsWith("Arrow");
  const own = "input, textarea, select, [contenteditable], [role=slider], [role=combobox], [role=listbox], [role=menu]";
  if (inner.closest(own)) return true;
  return event.key.length > 1 && inner.closest("[data-arrows], canvas, [role=tablist], [role=radiogroup], [role=grid]");
}

// All that match on the page, also in the boards, which keep their elements to themselves (in shadow roots).
function everywhere(selector, root = document.querySelector('[data-testid="stMain"]')) {
  if (!root) return [];
  const inner = [...root.querySelectorAll("*")].filter((one) => one.shadowRoot);
  return [...root.querySelectorAll(selector), ...inner.flatMap((one) => everywhere(selector, one.shadowRoot))];
}

function named(names) {
  const buttons = everywhere("button").filter((one) => !one.disabled);
  const label = (one) => (one.querySelector('[data-testid="stMarkdownContainer"]') ?? one).textContent.trim();
  for (const name of names) {
    const found = buttons.find((one) => label(one) === name);
    if (found) return found;
  }
  return null;
}

function entry(list, keys, does) {
  const term = list.appendChild(document.createElement("dt"));
  for (const key of keys) term.appendChild(document.createElement("kbd")).textContent = SIGNS[key] ?? key;
  list.appendChild(document.createElement("dd")).textContent = does;
}

function fill(dialog, data) {
  dialog.replaceChildren();
  dialog.appendChild(document.createElement("h2")).textContent = "Keys";
  const list = dialog.appendChild(document.createElement("dl"));
  for (const one of data.keys) entry(list, one.keys, one.does);
  for (const [keys, does] of data.picks) entry(list, [`${keys[0]} … ${keys.at(-1)}`], does);
  entry(list, ["f"], data.on ? "leave presenter mode" : "presenter mode: large type, nothing around");
  entry(list, ["?"], "show these keys");
  const close = dialog.appendChild(document.createElement("button"));
  close.textContent = "Close";
  close.onclick = () => dialog.close();
}

export default function ({ parentElement, data, setTriggerValue, setStateValue }) {
  const dialog = parentElement.querySelector("dialog");
  fill(dialog, data);
  const listen = (event) => {
    if (taken(event)) return;
    if (event.key === "?") return dialog.open ? dialog.close() : dialog.showModal();
    if (dialog.open) return;
    if (event.key === "f") return setTriggerValue("toggle", true);
    const one = data.keys.find((each) => each.keys.includes(event.key));
    const pick = data.picks.find(([keys]) => keys.includes(event.key));
    const button = pick ? everywhere(pick[2])[pick[0].indexOf(event.key)] : one && named(one.buttons);
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  };
  // One listener for the page, whoever mounted last: an update may come before the end of the one before it.
  window.presenterKeys?.abort();
  const ends = (window.presenterKeys = new AbortController());
  document.addEventListener("keydown", listen, { signal: ends.signal });
  // Python makes the pictures, and must know how tall they may be. It is told when it rests: it begins anew then.
  const measure = () => {
    if (ends.signal.aborted || !data.on || window.innerHeight === window.presenterHeight) return;
    if (!document.querySelector('[data-test-script-state="notRunning"]')) return setTimeout(measure, 250);
    setStateValue("height", (window.presenterHeight = window.innerHeight));
  };
  measure();
  window.addEventListener("resize", measure, { signal: ends.signal });
  return () => ends.abort();
}
