// The tab remembers which chapters are answered, so that a reload does not forget them.
const NAME = "adgm chapters answered";

export default function ({ data, setStateValue }) {
  try {
    const before = JSON.parse(window.sessionStorage.getItem(NAME) ?? "[]");
    const missing = before.filter((key) => !data.answered.includes(key)).join();
    if (missing && window.adgmAnswered !== missing) setStateValue("before", before);   // once, and not with every drawing
    window.adgmAnswered = missing;
    window.sessionStorage.setItem(NAME, JSON.stringify([...new Set([...before, ...data.answered])]));
  } catch {
    // A browser may forbid it, as in another site's frame: then a reload begins anew.
  }
}
