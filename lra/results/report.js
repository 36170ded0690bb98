// Sorts the table of runs by the column whose head is pressed; pressed again, the other way round.
const table = document.querySelector("#runs-table");
const heads = [...table.tHead.rows[0].cells].slice(0, -1);
heads.forEach((head, column) => {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const text = (row) => row.cells[column].textContent;
    const rows = [...table.tBodies[0].rows];
    const compare = (a, b) => (isNaN(a - b) ? a.localeCompare(b, "en", { numeric: true }) : a - b);
    rows.sort((a, b) => compare(text(a), text(b)) * (down ? -1 : 1));
    table.tBodies[0].append(...rows);
  });
});
