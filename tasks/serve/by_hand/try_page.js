"use strict";
const words = JSON.parse(document.getElementById("words").textContent);
const clock = new Intl.DateTimeFormat(document.documentElement.lang, {
  dateStyle: "medium", timeStyle: "short", timeZone: "America/Sao_Paulo",
});
const byId = (id) => document.getElementById(id);
const cards = [...document.querySelectorAll(".card")];
// Counts questions and chosen tasks: an answer that comes after a later one is nobody's.
let turn = 0;

// Signs that nobody sees, or that turn the direction of reading, are spelled out.
const shown = (text) => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
  (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
const worded = (message, values) => Object.entries(values).reduce(
  (text, [name, value]) => text.replace(`{${name}}`, value), words[message]);
const reason = (text) => Object.entries(words.reasons).reduce(
  (all, [theirs, ours]) => all.replaceAll(theirs, ours), text);
const written = (value) => {
  try {
    const found = typeof value === "string" ? JSON.parse(value) : value;
    return found && typeof found === "object" ? JSON.stringify(found, null, 1) : String(value);
  } catch {
    return value;
  }
};

function element(kind, text, name) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = shown(text);
  if (name) made.className = name;
  return made;
}

async function call(path, body) {
  const headers = { "Content-Type": "application/json" };
  const token = byId("token").querySelector("input").value.trim();
  if (token) headers.Authorization = `Bearer ${token}`;
  const sent = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, sent);
  } catch {
    throw new Error(words["The gateway does not answer."]);
  }
  if (response.status === 401) byId("token").hidden = false;
  const found = response.status === 204 ? {} : await response.json();
  if (!response.ok) throw Object.assign(new Error(found.error.message), { code: found.error.code });
  return found;
}

function fill(card, badge, kind, parts) {
  const title = element("div", undefined, "title");
  title.append(element("h3", card.dataset.title), element("span", badge, `badge ${kind}`));
  card.replaceChildren(title, ...parts);
  card.hidden = false;
}

function judge(answer) {
  const row = element("div", undefined, "judge");
  for (const [word, rating] of [["right", 5], ["wrong", 1]]) {
    const button = element("button", words[word]);
    button.type = "button";
    button.addEventListener("click", async () => {
      try {
        await call("v1/feedback", { request_id: answer.request_id, rating });
        row.replaceChildren(element("span", words["Noted."], "note"));
        await list();
      } catch (error) {
        row.append(element("span", error.message, "note"));
      }
    });
    row.append(button);
  }
  return row;
}

async function askOne(card, task, inputs, asked) {
  const waits = card.id === "base" ? [element("p", words["loaded with its first question, which takes a while"], "note")] : [];
  fill(card, words.asking, "", waits);
  try {
    const answer = await call(`v1/tasks/${task}?by=${card.id}`, inputs);
    if (asked !== turn) return;
    const sent = answer.text !== null;
    const badge = answer.checked ? "checked" : sent ? "not checked" : "nothing to show";
    const parts = sent ? [element("div", written(answer.text), "text")] : [];
    if (answer.reason !== null) parts.push(element("p", reason(answer.reason), "why"));
    const facts = { milliseconds: Math.round(answer.milliseconds), tokens: answer.tokens };
    // A bag of words draws no token.
    const drawn = answer.tokens ? ` · ${worded("{milliseconds} ms, {tokens} tokens", facts)}` : "";
    parts.push(element("p", answer.version + drawn, "note"), judge(answer));
    fill(card, words[badge], answer.checked ? "checked" : "unchecked", parts);
  } catch (error) {
    if (asked !== turn) return;
    // Most tasks have no bag of words.
    if (error.code === "not_beside") card.hidden = true;
    else {
      const why = error.code === "task_not_learned" ? words["The champion has not learned this task."] : error.message;
      fill(card, words.refused, "unchecked", [element("p", why, "why")]);
    }
  }
}

async function ask(event) {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector(".ask");
  const given = [...new FormData(form)].filter(([, value]) => value.trim());
  button.disabled = true;
  const asked = ++turn;
  await Promise.all(cards.map((card) => askOne(card, form.id, Object.fromEntries(given), asked)));
  button.disabled = false;
}

function facts(pairs) {
  const made = element("dl");
  for (const [name, value] of pairs) made.append(element("dt", name), element("dd", value));
  return made;
}

async function list() {
  try {
    const { data } = await call("v1/feedback");
    const rows = data.map((each) => {
      const row = element("div", undefined, "wrong");
      const task = byId("task").querySelector(`[value="${each.task}"]`).textContent;
      row.append(element("b", task), element("p", `${clock.format(new Date(each.time))} · ${each.model_version}`, "note"));
      const said = each.reference === null ? worded("rated {rating} of 5", each) : written(each.reference);
      const sent = each.shown === null ? words["nothing was sent"] : written(each.shown);
      row.append(facts([[words.asked, each.prompt], [words.answered, sent], [words.feedback, said]]));
      return row;
    });
    byId("wrong").replaceChildren(...(rows.length ? rows : [element("p", words["No wrong answers in the last days."])]));
  } catch (error) {
    byId("wrong").replaceChildren(element("p", error.message));
  }
}

function choose() {
  turn += 1;
  for (const form of document.forms) form.hidden = form.id !== byId("task").value;
  for (const card of cards) card.hidden = true;
}

byId("task").addEventListener("change", choose);
for (const form of document.forms) form.addEventListener("submit", ask);
byId("again").addEventListener("click", list);
byId("token").querySelector("input").addEventListener("change", list);
list();
// A browser that goes back to the page keeps the chosen task.
choose();
