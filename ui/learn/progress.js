// The tab remembers which chapters are answered, and its name in a class, so that a reload does not forget them.
const ANSWERED = "adgm chapters answered", NAME = "adgm name in a class";

export default function ({ data, setStateValue }) {
  try {
    const before = JSON.parse(window.sessionStorage.getItem(ANSWERED) ?? "[]");
    const missing = before.filter((key) => !data.answered.includes(key)).join();
    if (missing && window.adgmAnswered !== missing) setStateValue("before", before);   // once, and not with every drawing
    window.adgmAnswered = missing;
    window.sessionStorage.setItem(ANSWERED, JSON.stringify([...new Set([...before, ...data.answered])]));
    const name = window.sessionStorage.getItem(NAME) ?? data.name;
    if (name !== data.name && window.adgmName !== data.name) setStateValue("name", name);
    window.adgmName = data.name;
    window.sessionStorage.setItem(NAME, name);
  } catch {
    // A browser may forbid it, as in another site's frame: then a reload begins anew.
  }
}
