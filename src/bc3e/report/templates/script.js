"use strict";
(() => {
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent.trim();
  };

  const compare = (a, b, numeric) => {
    if (!numeric) return a.localeCompare(b, undefined, { numeric: true });
    const [x, y] = [parseFloat(a), parseFloat(b)];
    if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y); // missing values go last
    return x - y;
  };

  const sortBy = (table, heading) => {
    const numeric = heading.classList.contains("number");
    const now = heading.getAttribute("aria-sort");
    const descending = now ? now === "ascending" : numeric; // numbers: the largest first
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const column = heading.cellIndex;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const order = compare(value(a, column), value(b, column), numeric);
      const missing = numeric && (isNaN(parseFloat(value(a, column))) || isNaN(parseFloat(value(b, column))));
      return descending && !missing ? -order : order;
    });
    table.tBodies[0].append(...rows);
  };

  const filterBy = (table, words, count) => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    const all = table.tBodies[0].rows.length;
    count.textContent = shown === all ? `${all} rows` : `${shown} of ${all} rows`;
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    for (const heading of table.tHead.rows[0].cells) {
      const button = heading.querySelector("button");
      button.addEventListener("click", () => sortBy(table, heading));
    }
    const tools = document.querySelector(`.tools[data-for="${table.id}"]`);
    if (!tools) continue;
    tools.hidden = false;
    const [field, count] = [tools.querySelector("input"), tools.querySelector("output")];
    field.addEventListener("input", () => filterBy(table, field.value, count));
    filterBy(table, "", count);
  }

  const toggle = document.getElementById("scheme");
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.scheme
      ? root.dataset.scheme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.scheme = dark ? "light" : "dark";
  });
})();
