// SPDX-License-Identifier: MIT
// The map of operators and runs, and what a cell opens.
"use strict";

const cellAt = new Map(report.cells.map((cell) => [cell.run + "/" + cell.operator, cell]));
const cellOf = (run, operator) => cellAt.get(run + "/" + operator);

/** What a kernel came to; the letter tells it without colour. */
const OUTCOMES = {
  passed: "✓ passed", core: "c right on core cases", runs: "r runs", compiles: "k compiles", nothing: "n nothing compiled",
  refused: "x refused by its text", cheated: "! cheated", none: "∅ no verdict", waiting: "… not ended", replaced: "± replaced by hand",
};

function outcomeOf(cell) {
  if (!cell.finished) return "waiting";
  if (cell.replaced) return "replaced";
  if (cell.correct) return "passed";
  if (cell.status === "cheated") return "cheated";
  return cell.reached in OUTCOMES ? cell.reached : cell.status === "refused" ? "refused" : "none";
}

const present = new Set(report.cells.map(outcomeOf));
const outcomes = Object.keys(OUTCOMES).filter((name) => present.has(name));
const outcomeScale = { type: "ordinal", domain: outcomes.map((name) => OUTCOMES[name]), range: outcomes.map((name) => `var(--is-${name})`) };
const speedups = report.cells.map((cell) => cell.speedup).filter((speedup) => speedup > 0);
const mostAway = d3.max([1.1, ...speedups.map((speedup) => Math.max(speedup, 1 / speedup))]);
const speedupScale = { type: "diverging-log", pivot: 1, domain: [1 / mostAway, mostAway], scheme: "PuOr", reverse: true, label: "times the speed of the baseline", tickFormat: logTicks };
/** Whether a speedup has a colour so strong that its text must be white. */
const isStrong = (speedup) => Math.log(speedup) > 0.6 * Math.log(mostAway) || Math.log(speedup) < -0.78 * Math.log(mostAway);

const letterOf = (cell) => OUTCOMES[outcomeOf(cell)].slice(0, 1);
const textOf = (cell) => (cell.correct && cell.speedup !== null ? cell.speedup.toFixed(2) : letterOf(cell));

function describe(cell) {
  const speed = cell.speedup === null ? "" : `, ${times(cell.speedup)}`;
  return `${plain(report.operators[cell.operator].name)}, ${labels[cell.run]}: ${OUTCOMES[outcomeOf(cell)].slice(2)}${speed}${cell.code ? `, ${plain(cell.code)}` : ""}`;
}

// ---- which operators are shown ----

const cellsOfOperator = d3.group(report.cells, (cell) => cell.operator);
const SHOWN = {
  all: ["all operators", () => true],
  differ: ["operators on which runs differ", (cells) => cells.some((cell) => cell.correct) && (cells.some((cell) => !cell.correct) || cells.length < labels.length)],
  failed: ["operators that no run passed", (cells) => !cells.some((cell) => cell.correct)],
  slower: ["operators with a kernel slower than the baseline", (cells) => cells.some((cell) => cell.speedup !== null && cell.speedup < 1)],
};

const words = report.operators.map((operator, i) =>
  [operator.name, operator.source, operator.category, ...(cellsOfOperator.get(i) ?? []).flatMap((cell) => [cell.status, cell.code, cell.reached])].join(" ").toLowerCase());

function operatorsShown(search, shown) {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  const operators = report.operators.map((operator, i) => ({ ...operator, place: i }))
    .filter(({ place }) => wanted.every((word) => words[place].includes(word)) && SHOWN[shown][1](cellsOfOperator.get(place) ?? []));
  return d3.sort(operators, (operator) => operator.source, (operator) => operator.category, (operator) => operator.name);
}

// ---- the map ----

function drawMap(width, operators, by) {
  if (operators.length === 0) return null;
  const place = new Map(operators.map((operator, i) => [operator.place, i]));
  const cells = report.cells.filter((cell) => place.has(cell.operator));
  const narrow = width < 560;
  const longest = d3.max(operators, (operator) => plain(operator.name).length);
  const left = Math.min(6.6 * longest + 12, 0.5 * width);
  const right = narrow ? 12 : 140;
  const full = Math.min(width, left + 130 * labels.length + right);
  // Names of runs that are wider than their columns stand aslant, or upright; a column that is too narrow for numbers has letters.
  const column = (full - left - right) / labels.length;
  const longestRun = 6.6 * d3.max(labels, (label) => label.length);
  const angle = longestRun < column ? 0 : column > 20 ? -40 : -90;
  const above = { 0: 30, "-40": 0.65 * longestRun + 16, "-90": longestRun + 12 }[angle];
  const bySpeed = by === "speedup";
  const position = { x: (cell) => labels[cell.run], y: (cell) => place.get(cell.operator) };
  const plot = Plot.plot({
    width: full, style: { ...style, fontSize: "11px" },
    height: 16 * operators.length + above + 32, marginLeft: left, marginRight: right, marginTop: above, marginBottom: 30, padding: 0.06,
    x: { domain: labels, axis: angle === 0 ? "both" : "top", tickRotate: angle, label: null, tickSize: 0 },
    y: { domain: d3.range(operators.length), type: "band" },
    color: bySpeed ? { ...speedupScale, unknown: "var(--is-none)" } : outcomeScale,
    marks: [
      Plot.axisY({ label: null, tickSize: 0, tickFormat: (i) => plain(operators[i].name) }),
      narrow ? null : Plot.axisY({ anchor: "right", label: null, tickSize: 0, tickFormat: (i) => (operators[i].category !== operators[i - 1]?.category ? plain(operators[i].category) : "") }),
      Plot.cell(cells, { ...position, fill: bySpeed ? "speedup" : (cell) => OUTCOMES[outcomeOf(cell)], title: describe }),
      Plot.text(cells, { ...position, text: column > 28 ? textOf : letterOf, fill: (cell) => (bySpeed ? (cell.speedup === null ? "var(--on-none)" : isStrong(cell.speedup) ? "#fff" : "#111") : `var(--on-${outcomeOf(cell)})`), pointerEvents: "none" }),
    ],
  });
  const map = element("div", { class: "map" }, Plot.legend({ color: bySpeed ? speedupScale : outcomeScale, width: Math.min(width, 480), style }), plot);
  makeButtons(plot, cells, position);
  return map;
}

/** Each cell is a button: a click or Enter opens it, the arrow keys move among them. */
function makeButtons(plot, cells, { y }) {
  const buttons = [...plot.querySelectorAll("[aria-label=cell] rect")];
  const at = new Map();
  buttons.forEach((button, i) => {
    const cell = cells[i];
    at.set(cell.run + "/" + y(cell), button);
    button.setAttribute("role", "button");
    button.setAttribute("tabindex", i === 0 ? 0 : -1);
    button.setAttribute("aria-label", describe(cell));
    button.addEventListener("click", () => openCell(cell));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const next = step && at.get(cell.run + step[0] + "/" + (y(cell) + step[1]));
      if (event.key === "Enter" || event.key === " ") openCell(cell);
      else if (next) next.focus();
      else return;
      event.preventDefault();
    });
    button.addEventListener("focus", () => {
      for (const other of buttons) other.setAttribute("tabindex", -1);
      button.setAttribute("tabindex", 0);
    });
  });
}

// ---- a cell ----

const dialog = document.getElementById("cell");

function figuresOf(cell) {
  const interval = cell.speedup_low !== null && cell.speedup_high !== null ? ` (95 %: ${times(cell.speedup_low)} to ${times(cell.speedup_high)})` : "";
  return [
    ["Verdict", OUTCOMES[outcomeOf(cell)].slice(2) + (cell.code ? `, ${cell.code}` : "")],
    ["Cases passed", cell.tests === null ? null : `${cell.passed_tests} of ${cell.tests}`],
    ["Failing case", cell.failing_case],
    ["Speed", cell.speedup === null ? "not measured" : times(cell.speedup) + interval + (cell.gpu ? ` on ${cell.gpu}` : "")],
    ["Cost", [cell.tokens === null ? null : `${count(cell.tokens)} tokens`, cell.usd === null ? null : dollars(cell.usd), cell.seconds === null ? null : `${duration(cell.seconds)} of agents' time`].filter(Boolean).join(", ")],
    ["Files", [cell.kernel_path, cell.verdict].filter(Boolean).join(", ")],
  ].filter(([, value]) => value);
}

function kernelOf(cell) {
  const path = `${report.runs[cell.run].path}/${cell.kernel_path}`;
  if (cell.kernel === null && cell.kernel_path && report.left_out.includes("kernels"))
    return [element("p", { class: "note" }, visible(`Left out to keep this page small; the kernel is ${path}.`))];
  if (cell.kernel === null)
    return [element("p", {}, visible(cell.kernel_missing ? `The kernel is not here: ${cell.kernel_missing}. It is ${path}.` : "There is no kernel."))];
  const kernel = report.kernels[cell.kernel];
  const shown = new TextEncoder().encode(kernel.text).length;
  const cut = shown < kernel.bytes ? `Cut after ${count(shown)} of ${count(kernel.bytes)} bytes to keep this page small; the whole kernel is ${path}.` : null;
  return [cut && element("p", { class: "note" }, visible(cut)), element("pre", { class: "kernel", tabindex: 0 }, element("code", {}, visible(kernel.text)))];
}

const STEPS = [
  ["What", ([what]) => (what === "final" ? "final verdict" : what)],
  ["Number", ([, number]) => number, "number"],
  ["Status", ([, , status]) => status],
  ["Code", ([, , , code]) => code],
  ["Reached", ([, , , , reached]) => reached],
  ["Speed", ([, , , , , speedup]) => times(speedup), "number"],
  ["Tokens until then", ([, , , , , , tokens]) => count(tokens), "number"],
  ["Dollars", ([, , , , , , , usd]) => dollars(usd), "number"],
  ["Agents' time", ([, , , , , , , , seconds]) => duration(seconds), "number"],
];

function historyOf(cell) {
  if (cell.n_steps === 0) return element("p", {}, "No check and no verdict is recorded.");
  const left = cell.n_steps - cell.steps.length;
  return element("div", { class: "scrolled" },
    left > 0 ? element("p", { class: "note" }, visible(`${cell.steps.length > 0 ? "The first" : "All"} ${left} verdicts are left out; ${report.runs[cell.run].path}/results.json has them.`)) : null,
    cell.steps.length === 0 ? null : fillTable(element("table", { id: "history" }), STEPS, cell.steps));
}

function tabsOf(cell) {
  const tabs = labels.map((label, run) => {
    const other = cellOf(run, cell.operator);
    const tab = element("button", { type: "button", "aria-pressed": run === cell.run, disabled: !other && "" }, label + (other ? " " + textOf(other) : ""));
    tab.addEventListener("click", () => openCell(other));
    return tab;
  });
  return element("div", { class: "tabs" }, ...tabs);
}

function openCell(cell) {
  const operator = report.operators[cell.operator];
  const close = element("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(
    element("header", {}, element("h2", { id: "cell-title" }, visible(operator.name)), close),
    element("p", { class: "note" }, visible([operator.source, operator.category, report.runs[cell.run].name].filter(Boolean).join(" · "))),
    tabsOf(cell),
    element("dl", {}, ...figuresOf(cell).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, visible(value))])),
    ...(cell.message ? [element("h3", {}, "Message"), element("pre", { class: "message" }, visible(cell.message))] : []),
    element("h3", {}, "History"), historyOf(cell),
    element("h3", {}, "Kernel"), ...kernelOf(cell).filter(Boolean),
  );
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  setHash(`cell=${cell.run},${encodeURIComponent(operator.name)}`);
}

function setHash(hash) {
  try {
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  } catch {
    // A page without an address, such as a preview in mail.
  }
}

function openFromHash() {
  const match = /^#cell=(\d+),(.*)$/.exec(location.hash);
  const operator = match && report.operators.findIndex(({ name }) => name === decodeURIComponent(match[2]));
  const cell = match && cellOf(Number(match[1]), operator);
  if (cell) openCell(cell);
}

// The event comes late: another cell may be open by then.
dialog.addEventListener("close", () => dialog.open || setHash(""));
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
