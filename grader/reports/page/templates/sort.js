"use strict";
(() => {
  const table = document.getElementById("class");
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  const rows = Array.from(body.rows);
  const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  const compare = (column, numeric, sign) => (a, b) => {
    const [left, right] = [a, b].map((row) => row.cells[column].dataset.v);
    const missing = numeric ? (value) => Number(value) < 0 : (value) => value === "";
    if (missing(left) || missing(right)) return missing(left) - missing(right);
    return sign * (numeric ? left - right : words.compare(left, right));
  };

  const sortBy = (column) => {
    const head = heads[column];
    const numeric = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    const rising = before ? before === "descending" : !numeric;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    rows.sort(compare(column, numeric, rising ? 1 : -1));
    body.append(...rows);
  };

  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => sortBy(column));
  });

  const find = document.getElementById("find");
  const shown = document.getElementById("shown");
  find.addEventListener("input", () => {
    const sought = find.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(sought);
      count += !row.hidden;
    }
    shown.textContent = sought ? `${count} of ${rows.length}` : "";
  });
})();
