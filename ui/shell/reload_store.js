// The tab remembers the token of its visit, so that a reload finds its run again; a copied address tells it nobody.
const NAME = "adgm visit";

export default function ({ data, setStateValue }) {
  try {
    const earlier = window.sessionStorage.getItem(NAME);
    // Once for every visit: after a reload, and after the server has forgotten this one.
    if (earlier && earlier !== data.token && window.adgmVisit !== data.token) setStateValue("earlier", earlier);
    window.adgmVisit = data.token;
    if (data.keeps) window.sessionStorage.setItem(NAME, data.token);
  } catch {
    // A browser may forbid it, as in another site's frame: then a reload begins anew.
  }
}
