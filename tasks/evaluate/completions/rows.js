"use strict";
// Rows of the page: how they are unpacked, selected and put in order.

const SHARES = 10000;
const CUT_OFF = 1, CORRECTED = 2, UNIFORM = 4;
let D; // The document: prompts, rollouts, answers and texts, in columns.

async function unpack() {
  const packed = document.getElementById("rows");
  const base64 = packed.textContent;
  packed.remove();
  let bytes;
  if (Uint8Array.fromBase64) bytes = Uint8Array.fromBase64(base64);
  else {
    const text = atob(base64);
    bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function say(message, values = {}) {
  return (D.words[message] ?? message).replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
}

const language = document.documentElement.lang;
const numbers = [0, 1, 2, 3].map((digits) =>
  new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const signs = new Intl.NumberFormat(language, { minimumFractionDigits: 3, maximumFractionDigits: 3, signDisplay: "exceptZero" });
const whole = (value) => numbers[0].format(value);
const share = (value) => value === null ? "–" : numbers[3].format(value / SHARES);
const signed = (value) => value === null ? "–" : signs.format(value);

const taskOf = (columns, row) => D.prompts.task[columns.prompt[row]];
const textOf = (place) => place === null ? null : D.texts.text[place];

// Lower case without accents, made once, when somebody first searches.
let folded = null;
const fold = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
function matches(query) {
  folded ??= D.texts.text.map(fold);
  const wanted = fold(query);
  const texts = folded.map((text) => text.includes(wanted));
  const prompts = D.prompts.id.map((id, i) => id.startsWith(query.trim()) || (D.prompts.text[i] !== null && texts[D.prompts.text[i]]));
  return (columns, row) => texts[columns.text[row]] || prompts[columns.prompt[row]];
}

// What a measure says of a rollout: a number on the scale on which it is shown, or null.
function measured(name) {
  const R = D.rollouts;
  if (name === "reward") return (row) => R.reward[row] / SHARES;
  if (name === "tokens") return (row) => R.tokens[row];
  if (name === "advantage") return (row) => R.advantage[row] === null ? null : R.advantage[row] / 1000;
  if (name === "distinct answers") return null;
  const places = D.tasks.map((task) => D.components[task].indexOf(name));
  return (row) => {
    const place = places[taskOf(R, row)];
    const part = place < 0 ? null : R.parts[row][place];
    return part === null ? null : part / SHARES;
  };
}

function alarmSteps() {
  return new Set(D.alarms.map(([seed, step]) => `${seed}/${step}`));
}

function selectRollouts(state) {
  const R = D.rollouts;
  const found = state.search ? matches(state.search) : null;
  const alarms = state.flag === "alarm" ? alarmSteps() : null;
  const rows = [];
  for (let row = 0; row < R.step.length; row++) {
    if (state.step !== null && R.step[row] !== state.step) continue;
    if (state.seed !== null && R.seed[row] !== state.seed) continue;
    if (state.task !== null && taskOf(R, row) !== state.task) continue;
    const flags = R.flags[row], advantage = R.advantage[row];
    if (state.flag === "alarm" && !alarms.has(`${R.seed[row]}/${R.step[row]}`)) continue;
    if (state.flag === "cut" && !(flags & CUT_OFF)) continue;
    if (state.flag === "corrected" && !(flags & CORRECTED)) continue;
    if (state.flag === "uniform" && !(flags & UNIFORM)) continue;
    if (state.flag === "untrained" && advantage !== null) continue;
    if (state.flag === "up" && !(advantage > 0)) continue;
    if (state.flag === "down" && !(advantage < 0)) continue;
    if (found && !found(R, row)) continue;
    rows.push(row);
  }
  return rows;
}

// Items of the list: a rollout each, or the first of those with equal texts; `times` counts equal ones either way.
function rolloutItems(rows, state) {
  const R = D.rollouts;
  const times = new Map();
  for (const row of rows) times.set(R.text[row], (times.get(R.text[row]) ?? 0) + 1);
  const seen = new Set();
  const shown = state.distinct ? rows.filter((row) => !seen.has(R.text[row]) && seen.add(R.text[row])) : rows;
  const of = measured(state.measure) ?? ((row) => times.get(R.text[row]));
  const items = shown.map((row) => ({ row, times: times.get(R.text[row]), key: of(row) }));
  return { items: inOrder(items, state.order), distinct: times.size };
}

// An item of the answers is a prompt with the mean rewards of two models.
function answerItems(state) {
  const A = D.answers;
  const found = state.search ? matches(state.search) : null;
  const by = new Map();
  for (let row = 0; row < A.model.length; row++) {
    const side = A.model[row] === state.left ? "left" : A.model[row] === state.right ? "right" : null;
    if (side === null || (state.task !== null && taskOf(A, row) !== state.task)) continue;
    const prompt = A.prompt[row];
    if (!by.has(prompt)) by.set(prompt, { prompt, left: [], right: [], found: false });
    const item = by.get(prompt);
    item[side].push(row);
    if (state.left === state.right) item.right.push(row);
    item.found ||= !found || found(A, row);
  }
  const mean = (rows) => rows.length ? rows.reduce((sum, row) => sum + A.reward[row], 0) / rows.length : null;
  const items = [...by.values()].filter((item) => item.found).map((item) => {
    const before = mean(item.left), after = mean(item.right);
    return { ...item, before, after, key: before === null || after === null ? null : (after - before) / SHARES };
  });
  return inOrder(items, state.order);
}

function inOrder(items, order) {
  if (order === "none") return items;
  const sign = order === "up" ? 1 : -1;
  // What has no value comes last, whatever the order.
  return items.sort((one, other) =>
    (one.key === null) - (other.key === null) || sign * ((one.key ?? 0) - (other.key ?? 0)));
}

// The mean of a measure at each step, of one task or of all.
function curve(measure, task, seed) {
  const R = D.rollouts;
  const of = measured(measure);
  const steps = new Map();
  for (let row = 0; row < R.step.length; row++) {
    if (task !== null && taskOf(R, row) !== task) continue;
    if (seed !== null && R.seed[row] !== seed) continue;
    const value = of ? of(row) : 0;
    if (value === null) continue;
    const step = R.step[row];
    if (!steps.has(step)) steps.set(step, { step, sum: 0, n: 0, texts: of ? null : new Set() });
    const at = steps.get(step);
    at.sum += value;
    at.n++;
    at.texts?.add(R.text[row]);
  }
  return [...steps.values()].sort((one, other) => one.step - other.step)
    .map(({ step, sum, n, texts }) => ({ step, n, value: texts ? texts.size / n : sum / n }));
}

function smooth(points) {
  const reach = Math.max(1, Math.round(points.length / 25));
  return points.map((point, i) => {
    const near = points.slice(Math.max(0, i - reach), i + reach + 1);
    const n = near.reduce((sum, each) => sum + each.n, 0);
    return { ...point, value: near.reduce((sum, each) => sum + each.value * each.n, 0) / n };
  });
}
