// The page: its state, its controls, and what is shown of it.

const state = { tab: "answers", task: null, seed: null, measure: "reward", order: "up", step: null, flag: "", distinct: false, search: "", left: 0, right: 0 };
const MEASURES = ["reward", "advantage", "tokens", "distinct answers"];
const at = (id) => document.getElementById(id);

function options(select, values) {
  at(select).replaceChildren(...values.map(([value, text]) => Object.assign(part("option", "", text), { value })));
}

function measures() {
  const names = state.task === null ? [] : D.components[D.tasks[state.task]];
  options("measure", [...MEASURES.map((each) => [each, say(each)]), ...names.map((each) => [each, each])]);
  if (![...MEASURES, ...names].includes(state.measure)) state.measure = "reward";
  at("measure").value = state.measure;
}

function writeRow(row, item) {
  const facts = part("div", "facts");
  const fact = (text, className = "") => facts.append(part("span", className, text));
  let text;
  if (state.tab === "rollouts") {
    const R = D.rollouts, of = item.row;
    fact(share(R.reward[of]), "main");
    fact(D.tasks[taskOf(R, of)]);
    fact(`${say("step")} ${whole(R.step[of])}`);
    if (R.advantage[of] !== null) fact(signed(R.advantage[of] / 1000), R.advantage[of] < 0 ? "low" : "high");
    if (!MEASURES.includes(state.measure)) fact(`${state.measure} ${item.key === null ? "–" : numbers[3].format(item.key)}`);
    fact(`${whole(R.tokens[of])} ${say("tokens")}`);
    if (item.times > 1) fact(`×${whole(item.times)}`, "main");
    for (const mark of marks(R, of)) fact(mark);
    text = textOf(R.text[of]);
  } else {
    fact(D.tasks[D.prompts.task[item.prompt]]);
    fact(`${item.before === null ? "–" : share(item.before)} → ${item.after === null ? "–" : share(item.after)}`);
    if (item.key !== null) fact(signed(item.key), item.key < 0 ? "main low" : item.key > 0 ? "main high" : "main");
    text = textOf(D.prompts.text[item.prompt]) ?? "";
  }
  row.append(facts, part("div", "snippet", text.slice(0, 160)));
}

function openRow(item, clicked) {
  const detail = at("detail");
  const nodes = state.tab === "rollouts"
    ? rolloutDetail(item.row, (row) => openRow({ row }, false), (step, rows) => openRow({ row: rows[0] }, false))
    : answerDetail(item, state);
  detail.replaceChildren(...nodes);
  detail.scrollTop = 0;
  if (clicked && detail.getBoundingClientRect().top > innerHeight * 0.7) detail.scrollIntoView({ block: "start" });
}

function keys() {
  const button = (text, colour, pressed, choose) => {
    const made = part("button", "", text);
    made.style.borderLeftColor = colour;
    if (pressed !== null) made.setAttribute("aria-pressed", pressed);
    made.addEventListener("click", choose);
    return made;
  };
  const drawn = new Set(D.rollouts.prompt.map((each) => D.prompts.task[each]));
  const tasks = [[null, say("all tasks"), INK], ...[...drawn].sort((one, other) => one - other).map((task) => [task, D.tasks[task], COLOURS[task % COLOURS.length]])];
  at("keys").replaceChildren(
    ...tasks.map(([task, name, colour]) => button(name, colour, state.task === task, () => { state.task = task; refresh(); })),
    ...D.alarms.filter(([seed]) => state.seed === null || seed === state.seed).map(([seed, step, name, text]) => {
      const made = button(`▲ ${say("step")} ${whole(step)}: ${name}`, COLOURS[1], null, () => { state.step = step; refresh(); });
      made.className = "alarm";
      made.title = text;
      return made;
    }),
  );
}

function refresh() {
  const rollouts = state.tab === "rollouts";
  for (const each of document.querySelectorAll(".of-rollouts")) each.hidden = !rollouts;
  for (const each of document.querySelectorAll(".of-answers")) each.hidden = rollouts;
  if (D.seeds.length < 2) at("seeds").hidden = true;
  for (const tab of ["rollouts", "answers"]) {
    at(`tab-${tab}`).setAttribute("aria-selected", state.tab === tab);
    at(`tab-${tab}`).tabIndex = state.tab === tab ? 0 : -1;
  }
  at("task").value = state.task ?? "";
  at("step").value = state.step ?? "";
  for (const name of ["order", "flag", "search", "left", "right"]) at(name).value = state[name];
  at("seed").value = state.seed ?? "";
  at("distinct").checked = state.distinct;
  measures();
  if (rollouts) {
    drawChart(state);
    keys();
  } else at("models").replaceChildren(modelTable(state, (model) => { state.right = model; refresh(); }));
  showRows();
}

function showRows() {
  let items, count;
  if (state.tab === "rollouts") {
    const rows = selectRollouts(state);
    const found = rolloutItems(rows, state);
    items = found.items;
    const mean = rows.reduce((sum, row) => sum + D.rollouts.reward[row], 0) / rows.length;
    count = say("{rollouts} rollouts, {distinct} distinct answers, mean reward {reward}", { rollouts: whole(rows.length), distinct: whole(found.distinct), reward: rows.length ? share(mean) : "–" });
  } else {
    items = answerItems(state);
    const known = items.filter((item) => item.key !== null);
    const texts = new Set(items.flatMap((item) => item.right.map((row) => D.answers.text[row])));
    const mean = known.reduce((sum, item) => sum + item.key, 0) / known.length;
    count = say("{prompts} prompts, {distinct} distinct answers of {model}, mean difference {difference}", { prompts: whole(items.length), distinct: whole(texts.size), model: D.models[state.right], difference: known.length ? signed(mean) : "–" });
  }
  at("count").textContent = items.length ? count : say("Nothing fits; take a filter off.");
  at("detail").replaceChildren(part("p", "note", say("Choose a row to read it.")));
  showItems(items);
}

function chooseStep(step) {
  state.step = state.step === step ? null : step;
  refresh();
}

function listen() {
  const choose = (id, set, event = "change") => at(id).addEventListener(event, () => { set(at(id)); refresh(); });
  const number = (value) => value === "" ? null : Number(value);
  choose("task", (each) => { state.task = number(each.value); });
  choose("seed", (each) => { state.seed = number(each.value); });
  choose("step", (each) => { state.step = number(each.value); });
  for (const name of ["measure", "order", "flag"]) choose(name, (each) => { state[name] = each.value; });
  for (const name of ["left", "right"]) choose(name, (each) => { state[name] = Number(each.value); });
  choose("distinct", (each) => { state.distinct = each.checked; });
  let waiting;
  at("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { state.search = at("search").value; showRows(); }, 150);
  });
  at("clear").addEventListener("click", () => {
    Object.assign(state, { task: null, seed: null, measure: "reward", order: "up", step: null, flag: "", distinct: false, search: "" });
    refresh();
  });
  for (const tab of ["rollouts", "answers"]) at(`tab-${tab}`).addEventListener("click", () => { state.tab = tab; refresh(); });
  document.querySelector(".tabs").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    state.tab = state.tab === "rollouts" ? "answers" : "rollouts";
    refresh();
    at(`tab-${state.tab}`).focus();
  });
  listenToChart(state, chooseStep);
  addEventListener("resize", () => { if (state.tab === "rollouts") drawChart(state); });
}

// The address may name where to begin: #step=12&task=push, #prompt=3fa0, #rollouts.
function begin() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const logged = D.rollouts.step.length > 0;
  if (logged && (asked.has("rollouts") || asked.has("step") || !D.answers.prompt.length)) state.tab = "rollouts";
  if (asked.has("step")) state.step = Number(asked.get("step"));
  if (asked.has("task") && D.tasks.includes(asked.get("task"))) state.task = D.tasks.indexOf(asked.get("task"));
  if (asked.has("prompt")) {
    state.search = asked.get("prompt");
    const tested = new Set(D.answers.prompt);
    if (logged && !D.prompts.id.some((id, place) => id.startsWith(state.search) && tested.has(place))) state.tab = "rollouts";
  }
}

unpack().then((rows) => {
  D = rows;
  state.right = Math.min(1, D.models.length - 1);
  options("task", [["", say("all tasks")], ...D.tasks.map((task, place) => [place, task])]);
  options("seed", [["", "–"], ...D.seeds.map((seed) => [seed, seed])]);
  for (const name of ["left", "right"]) options(name, D.models.map((model, place) => [place, model]));
  begin();
  at("tab-rollouts").hidden = !D.rollouts.step.length;
  startList(writeRow, openRow);
  listen();
  refresh();
  requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.opened = Math.round(performance.now()); }));
});
