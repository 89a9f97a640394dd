// The formula editor: a text field with coloured words and underlined mistakes, what is wrong below it, and the
// quantities that the line under the cursor may use. What is typed is told to Python after a short rest.

const REST = 250;               // milliseconds without a key until what was typed is checked
const TOKEN = /#.*|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\s+|./gy;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function picture({ thin = "", bold = "", area = "", dots = [], letters = [] }) {
  const words = letters.map(([text, x, y]) => {
    const made = svg("text", { x, y, "text-anchor": "middle" });
    made.textContent = text;
    return made;
  });
  return svg("svg", { viewBox: "0 0 64 40", "aria-hidden": "true" }, svg("path", { class: "area", d: area }),
    svg("path", { class: "thin", d: thin }), svg("path", { class: "bold", d: bold }),
    ...dots.map(([cx, cy]) => svg("circle", { cx, cy, r: 2 })), ...words);
}

class Editor {
  constructor(root) {
    this.root = root;
    this.version = null;
    this.field = element("textarea", { spellcheck: false, autocapitalize: "off", autocomplete: "off", rows: 2, ariaLabel: "Formula" });
    this.field.setAttribute("aria-describedby", "told");
    this.behind = element("pre", { ariaHidden: "true" });
    this.told = element("div", { id: "told", className: "told" });
    this.told.setAttribute("role", "status");
    this.names = element("div", { className: "names" });
    this.about = element("div", { className: "about" });
    root.replaceChildren(element("style", { textContent: STYLE }),
      element("div", { className: "field" }, this.behind, this.field), this.told, element("div", { className: "offer" }, this.names, this.about),
      element("div", { className: "quiet", textContent: "Any other name becomes a slider. Costs are minimised." }));
    this.field.oninput = () => this.typed();
    this.field.onblur = () => this.tell();
    this.field.onkeydown = (event) => {
      event.stopPropagation();                      // the page's keys are not for whoever types
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.tell();
    };
    this.field.onkeyup = this.field.onclick = () => this.offer();
    this.field.onscroll = () => { this.behind.scrollTop = this.field.scrollTop; };
  }

  update(data, send) {
    Object.assign(this, { data, send });
    if (this.version !== data.version) {            // another text, not an answer to what was typed here
      clearTimeout(this.timer);
      this.version = data.version;
      this.field.value = this.sent = data.text;
    }
    this.draw();
    this.offer();
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tell(), REST);
    this.draw();
    this.offer();
  }

  tell() {
    clearTimeout(this.timer);
    if (this.field.value === this.sent) return;
    this.sent = this.field.value;
    this.send("typed", { text: this.sent, serial: Date.now() });
  }

  // ---------------------------------------------------------------- the text and its mistakes

  get current() { return this.field.value === this.data.text; }   // whether what is told is about what stands there

  draw() {
    const found = this.current ? this.data.mistakes : [], lines = this.field.value.split("\n");
    this.behind.replaceChildren(...lines.flatMap((line, k) => [...this.coloured(line, found.filter((one) => one.line === k + 1)), "\n"]));
    this.field.style.height = "auto";
    this.field.style.height = `${Math.max(this.behind.scrollHeight, 44)}px`;
    this.field.ariaInvalid = String(found.length > 0);
    if (this.current) this.say();
  }

  coloured(line, mistakes) {
    const made = [], titled = /^\s*name\b/.test(line);
    let first = true;
    for (const [text] of line.matchAll(TOKEN)) {
      const at = made.reduce((sum, one) => sum + one.textContent.length, 0);
      const kind = titled && !first ? "" : text.startsWith("#") ? "comment" : /^\d/.test(text) ? "number" : !/^[A-Za-z_]/.test(text) ? ""
        : first ? "first" : WORDS.includes(text) ? "word" : FUNCTIONS.includes(text) ? "function"
        : text in QUANTITIES ? "quantity" : "parameter";
      if (text === ";") first = true;
      else if (text.trim()) first = false;
      const wrong = mistakes.some((one) => one.column - 1 >= at && one.column - 1 < at + text.length);
      made.push(element("span", { className: `${kind} ${wrong ? "wrong" : ""}`, textContent: text }));
    }
    const beyond = mistakes.some((one) => one.column - 1 >= line.length);
    if (beyond) made.push(element("span", { className: "wrong", textContent: " " }));
    return made;
  }

  say() {
    const { mistakes, hints, kept } = this.data, [wrong] = mistakes, found = wrong ?? hints[0];
    this.told.className = `told ${wrong ? "mistake" : "hint"}`;
    if (!found) return this.told.replaceChildren();
    const where = this.field.value.includes("\n") ? `Line ${found.line}, column ${found.column}` : `Column ${found.column}`;
    const go = element("button", { type: "button", textContent: where, title: "Go there", onclick: () => this.go(found) });
    this.told.replaceChildren(go, ` ${found.message}`, ...(wrong && kept ? [element("small", { textContent: kept })] : []));
  }

  go({ line, column }) {
    const before = this.field.value.split("\n").slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    this.field.focus();
    this.field.setSelectionRange(before + column - 1, before + column - 1);
  }

  // ---------------------------------------------------------------- what can be measured

  get line() {                  // what the line under the cursor compares: points, edges, triangles or quadruples
    const before = this.field.value.slice(0, this.field.selectionStart), begin = before.lastIndexOf("\n") + 1;
    const rest = this.field.value.slice(begin).split("\n")[0].trim().split(/\s/)[0];
    return ORDERS.includes(rest) ? rest : this.offered ?? ORDERS.find((word) => this.field.value.includes(word));
  }

  offer() {
    const what = this.line ?? "edges";
    if (this.offered === what && this.names.children.length) return;
    this.offered = what;
    const chips = NAMES[what].map((one) => {
      const chip = element("button", { type: "button", className: "chip", title: `${one.label}: ${one.tip}` }, picture(DRAWINGS[one.drawing] ?? {}),
        element("code", { textContent: one.name }));
      chip.ariaLabel = `Insert ${one.written[0]}, ${one.label}`;
      chip.onmousedown = (event) => event.preventDefault();           // the cursor stays in the text
      chip.onclick = () => this.insert(one.written.join(" - "));
      chip.onmouseenter = chip.onfocus = () => this.explain(one);
      chip.onmouseleave = chip.onblur = () => this.explain(null);
      return chip;
    });
    this.names.replaceChildren(...chips);
    this.names.ariaLabel = `What can be measured of ${what}`;
    this.names.setAttribute("role", "group");
    this.explain(null);
  }

  explain(one) {
    const written = one && (one.written.length > 1 ? `${one.written[0]} on the left, ${one.written[1]} on the right` : one.name);
    this.about.replaceChildren(...(one ? [picture(DRAWINGS[one.drawing] ?? {}),
      element("span", {}, element("b", { textContent: `${one.label}${one.unit ? ` (${one.unit})` : ""}` }), ` ${one.tip} `, element("code", { textContent: written }))]
      : []));
    this.about.hidden = !one;
  }

  insert(text) {
    const { selectionStart: from, selectionEnd: to, value } = this.field;
    const lead = from && /[\w)]$/.test(value.slice(0, from)) ? " " : "";
    this.field.setRangeText(lead + text, from, to, "end");
    this.field.focus();
    this.typed();
  }
}

export function editor({ parentElement, data, setStateValue }) {
  const root = parentElement.querySelector(".formula-editor");
  root.editor ??= new Editor(root);
  root.editor.update(data, setStateValue);
}
