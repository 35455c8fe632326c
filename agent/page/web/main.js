// SPDX-License-Identifier: MIT
// The page: its parts in order, their controls, the theme.
"use strict";

const figures = [];

/** A part of the page: words, controls, a plot, and the table behind it. `draw` gets the width and the values of the controls. */
function figure({ id, title, note, controls = {}, draw, empty, words, columns, rows, legend }) {
  const host = element("div", { class: "plot" });
  const choices = Object.fromEntries(Object.entries(controls).map(([name, make]) => [name, make()]));
  const values = () => Object.fromEntries(Object.entries(choices).map(([name, choice]) => [name, choice.input.value]));
  const said = element("p", { class: "note", "aria-live": "polite" });
  const table = tableBehind(title, columns, () => rows(values()));
  const section = element("section", { id, "aria-labelledby": id + "-title" },
    element("h2", { id: id + "-title" }, title), element("p", {}, note),
    Object.keys(choices).length > 0 ? element("div", { class: "controls" }, ...Object.values(choices).map((choice) => choice.label)) : null,
    said, host, table);
  const made = {
    update() {
      const plot = draw(host.clientWidth, values());
      const text = plot ? (words ? words(values()) : "") : empty(values());
      said.textContent = text;
      said.hidden = !text;
      host.replaceChildren(...(plot ? [legend && labels.length > 1 ? legend(host.clientWidth) : null, plot].filter(Boolean) : []));
      table.refresh();
    },
  };
  for (const choice of Object.values(choices)) choice.input.addEventListener("input", made.update);
  document.querySelector("main").append(section);
  document.querySelector("nav").append(element("a", { href: "#" + id }, title));
  figures.push(made);
}

const select = (name, options, chosen) => () => {
  const input = element("select", {}, ...options.map(([value, text]) => element("option", { value, selected: value === chosen && "" }, text)));
  return { input, label: element("label", {}, name + " ", input) };
};

const searchBox = (name, hint) => () => {
  const input = element("input", { type: "search", placeholder: hint, size: 28 });
  return { input, label: element("label", {}, name + " ", input) };
};

const runColumn = ["Run", (row) => labels[row.run]];
const interval = (name, low, high, format) => [name, (row) => (row[low] === null ? "" : `${format(row[low])} to ${format(row[high])}`), "number"];

figure({
  id: "ladder", title: "How far kernels got",
  note: "Share of all operators whose kernel reached each rung, with the 95 % interval of Wilson. Operators that have not ended count as not there.",
  legend: legendOfRuns, draw: drawLadder, empty: () => "There is no operator.",
  columns: [runColumn, ["Rung", (row) => row.rung], ["Operators", (row) => `${row.reached} of ${row.operators}`, "number"], ["Share", (row) => percent(row.share), "number"], interval("95 %", "low", "high", percent)],
  rows: () => report.ladder,
});

figure({
  id: "fast", title: "Right and fast: fast_p",
  note: "Share of all operators whose kernel is right and more than p times as fast as the baseline; the band is the 95 % interval of Wilson at each p. The curve changes at measured speedups only.",
  legend: legendOfLines, draw: drawFast, empty: () => NO_SPEEDUPS,
  columns: [runColumn, ["Faster than", (row) => times(row.p), "number"], ["Share", (row) => percent(row.share), "number"], interval("95 %", "low", "high", percent)],
  rows: () => report.fast_p.flatMap(({ run, points }) => points.map(([p, share, low, high]) => ({ run, p, share, low, high }))),
});

figure({
  id: "groups", title: "Speed by category",
  note: "Geometric mean of the speedups of right kernels, with its 95 % interval by resampling operators. It is of the operators that have a speedup only; a group with one such operator has no interval.",
  controls: { by: select("By", [["category", "category"], ["source", "source"]]) },
  legend: legendOfRuns, draw: (width, { by }) => drawGroups(width, by), empty: () => NO_SPEEDUPS,
  columns: [["Group", (row) => row.group], runColumn, ["Passed", (row) => `${row.correct} of ${row.operators}`, "number"], interval("95 %", "low", "high", percent),
    ["With a speedup", (row) => row.timed, "number"], ["Speed", (row) => times(row.speedup), "number"], interval("95 %", "speedup_low", "speedup_high", times)],
  rows: ({ by }) => report.groups.filter((row) => row.by === by),
});

figure({
  id: "anytime", title: "What success costs",
  note: "Share of all operators that had such a kernel once so much was spent on them: by the first check, round or sample that showed it, of the operators whose final verdict confirms it.",
  controls: {
    cost: select("Cost", Object.entries(COSTS).map(([value, { title }]) => [value, title])),
    target: select("Kernel", [...new Set(report.anytime.map((row) => row.target))].filter((target) => target === 0 || hasSpeedups).map((target) => [target, targetName(target)])),
  },
  legend: legendOfLines, draw: (width, { cost, target }) => drawAnytime(width, cost, target),
  empty: ({ cost, target }) => (report.anytime.some((row) => row.target === Number(target) && row.reached > 0) ? `The runs have no record of ${COSTS[cost].title}.` : "No operator has such a kernel."),
  words: ({ cost, target }) => {
    const hidden = d3.sum(report.anytime.filter((row) => row.cost === cost && row.target === Number(target)), (row) => row.reached - row.at.length);
    return hidden > 0 ? `${hidden} operators have such a kernel at an unknown cost and are left out of the curves.` : "";
  },
  columns: [runColumn, ["Cost at most", (row) => row.text, "number"], ["Operators", (row) => percent(row.share), "number"]],
  rows: ({ cost, target }) => anytimeRows(cost, target).map((row) => ({ ...row, text: COSTS[cost].format(row.at) })),
});

figure({
  id: "failures", title: "Why operators did not pass",
  note: "Operators by the code that they ended with. docs/codes.md explains the codes.",
  legend: legendOfRuns, draw: drawFailures, empty: () => "All operators passed.",
  words: () => (failureCodes().length > MOST_CODES ? `The ${MOST_CODES} most frequent of ${failureCodes().length} codes; the table has all.` : ""),
  columns: [["Code", (row) => row.code], ["Status", (row) => row.status], runColumn, ["Operators", (row) => row.operators, "number"]],
  rows: () => report.failures,
});

figure({
  id: "timeline", title: "Timeline of a run",
  note: "Which agent worked when, and when each device judged a kernel. A row is one place of work; bars of an operator have its name.",
  controls: { run: select("Run", labels.map((label, i) => [i, label])) },
  draw: (width, { run }) => drawTimeline(width, Number(run)), empty: () => (report.left_out.includes("timelines") ? "Timelines are left out to keep this page small: a report of fewer runs has them." : "The run has no record of times."),
  words: ({ run }) => deviceWords(Number(run)),
  columns: [["Row", (bar) => bar.row], ["Operator", (bar) => report.operators[bar.operator].name], ["Work", (bar) => bar.kind], ["From", (bar) => duration(bar.from), "number"], ["To", (bar) => duration(bar.to), "number"]],
  rows: ({ run }) => timelineBars(Number(run)),
});

figure({
  id: "map", title: "Operators and runs",
  note: "Each cell opens the kernel, its verdict and its history. Arrow keys move, Enter opens.",
  controls: {
    search: searchBox("Search", "operator, category, code ..."),
    shown: select("Show", Object.entries(SHOWN).map(([value, [text]]) => [value, text]).filter(([value]) => (value !== "differ" || labels.length > 1) && (value !== "slower" || hasSpeedups))),
    by: select("Colour by", hasSpeedups ? [["outcome", "outcome"], ["speedup", "speedup"]] : [["outcome", "outcome"]]),
  },
  draw: (width, { search, shown, by }) => drawMap(width, operatorsShown(search, shown), by),
  empty: () => "No operator fits the search.",
  words: ({ search, shown }) => `${operatorsShown(search, shown).length} of ${report.operators.length} operators.`,
  columns: [["Operator", (cell) => report.operators[cell.operator].name], ["Category", (cell) => report.operators[cell.operator].category], runColumn,
    ["Outcome", (cell) => OUTCOMES[outcomeOf(cell)].slice(2)], ["Code", (cell) => cell.code], ["Speed", (cell) => times(cell.speedup), "number"],
    ["Tokens", (cell) => count(cell.tokens), "number"], ["Dollars", (cell) => dollars(cell.usd), "number"]],
  rows: ({ search, shown }) => operatorsShown(search, shown).flatMap(({ place }) => labels.map((_, run) => cellOf(run, place)).filter(Boolean)),
});

// ---- summary ----

document.getElementById("warnings").append(...report.warnings.map((text) => element("p", { class: "warning" }, visible(text))));
document.getElementById("sentences").append(...report.summary.map((text) => element("li", {}, visible(text))));
fillTable(document.getElementById("runs"), [
  ["Run", (run) => run.label], ["Model", (run) => (run.offline ? "OFFLINE" : run.model)], ["Judged on", (run) => run.platform], ["State", (run) => run.status],
  ["Began", (run) => run.start_time], ["Took", (run) => duration(run.wall_seconds), "number"], ["Folder", (run) => run.path],
], report.runs);
document.getElementById("made").textContent = `Made by kgb-agent ${plain(report.kgb_version)} at ${plain(report.time)}. Plots: Observable Plot and D3; their licences are in this file.`;

// ---- theme ----

const THEMES = ["auto", "light", "dark"];
const themeButton = document.getElementById("theme");

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = "Theme: " + theme;
  try {
    localStorage.setItem("kgb-theme", theme);
  } catch {
    // Browsers can forbid it to files.
  }
}

function storedTheme() {
  try {
    return localStorage.getItem("kgb-theme");
  } catch {
    return null;
  }
}

themeButton.addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]));
setTheme(THEMES.includes(storedTheme()) ? storedTheme() : "auto");

// ---- drawing ----

const drawAll = () => figures.forEach(({ update }) => update());
drawAll();
openFromHash();
addEventListener("hashchange", openFromHash);
let width = document.querySelector("main").clientWidth;
let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const now = document.querySelector("main").clientWidth;
    if (now !== width) drawAll();
    width = now;
  }, 150);
});
