// What is known of the chosen row: its text, its reward's parts, its group, and its prompt over time or by model.

function textBlock(place, otherwise) {
  if (place === null) return part("p", "note", otherwise);
  const block = part("div", "text", textOf(place));
  block.tabIndex = 0;
  block.lang = "pt-BR";
  const more = D.texts.cut[place];
  return part("div", "", block, more ? part("div", "label", say("and {n} more characters", { n: whole(more) })) : null);
}

function table(heads, rows) {
  const head = part("tr", "", ...heads.map((each) => part("th", "", each)));
  const body = rows.map(({ cells, here }) => part("tr", here ? "here" : "", ...cells.map((each) =>
    each instanceof Node && each.tagName === "TD" ? each : part("td", "", each))));
  return part("div", "scroll", part("table", "", part("thead", "", head), part("tbody", "", ...body)));
}

function snippet(place) {
  const text = textOf(place);
  return part("td", "text-cell", text.length > 240 ? `${text.slice(0, 240)}…` : text);
}

function components(columns, row) {
  const names = D.components[D.tasks[taskOf(columns, row)]];
  const rows = names.map((name, at) => ({ name, value: columns.parts[row][at] })).filter((each) => each.value !== null);
  return table([say("Components"), ""], rows.map(({ name, value }) => {
    const bar = part("span", "bar");
    bar.style.width = `${Math.round(40 * value / SHARES)}px`;
    return { cells: [part("td", "left", name), part("td", "", bar, share(value))] };
  }));
}

function marks(columns, row) {
  const flags = columns.flags[row];
  const found = [];
  if (flags & CUT_OFF) found.push(say("cut off at the token limit"));
  if (flags & CORRECTED) found.push(say("the reference's answer"));
  if (columns === D.rollouts && columns.advantage[row] === null) found.push(say("not trained on"));
  return found;
}

function promptBlocks(prompt) {
  return [
    part("h3", "", `${say("prompt")} `, part("span", "hash", D.prompts.id[prompt].slice(0, 16))),
    textBlock(D.prompts.text[prompt], say("no prompt is known")),
    part("h3", "", say("reference")),
    textBlock(D.prompts.reference[prompt], say("no reference")),
  ];
}

function rolloutDetail(row, open, chooseStep) {
  const R = D.rollouts;
  const prompt = R.prompt[row], step = R.step[row], seed = R.seed[row];
  const facts = [`${say("reward")} ${share(R.reward[row])}`,
    ...(R.advantage[row] === null ? [] : [`${say("advantage")} ${signed(R.advantage[row] / 1000)}`]),
    `${whole(R.tokens[row])} ${say("tokens")}`, ...marks(R, row)];
  const head = [D.tasks[D.prompts.task[prompt]], `${say("step")} ${whole(step)}`, ...(D.seeds.length > 1 ? [`${say("seed")} ${seed}`] : [])];
  const same = [];
  const steps = new Map();
  for (let other = 0; other < R.step.length; other++) {
    if (R.prompt[other] !== prompt || R.seed[other] !== seed) continue;
    if (R.step[other] === step) same.push(other);
    if (!steps.has(R.step[other])) steps.set(R.step[other], []);
    steps.get(R.step[other]).push(other);
  }
  same.sort((one, other) => R.reward[other] - R.reward[one]);
  const group = same.map((other) => {
    const button = part("button", "", share(R.reward[other]));
    button.addEventListener("click", () => open(other));
    return { here: other === row, cells: [button, R.advantage[other] === null ? "–" : signed(R.advantage[other] / 1000), snippet(R.text[other])] };
  });
  const alarms = D.alarms.filter(([of, at]) => of === seed && at === step);
  return [
    part("h3", "", head.join(" · ")),
    part("p", "", facts.join(" · ")),
    ...alarms.map(([, , name, text]) => part("p", "warning", `${say("alarm")} ${name}: ${text}.`)),
    textBlock(R.text[row], ""),
    components(R, row),
    ...promptBlocks(prompt),
    part("h3", "", say("Its group at this step")),
    table([say("reward"), say("advantage"), say("answer")], group),
    ...(steps.size > 1 ? [part("h3", "", say("This prompt over time")), overTime(steps, step, chooseStep)] : []),
  ];
}

function overTime(steps, here, chooseStep) {
  const R = D.rollouts;
  const rows = [...steps].sort(([one], [other]) => one - other).map(([step, rows]) => {
    const button = part("button", "", whole(step));
    button.addEventListener("click", () => chooseStep(step, rows));
    const mean = rows.reduce((sum, each) => sum + R.reward[each], 0) / rows.length;
    const best = rows.reduce((one, other) => R.reward[other] > R.reward[one] ? other : one);
    return { here: step === here, cells: [button, share(mean), whole(new Set(rows.map((each) => R.text[each])).size), whole(rows.length), snippet(R.text[best])] };
  });
  return table([say("step"), say("mean reward"), say("distinct"), say("answers"), say("answer")], rows);
}

function answerBlock(model, row) {
  const A = D.answers;
  if (row === undefined) return part("div", "", part("div", "label", model), "–");
  const facts = [`${say("reward")} ${share(A.reward[row])}`];
  if (A.truth[row] !== null) facts.push(`${say("ground truth")} ${share(A.truth[row])}`);
  if (A.tokens[row] !== null) facts.push(`${whole(A.tokens[row])} ${say("tokens")}`);
  return part("div", "", part("div", "label", model), textBlock(A.text[row], ""), part("p", "note", [...facts, ...marks(A, row)].join(" · ")), components(A, row));
}

function answerDetail(item, state) {
  const A = D.answers;
  const [left, right] = [D.models[state.left], D.models[state.right]];
  const reference = part("div", "", part("div", "label", say("reference")), textBlock(D.prompts.reference[item.prompt], say("no reference")));
  const samples = Math.max(item.left.length, item.right.length);
  const beside = [];
  for (let at = 0; at < samples; at++) {
    beside.push(part("div", "beside", answerBlock(left, item.left[at]), answerBlock(right, item.right[at]), at ? null : reference));
  }
  const others = [];
  for (let row = 0; row < A.model.length; row++) {
    if (A.prompt[row] !== item.prompt || A.model[row] === state.left || A.model[row] === state.right) continue;
    others.push({ cells: [part("td", "left", D.models[A.model[row]]), share(A.reward[row]), A.truth[row] === null ? "–" : share(A.truth[row]), snippet(A.text[row])] });
  }
  const rest = part("details", "", part("summary", "", say("Other models' answers")), table(["", say("reward"), say("ground truth"), say("answer")], others));
  const head = part("h3", "", `${D.tasks[D.prompts.task[item.prompt]]} · ${say("prompt")} `, part("span", "hash", D.prompts.id[item.prompt].slice(0, 16)));
  return [head, textBlock(D.prompts.text[item.prompt], say("no prompt is known")), ...beside, ...(others.length ? [rest] : [])];
}

function modelTable(state, choose) {
  const A = D.answers;
  const by = D.models.map(() => ({ n: 0, sum: 0, texts: new Set() }));
  for (let row = 0; row < A.model.length; row++) {
    if (state.task !== null && taskOf(A, row) !== state.task) continue;
    const found = by[A.model[row]];
    found.n++;
    found.sum += A.reward[row];
    found.texts.add(A.text[row]);
  }
  const rows = by.map((found, model) => {
    const button = part("button", "", D.models[model]);
    button.addEventListener("click", () => choose(model));
    const cell = part("td", "left", button);
    return { here: model === state.left || model === state.right, cells: [cell, found.n ? share(found.sum / found.n) : "–", whole(found.n), whole(found.texts.size)] };
  });
  return table([say("Answers by model"), say("mean reward"), say("answers"), say("distinct")], rows);
}
