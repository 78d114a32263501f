"use strict";
(() => {
  const told = document.getElementById("told");

  function tell(words) {
    told.textContent = "";
    requestAnimationFrame(() => { told.textContent = words; });
  }

  // Where there is no clipboard to write to, the text is selected and copied as by hand.
  function copyBySelection(element) {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return document.execCommand("copy");
  }

  async function copy(button) {
    const element = document.getElementById(button.dataset.copy);
    let done = false;
    try {
      await navigator.clipboard.writeText(element.textContent);
      done = true;
    } catch {
      done = copyBySelection(element);
    }
    tell(done ? "Copied." : "Not copied: the text is selected, copy it by hand.");
    const before = button.innerHTML;
    if (button.dataset.busy) return;
    button.dataset.busy = "yes";
    button.textContent = done ? "Copied" : "Selected";
    setTimeout(() => {
      button.innerHTML = before;
      delete button.dataset.busy;
    }, 1500);
  }

  // A text that a spreadsheet could take for a formula is kept from being one.
  function cell(value) {
    if (value === null) return "";
    if (typeof value !== "string") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }

  function save(kind) {
    const holder = document.getElementById("page-data");
    const data = JSON.parse(holder.textContent);
    const lines = [data.readings.columns, ...data.readings.rows];
    const text = kind === "csv"
      ? lines.map((row) => row.map(cell).join(",")).join("\n") + "\n"
      : JSON.stringify(data, null, 1) + "\n";
    const type = kind === "csv" ? "text/csv" : "application/json";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = holder.dataset.stem + "." + kind;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    tell("Saved as " + link.download + ".");
  }

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
  for (const button of document.querySelectorAll("button[data-save]")) {
    button.hidden = false;
    button.addEventListener("click", () => save(button.dataset.save));
  }
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
