// Tables sort by the column whose head is clicked, or chosen by the keyboard: numbers as numbers.
document.addEventListener("DOMContentLoaded", () => {
  const value = (row, k) => (row.cells[k] ? row.cells[k].textContent.trim() : "");
  for (const table of document.querySelectorAll("article table")) {
    const body = table.tBodies[0];
    if (!table.tHead || !body || body.rows.length < 3) continue;
    [...table.tHead.rows[0].cells].forEach((head, k) => {
      head.dataset.sort = "";
      head.tabIndex = 0;
      const sort = () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        [...table.tHead.rows[0].cells].forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows];
        rows.sort((a, b) => {
          const [x, y] = [parseFloat(value(a, k)), parseFloat(value(b, k))];
          const order = isNaN(x) || isNaN(y) ? value(a, k).localeCompare(value(b, k)) : x - y;
          return down ? -order : order;
        });
        body.append(...rows);
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
      });
    });
  }
});
