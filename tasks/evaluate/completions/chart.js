// Chart of a measure by step: a click, or Enter on the step that the arrow keys reached, shows the step's rollouts.

const COLOURS = ["#2563eb", "#c2410c", "#0f766e", "#7c3aed", "#a16207", "#be185d"];
const INK = "#0f172a", FAINT = "#cbd5e1";
const SPACE = { left: 44, right: 12, top: 10, bottom: 26 };
const chart = { steps: [], cursor: null, x: null };

function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function drawChart(state) {
  const place = document.getElementById("chart");
  const width = Math.max(280, place.clientWidth), height = width < 600 ? 190 : 230;
  const overall = curve(state.measure, state.task, state.seed);
  const byTask = state.task === null
    ? D.tasks.map((_, task) => ({ task, points: curve(state.measure, task, state.seed) })).filter((each) => each.points.length)
    : [];
  chart.steps = overall;
  const validation = state.measure === "reward" ? validationCurve(state) : [];
  const values = [...overall, ...byTask.flatMap((each) => smooth(each.points)), ...validation].map((each) => each.value);
  const low = Math.min(0, ...values), high = state.measure === "tokens" || low < 0 ? Math.max(0.001, ...values) : 1;
  const all = [...overall, ...validation].map((each) => each.step);
  const first = Math.min(...all), last = Math.max(...all);
  const x = (step) => SPACE.left + (last > first ? (step - first) / (last - first) : 0.5) * (width - SPACE.left - SPACE.right);
  const y = (value) => SPACE.top + (1 - (value - low) / (high - low)) * (height - SPACE.top - SPACE.bottom);
  chart.x = x;
  chart.span = [SPACE.top, height - SPACE.bottom];
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  const line = (points, colour, weight, more = {}) => drawn.append(svg("polyline", {
    points: points.map((each) => `${x(each.step).toFixed(1)},${y(each.value).toFixed(1)}`).join(" "),
    fill: "none", stroke: colour, "stroke-width": weight, "stroke-linejoin": "round", ...more,
  }));
  if (overall.length) {
    for (let part = 0; part <= 4; part++) {
      const value = low + (high - low) * part / 4;
      drawn.append(svg("line", { x1: SPACE.left, x2: width - SPACE.right, y1: y(value), y2: y(value), stroke: FAINT }));
      drawn.append(svg("text", { x: SPACE.left - 6, y: y(value) + 4, "text-anchor": "end" }, numbers[high > 10 ? 0 : 2].format(value)));
    }
    for (const step of ticks(first, last, width < 600 ? 4 : 10)) {
      drawn.append(svg("text", { x: x(step), y: height - 8, "text-anchor": "middle" }, whole(step)));
    }
    for (const [seed, step] of D.alarms) {
      if (state.seed !== null && seed !== state.seed) continue;
      drawn.append(svg("line", { x1: x(step), x2: x(step), y1: SPACE.top, y2: height - SPACE.bottom, stroke: COLOURS[1], "stroke-dasharray": "2 3" }));
      drawn.append(svg("text", { x: x(step), y: SPACE.top + 4, "text-anchor": "middle", fill: COLOURS[1] }, "▲"));
    }
    for (const { task, points } of byTask) line(smooth(points), COLOURS[task % COLOURS.length], 1.5);
    const colour = state.task === null ? INK : COLOURS[state.task % COLOURS.length];
    line(overall, colour, 1, { opacity: 0.45 });
    line(smooth(overall), colour, 3);
    if (validation.length) line(validation, INK, 1.5, { "stroke-dasharray": "5 4" });
    for (const point of overall.length <= 120 ? overall : []) {
      drawn.append(svg("circle", { cx: x(point.step), cy: y(point.value), r: 2.5, fill: colour }));
    }
  }
  drawn.append(svg("line", { id: "cursor", stroke: "#2563eb", "stroke-width": 2, y1: SPACE.top, y2: height - SPACE.bottom, visibility: "hidden" }));
  place.replaceChildren(drawn);
  place.setAttribute("aria-valuemin", overall.length ? overall[0].step : 0);
  place.setAttribute("aria-valuemax", overall.length ? overall[overall.length - 1].step : 0);
  moveCursor(state.step ?? chart.cursor);
}

function validationCurve(state) {
  const steps = new Map();
  for (const [seed, step, task, reward] of D.validation) {
    if (state.task !== null && D.tasks[state.task] !== task) continue;
    if (state.seed !== null && seed !== state.seed) continue;
    if (!steps.has(step)) steps.set(step, []);
    steps.get(step).push(reward / SHARES);
  }
  return [...steps].sort(([one], [other]) => one - other)
    .map(([step, values]) => ({ step, value: values.reduce((sum, each) => sum + each, 0) / values.length }));
}

function ticks(first, last, most) {
  const raw = Math.max(1, (last - first) / most);
  const base = 10 ** Math.floor(Math.log10(raw));
  const by = [1, 2, 5, 10].map((each) => each * base).find((each) => each >= raw);
  const found = [];
  for (let step = Math.ceil(first / by) * by; step <= last; step += by) found.push(step);
  return found;
}

function moveCursor(step) {
  const line = document.getElementById("cursor");
  const point = chart.steps.find((each) => each.step === step);
  chart.cursor = point ? step : null;
  if (!line) return;
  line.setAttribute("visibility", point ? "visible" : "hidden");
  const reading = document.getElementById("reading");
  const place = document.getElementById("chart");
  reading.textContent = point ? readingOf(point) : say("Mean over the rollouts of each step, thin, and over its neighbours, thick; dashed: on validation.");
  place.setAttribute("aria-valuenow", point ? point.step : 0);
  place.setAttribute("aria-valuetext", reading.textContent);
  if (!point) return;
  line.setAttribute("x1", chart.x(step));
  line.setAttribute("x2", chart.x(step));
}

function readingOf(point) {
  return say("step {step}: {value} over {n} rollouts", { step: whole(point.step), value: numbers[3].format(point.value), n: whole(point.n) });
}

function nearestStep(event) {
  const place = document.getElementById("chart").getBoundingClientRect();
  const at = event.clientX - place.left;
  let best = null;
  for (const each of chart.steps) {
    if (best === null || Math.abs(chart.x(each.step) - at) < Math.abs(chart.x(best) - at)) best = each.step;
  }
  return best;
}

function listenToChart(state, choose) {
  const place = document.getElementById("chart");
  place.addEventListener("mousemove", (event) => moveCursor(nearestStep(event)));
  place.addEventListener("mouseleave", () => moveCursor(state.step));
  place.addEventListener("click", (event) => choose(nearestStep(event)));
  place.addEventListener("keydown", (event) => {
    const at = chart.steps.findIndex((each) => each.step === chart.cursor);
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10 }[event.key];
    if (by !== undefined || event.key === "Home" || event.key === "End") {
      const to = event.key === "Home" ? 0 : event.key === "End" ? chart.steps.length - 1 : Math.min(chart.steps.length - 1, Math.max(0, at + by));
      if (chart.steps.length) moveCursor(chart.steps[to].step);
    } else if (event.key === "Enter" && chart.cursor !== null) choose(chart.cursor);
    else return;
    event.preventDefault();
  });
}
