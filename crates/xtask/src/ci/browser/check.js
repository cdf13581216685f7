// Returns what is wrong with the report that is open, a line each. Plain JavaScript, run by the browser's driver.
const faults = [];
const root = document.documentElement;
const width = root.clientWidth;
if (root.scrollWidth > width) {
  const beyond = [...document.querySelectorAll("body *")].find((e) => e.getBoundingClientRect().right > width + 1);
  faults.push(`scrolls sideways: ${root.scrollWidth} px in ${width}` + (beyond ? ` (<${beyond.tagName}> ${beyond.textContent.slice(0, 60)})` : ""));
}
const shown = (e) => e.getClientRects().length > 0;
const pictures = [...document.querySelectorAll("svg")].filter(shown);
if (pictures.length === 0) faults.push("shows no picture");
for (const figure of document.querySelectorAll("figure")) {
  const seen = [...figure.querySelectorAll("svg")].filter(shown).length;
  if (seen !== 1) faults.push(`a figure shows ${seen} pictures, not 1`);
}
for (const svg of pictures) {
  const title = svg.querySelector(":scope > title")?.textContent ?? "";
  const name = `picture "${title.slice(0, 40)}"`;
  if (!title.trim()) faults.push("a picture without a title");
  // The forms of a picture for wide and for narrow screens share their words.
  const told = (svg.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)).filter((e) => e?.tagName === "desc");
  if (!told.some((e) => e.textContent.trim())) faults.push(`${name} without a text alternative`);
  if (svg.getAttribute("role") !== "img") faults.push(`${name} is no image to a screen reader`);
  for (const id of (svg.getAttribute("aria-labelledby") ?? "").split(" ")) {
    if (!document.getElementById(id)) faults.push(`${name} is labelled by "${id}", which there is not`);
  }
  const frame = svg.getBoundingClientRect();
  if (frame.right > width + 1 || frame.left < -1) faults.push(`${name} reaches out of the page`);
  const texts = [...svg.querySelectorAll("text")].map((e) => ({ text: e.textContent, box: e.getBoundingClientRect(), size: parseFloat(getComputedStyle(e).fontSize) * (frame.width / svg.viewBox.baseVal.width) }));
  for (const { text, box, size } of texts) {
    if (box.width === 0) faults.push(`${name}: "${text}" has no width: is there a font?`);
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) faults.push(`${name}: "${text}" is cut off: ${[box.left - frame.left, box.top - frame.top, box.right - frame.left, box.bottom - frame.top, frame.width, frame.height].map((n) => n.toFixed(0))}`);
    if (size < 10) faults.push(`${name}: "${text}" is only ${size.toFixed(1)} px high`);
  }
  // Boxes of texts hold room above and below the letters, which may touch.
  const gap = 2.5;
  for (let a = 0; a < texts.length; a++) {
    for (let b = a + 1; b < texts.length; b++) {
      const [x, y] = [texts[a].box, texts[b].box];
      if (x.left < y.right - 0.5 && y.left < x.right - 0.5 && x.top + gap < y.bottom - gap && y.top + gap < x.bottom - gap) {
        faults.push(`${name}: "${texts[a].text}" and "${texts[b].text}" overlap`);
      }
    }
  }
}
const first = (selector) => { const e = [...document.querySelectorAll(selector)].find(shown); return e && e.getBoundingClientRect().top + scrollY; };
for (const selector of ["h1", ".answer"]) {
  const top = first(selector);
  if (top === undefined || top > innerHeight * 0.8) faults.push(`${selector} is not on the first screen`);
}
const loaded = performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => !name.startsWith("data:"));
if (loaded.length > 0) faults.push(`loads ${loaded.join(", ")}`);
if (document.scripts.length > 0) faults.push("has scripts");
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
if (new Set(ids).size !== ids.length) faults.push("has the same id twice");
return faults;
