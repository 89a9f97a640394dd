// The results below the picture. Python says what; here it is laid out. Every text is set with textContent.

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

const text = (className, words) => element("span", { className, textContent: words });

function sketch(name) {
  const at = (x, y) => svg("circle", { cx: x, cy: y, r: 4.5, fill: "currentColor" });
  const line = (x1, y1, x2, y2, look) => svg("line", { x1, y1, x2, y2, ...look });
  const left = [[10, 12], [10, 33], [10, 54]], right = [[86, 12], [86, 33], [86, 54]];
  const shapes = {
    question: () => [...[[12, 14], [32, 6], [26, 40], [66, 8], [88, 20], [70, 46], [92, 50]].map(([x, y]) => at(x, y)),
      Object.assign(svg("text", { x: 50, y: 38, "text-anchor": "middle", class: "mark" }), { textContent: "?" })],
    method: () => [line(10, 12, 86, 12, { class: "sure" }), line(10, 33, 86, 33, { class: "sure thin" }),
      line(10, 54, 86, 54, { class: "sure thinner" }), line(10, 12, 86, 33, { class: "maybe" }),
      line(10, 54, 86, 12, { class: "maybe" }), line(10, 33, 86, 54, { class: "maybe" }),
      ...[...left, ...right].map(([x, y]) => at(x, y))],
    alike: () => [...left.map(([x, y], k) => line(x, y, 86, right[k][1], { class: "right" })),
      ...[...left, ...right].map(([x, y]) => at(x, y))],
    apart: () => [...left, ...right].map(([x, y]) => at(x, y)),
    answer: () => [line(10, 12, 86, 12, { class: "right" }), line(10, 33, 86, 33, { class: "right" }),
      line(10, 54, 86, 46, { class: "wrong" }), ...[...left, [86, 12], [86, 33], [86, 46]].map(([x, y]) => at(x, y))],
  };
  return svg("svg", { viewBox: "0 0 100 62", class: "sketch", "aria-hidden": "true" }, ...shapes[name]());
}

function steps(data) {
  return data.steps.map(([shape, title, words]) => element("section", { className: "step" },
    sketch(shape), element("div", {}, element("h3", { textContent: title }), element("p", { textContent: words }))));
}

function table(data, send) {
  const head = data.head.length ? [element("div", { className: "row head" }, text("name", "Answer"),
    text("right", data.head[0]), text("cost", data.head[1]))] : [];
  const rows = data.rows.map((row) => {
    const cells = [element("span", { className: "name" }, text("label", row.name), text("note", ` ${row.note}`)),
      text("right", row.right), text("cost", row.cost)];
    const made = row.stop ? element("button", { type: "button", className: "row", onclick: () => send("stop", row.stop) }, ...cells)
      : element("div", { className: "row" }, ...cells);
    if (row.stop) made.ariaPressed = String(row.on);
    made.classList.toggle("on", row.on);
    return made;
  });
  const foot = data.foot ? [text("hint", data.foot)] : [];
  return element("section", { className: head.length ? "table" : "table facts" }, ...head, ...rows, ...foot);
}

function phase({ names, at, about, sure }) {
  const stations = element("ol", {}, ...names.map((name, k) => {
    const made = element("li", { className: k === at ? "at" : "" }, text("digit", String(k + 1)), text("", name));
    if (k === at) made.ariaCurrent = "step";
    return made;
  }));
  const bars = element("div", { className: "sure", role: "img", ariaLabel: "How sure each left point is of its partner" },
    ...sure.map((value) => {
      const bar = element("i");
      bar.style.setProperty("--high", `${100 * value}%`);
      return bar;
    }));
  return element("section", { className: "phase" }, element("h3", { textContent: "What happens now" }), stations,
    element("p", { textContent: about }),
    element("div", { className: "how" }, text("hint", "How sure each left point is"), bars));
}

function bars({ name, bars: each }, className, send) {
  return element("div", { className: `bars ${className}` }, element("h4", { textContent: each.length ? name : "" }),
    ...each.map(({ pair, width, value }) => {
      const bar = element("u");
      bar.style.width = `${Math.max(2, 100 * width)}%`;
      return element("button", { type: "button", className: "bar", title: "Look at this match", onclick: () => send("match", pair) },
        text("pair", `${pair[0]} → ${pair[1]}`), element("span", { className: "track" }, bar), text("value", value));
    }));
}

const why = (send) => element("button", { type: "button", className: "debug", textContent: "Why? Open in Debug", onclick: () => send("debug", true) });

function match(data, send) {
  const title = element("h3", {}, text("", data.title));
  if (data.badge) title.append(text(data.wrong ? "badge bad" : "badge good", data.badge));
  const let_go = element("button", { type: "button", className: "close", textContent: "×", title: "Back to all matches", ariaLabel: "Back to all matches", onclick: () => send("match", null) });
  return element("section", { className: "match" }, element("header", {}, title, why(send), let_go),
    element("p", { textContent: data.about }),
    element("div", { className: "fits" }, bars(data.well, "well", send), bars(data.badly, "badly", send)));
}

const watch = new ResizeObserver((entries) => entries.forEach(({ target }) => fitting(target)));

function fitting(box) {         // as many chips as there is room for, whole ones; the last one tells how many are left out
  const [chips, rest] = [[...box.querySelectorAll(".chip:not(.rest)")], box.querySelector(".rest")];
  const more = Number(box.dataset.more), open = box.classList.contains("open");
  const lay = (count) => {
    chips.forEach((chip, k) => { chip.hidden = k >= count; });
    rest.hidden = count === chips.length && !more;
    rest.textContent = `${chips.length - count + more} more`;
    return box.scrollHeight <= box.clientHeight + 1;
  };
  let count = chips.length;
  while (!lay(count) && count > 1 && !open) count -= 1;
}

function chip(pair, patches, sure, send) {        // a match to look at: what it looks like in both pictures, else its numbers
  const name = `${pair[0]} → ${pair[1]}`, made = element("button", { type: "button", className: "chip", onclick: () => send("match", pair) });
  if (!patches) made.textContent = name;
  else {
    made.classList.add("patches");
    Object.assign(made, { ariaLabel: name, title: `Left ${name.replace("→", "→ right")}, confidence ${sure}` });
    made.append(...patches.map((src) => element("img", { src, alt: "" })), text("", sure));
  }
  return made;
}

function look({ title, pairs, patches, sure, more, first }, send) {
  const chips = pairs.map((pair, k) => chip(pair, patches[k], sure[k], send));
  const box = element("div", { className: "chips" }, ...chips);
  box.append(element("button", { type: "button", className: "chip rest", title: "Show them all", onclick: () => { box.classList.add("open"); fitting(box); } }));
  box.dataset.more = more;
  watch.observe(box);
  return element("section", { className: "look" }, element("header", {}, element("h3", { textContent: title }),
    text("hint", patches.length ? "With its confidence. Click one to find it in the pictures." : "Click a line, or one of these, to see what speaks for it and against it."), why(send)),
    box,
    ...(first ? [element("div", { className: "example" }, element("p", { textContent: `${first.title}: ${first.about}` }),
      element("div", { className: "fits" }, bars(first.well, "well", send), bars(first.badly, "badly", send)))] : []));
}

export default function ({ parentElement, data: [data], setTriggerValue }) {
  const root = parentElement.querySelector(".answers"), state = JSON.stringify(data);
  if (root.state === state) return;
  root.state = state;
  const focus = root.getRootNode().activeElement, kept = focus && root.contains(focus) ? focus.textContent : null;
  const main = data.steps ? steps(data)
    : [table(data, setTriggerValue), data.phase ? phase(data.phase) : data.match ? match(data.match, setTriggerValue) : look(data.look, setTriggerValue)];
  root.replaceChildren(element("div", { className: "panel" }, ...main),
    element("div", { className: "foot" }, text("status", data.status), text("summary", data.summary)));
  if (kept) [...root.querySelectorAll("button")].find((one) => one.textContent === kept)?.focus();
}
