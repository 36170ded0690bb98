// Sorts a table by the column whose head is pressed; pressed again, the other way round. Groups of rows stay together.
const compare = (a, b) => (isNaN(parseFloat(a) - parseFloat(b)) || parseFloat(a) === parseFloat(b) ? a.localeCompare(b, "en", { numeric: true }) : parseFloat(a) - parseFloat(b));
const seconds = { s: 1, min: 60, h: 3600 };
const text = (row, column) => row.cells[column].textContent.replace("−", "-").replace(/(\d),(?=\d{3})/g, "$1").replace(/^([\d.]+) (s|min|h)$/, (_, count, unit) => count * seconds[unit]);
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const body of table.tBodies) {
        const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
        rows.sort((a, b) => compare(text(a, column), text(b, column)) * (down ? -1 : 1));
        body.append(...rows);
      }
    });
  });
}
// Marks the runs of the cell that the address names, and unfolds what is around the place.
const mark = () => {
  const place = document.getElementById(location.hash.slice(1));
  for (let around = place && place.closest("details"); around; around = around.parentElement.closest("details")) {
    around.open = true;
  }
  if (place) {
    place.scrollIntoView();
  }
  for (const row of document.querySelectorAll("tr[data-cell]")) {
    row.classList.toggle("chosen", row.dataset.cell === location.hash.slice(1));
  }
};
window.addEventListener("hashchange", mark);
mark();
