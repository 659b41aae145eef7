// Shows one case at a time, keeps the ratings in this browser and saves them to a file. Sends nothing.
"use strict";

const byId = (id) => document.getElementById(id);
const main = byId("results");
const cases = [...document.querySelectorAll("article")];
const scales = [...document.querySelectorAll("fieldset")];
const notes = byId("notes");

// Random ids differ from page to page, so the first one also tells two pages of a sample apart.
const KEY = `pathway_local ${main.dataset.seed} ${main.dataset.rater} ${cases[0].dataset.id}`;

let ratings = {}; // by the case's id: the chosen value of each score, and notes
let place = 0;
let keeps = true; // whether the browser keeps what it is given
let unsaved = false;

const filled = (phrase, values) => phrase.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
const idAt = (at) => cases[at].dataset.id;
const choices = (scale) => [...scale.querySelectorAll("input, option")];
const ratingAt = (at) => ratings[idAt(at)] ?? {};
const openScales = (at) => scales.filter((scale) => !ratingAt(at)[scale.dataset.score]);
const isDone = (at) => !openScales(at).length;
const counts = () => ({ done: cases.filter((_, at) => isDone(at)).length, count: cases.length });

// What is read from the browser or a file is checked: known cases, their own levels, and notes that are a text.
function checked(found) {
  const known = {};
  for (const id of cases.map((each) => each.dataset.id)) {
    const given = Object.hasOwn(found, id) && found[id] instanceof Object ? found[id] : {};
    const rating = {};
    for (const scale of scales) {
      const name = scale.dataset.score;
      if (given[name] && choices(scale).some((choice) => choice.value === given[name])) rating[name] = given[name];
    }
    if (given.notes && typeof given.notes === "string") rating.notes = given.notes.slice(0, notes.maxLength);
    if (Object.keys(rating).length) known[id] = rating;
  }
  return known;
}

function recall() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY)) ?? {};
    ratings = checked(kept.ratings ?? {});
    if (cases[kept.place]) place = kept.place;
  } catch (error) {
    keeps = !(error instanceof DOMException); // else the browser has it, and it is broken: begin anew
  }
}

function keep() {
  try {
    localStorage.setItem(KEY, JSON.stringify({ place, ratings }));
    keeps = true;
  } catch {
    keeps = false;
  }
  say("kept", byId("kept").dataset[keeps ? "yes" : "no"]);
  byId("kept").classList.toggle("alarm", !keeps);
}

function say(id, words) {
  if (byId(id).textContent !== words) byId(id).textContent = words;
}

function mark(scale, value) {
  for (const choice of choices(scale)) {
    choice[choice instanceof HTMLOptionElement ? "selected" : "checked"] = choice.value === value;
  }
}

function show() {
  cases.forEach((each, at) => { each.hidden = at !== place; });
  for (const scale of scales) mark(scale, ratingAt(place)[scale.dataset.score] ?? "");
  notes.value = ratingAt(place).notes ?? "";
  byId("back").disabled = place === 0;
  byId("on").disabled = place === cases.length - 1;
  tell();
}

function tell() {
  byId("progress").textContent = filled(byId("progress").dataset.text, counts());
  document.querySelector("progress").value = counts().done;
  byId("open").disabled = counts().done === cases.length;
}

function go(to) {
  if (!cases[to]) return;
  place = to;
  show();
  keep();
  say("status", "");
  const heading = cases[place].querySelector("h2");
  heading.focus(); // a screen reader reads on from there
  heading.scrollIntoView();
}

function goToOpen() {
  const order = cases.map((_, step) => (place + 1 + step) % cases.length);
  go(order.find((at) => !isDone(at)));
}

function rate(name, value) {
  ratings[idAt(place)] = { ...ratingAt(place), [name]: value };
  unsaved = true;
  keep();
  tell();
}

function save() {
  const rows = cases.map((each, at) => {
    const given = scales.map((scale) => [scale.dataset.score, ratingAt(at)[scale.dataset.score] ?? null]);
    const row = { rating_id: each.dataset.id, rater: main.dataset.rater };
    // What no file of text can hold, a NUL and halves of surrogate pairs, would cost the row.
    return { ...row, ...Object.fromEntries(given), notes: ratingAt(at).notes?.replace(/[\0\p{Cs}]/gu, "\ufffd") ?? null };
  });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(rows, null, 1)], { type: "application/json" }));
  link.download = main.dataset.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  unsaved = false;
  say("status", filled(byId("save").dataset.done, { file: link.download, ...counts() }));
}

async function load(input) {
  try {
    const rows = JSON.parse(await input.files[0].text()).filter((row) => row.rater === main.dataset.rater);
    const found = checked(Object.fromEntries(rows.map((row) => [row.rating_id, row])));
    if (!Object.keys(found).length) throw new Error("nothing of this page");
    for (const id in found) ratings[id] = { ...found[id], ...ratings[id] }; // what is given here stays
    show();
    keep();
    say("status", filled(input.dataset.done, { found: Object.keys(found).length }));
  } catch {
    say("status", input.dataset.failed);
  }
  input.value = "";
}

function forget() {
  if (!confirm(byId("forget").dataset.sure)) return;
  ratings = {};
  unsaved = false;
  go(0);
  if (keeps) localStorage.removeItem(KEY);
}

// The score that a key is for: the one with the focus, else the first without a level, else the only one.
function scaleInTurn() {
  return document.activeElement.closest("fieldset") ?? openScales(place)[0] ?? (scales.length === 1 ? scales[0] : null);
}

function onKey(event) {
  const inField = event.target.closest("textarea, select, input[type=file]");
  if (event.altKey || event.metaKey || event.isComposing || (event.ctrlKey && event.key !== "Enter")) return;
  if (event.key === "Enter" && (event.ctrlKey || !(inField || event.target.closest("button, summary, a")))) {
    event.preventDefault();
    go(event.shiftKey ? place - 1 : place + 1);
  } else if (!inField) {
    const scale = scaleInTurn();
    const choice = scale && choices(scale).find((each) => each.dataset.key === event.key.toLowerCase());
    if (!choice) return;
    event.preventDefault();
    choice.checked = true;
    rate(scale.dataset.score, choice.value);
    say("status", `${scale.dataset.score}: ${choice.labels[0].querySelector("span").textContent}`);
  }
}

recall();
show();
keep();
for (const scale of scales) scale.addEventListener("change", (event) => rate(scale.dataset.score, event.target.value));
notes.addEventListener("input", () => rate("notes", notes.value));
byId("back").addEventListener("click", () => go(place - 1));
byId("on").addEventListener("click", () => go(place + 1));
byId("open").addEventListener("click", goToOpen);
byId("save").addEventListener("click", save);
byId("load").addEventListener("change", (event) => load(event.target));
byId("forget").addEventListener("click", forget);
document.addEventListener("keydown", onKey);
addEventListener("storage", (event) => { // the page in another tab
  if (event.key !== KEY) return;
  const here = place;
  recall();
  place = here;
  show();
});
addEventListener("beforeunload", (event) => { if (unsaved && !keeps) event.preventDefault(); });
