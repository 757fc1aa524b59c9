// List of rows, of which only those in view exist as elements.

const ROW = 58;
const list = { items: [], active: -1, write: null, open: null, space: null };

function startList(write, open) {
  const place = document.getElementById("list");
  Object.assign(list, { write, open, space: place.appendChild(document.createElement("div")) });
  place.addEventListener("scroll", drawRows, { passive: true });
  place.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) activate(Number(row.dataset.place), true);
  });
  place.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(place.clientHeight / ROW) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (by !== undefined) activate(Math.min(list.items.length - 1, Math.max(0, list.active + by)), false);
    else if (event.key === "Enter") document.getElementById("detail").focus();
    else return;
    event.preventDefault();
  });
  addEventListener("resize", drawRows);
}

function showItems(items) {
  Object.assign(list, { items, active: -1 });
  list.space.style.height = `${items.length * ROW}px`;
  document.getElementById("list").scrollTop = 0;
  drawRows();
  activate(0, false);
}

function drawRows() {
  const place = document.getElementById("list");
  const first = Math.max(0, Math.floor(place.scrollTop / ROW) - 4);
  const last = Math.min(list.items.length, Math.ceil((place.scrollTop + place.clientHeight) / ROW) + 4);
  const rows = [];
  for (let at = first; at < last; at++) {
    const row = part("div", "row");
    Object.assign(row, { id: `row-${at}` });
    row.dataset.place = at;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", at === list.active);
    row.setAttribute("aria-posinset", at + 1);
    row.setAttribute("aria-setsize", list.items.length);
    row.style.top = `${at * ROW}px`;
    list.write(row, list.items[at]);
    rows.push(row);
  }
  list.space.replaceChildren(...rows);
  if (list.active >= 0) place.setAttribute("aria-activedescendant", `row-${list.active}`);
  else place.removeAttribute("aria-activedescendant");
}

function activate(at, clicked) {
  if (at < 0 || at >= list.items.length) return;
  const place = document.getElementById("list");
  list.active = at;
  if (at * ROW < place.scrollTop) place.scrollTop = at * ROW;
  if ((at + 1) * ROW > place.scrollTop + place.clientHeight) place.scrollTop = (at + 1) * ROW - place.clientHeight;
  drawRows();
  list.open(list.items[at], clicked);
}

// An element with a class and texts or elements in it; a text is never read as markup.
function part(name, className = "", ...content) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...content.filter((each) => each !== null && each !== undefined));
  return element;
}
