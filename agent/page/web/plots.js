// SPDX-License-Identifier: MIT
// The plots of series. Observable Plot draws them; the report's document has all statistics.
"use strict";

const labels = report.runs.map((run) => plain(run.label));
const colors = labels.map((_, i) => `var(--run-${i % 7})`);
const SYMBOLS = ["circle", "square", "triangle", "diamond2", "star", "cross", "wye"];
const symbols = labels.map((_, i) => SYMBOLS[i % SYMBOLS.length]);
const DASHES = ["none", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 2"];
const dash = (run) => DASHES[run % DASHES.length];
const hasSpeedups = report.fast_p.length > 0;
const NO_SPEEDUPS = report.runs.every((run) => run.platform === "cpu")
  ? "No speed was measured: the judge of these runs worked on the CPU. On a GPU this plot shows how fast the kernels are."
  : "No kernel of these runs has a speedup, so that there is nothing to draw.";

const color = { domain: labels, range: colors, type: "ordinal" };
const symbol = { domain: labels, range: symbols };
const style = { background: "none", fontSize: "12px", overflow: "visible" };
const logTicks = (value) => (value >= 10000 ? d3.format("~s")(value).replace("G", "B") : d3.format("~r")(value));

// Labels of a logarithmic axis, the roundest first.
const ROUND = [1, 5, 2, 3, 1.5, 7, 4, 8, 6, 9, 1.2, 2.5, 1.7, 1.1, 1.3, 1.4, 1.6, 1.8, 1.9];

/** A logarithmic scale, and marks for its axis with as many round labels as the width has room for. */
function logAxis(values, width, label, inset = 0) {
  const [low, high] = d3.extent(values);
  const gap = Math.log(high / low) / Math.max(2, width / 75);
  const powers = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
  const ticks = [];
  for (const value of ROUND.flatMap((digits) => powers.map((power) => Number((digits * 10 ** power).toPrecision(2)))))
    if (value >= low && value <= high && ticks.every((tick) => Math.abs(Math.log(tick / value)) >= gap)) ticks.push(value);
  // D3 leaves out labels of a logarithmic scale, unless they are texts of a mark.
  return {
    scale: { type: "log", domain: low < high ? [low, high] : [0.9 * low, 1.1 * low], inset },
    marks: [Plot.gridX(ticks), Plot.axisX(ticks, { text: logTicks, label })],
  };
}

/** What stands for which run: its colour, and its symbol or the dash of its line. */
function legendOfLines(width) {
  let at = 0, line = 0;
  const items = labels.map((label, run) => {
    const wide = 7.4 * label.length + 58;
    if (at > 0 && at + wide > width) [at, line] = [0, line + 1];
    at += wide;
    return { label, run, at: at - wide, line };
  });
  return Plot.plot({
    width, height: 24 * (line + 1), margin: 0, style, axis: null, x: { domain: [0, width] }, y: { domain: [line + 0.5, -0.5] },
    marks: items.flatMap((item) => [
      Plot.link([item], { x1: "at", x2: (d) => d.at + 34, y1: "line", y2: "line", stroke: colors[item.run], strokeDasharray: dash(item.run), strokeWidth: 2 }),
      Plot.text([item], { x: (d) => d.at + 40, y: "line", text: "label", textAnchor: "start" }),
    ]),
  });
}

function legendOfRuns() {
  return Plot.legend({ symbol, color, fill: "color", stroke: "color", style });
}

/** Marks of lines carry a dash for each run, so that colour is not all that differs. */
function lines(rows, options) {
  return d3.groups(rows, (row) => row.run).map(([run, points]) => Plot.line(points, { ...options, stroke: colors[run], strokeDasharray: dash(run), strokeWidth: 2 }));
}

// ---- fast_p ----

function fastRows() {
  const known = report.fast_p.flatMap(({ points }) => points.map(([p]) => p)).filter((p) => p > 0);
  const least = 0.8 * d3.min(known);
  return report.fast_p.flatMap(({ run, points }) => [
    ...points.map(([p, share, low, high]) => ({ run, p: p > 0 ? p : least, share, low, high })),
    { run, p: 1.1 * d3.max(known), share: points.at(-1)[1], low: points.at(-1)[2], high: points.at(-1)[3] },
  ]);
}

function drawFast(width) {
  if (!hasSpeedups) return null;
  const rows = fastRows();
  const axis = logAxis(rows.map((row) => row.p), width, "p: times the speed of the baseline →");
  return Plot.plot({
    width, height: Math.min(420, 0.6 * width + 80), style, color, marginLeft: 48, marginTop: 24, marginBottom: 44,
    x: axis.scale,
    y: { domain: [0, 100], percent: true, label: "↑ operators that are right and faster than p, %", grid: true },
    marks: [
      ...axis.marks,
      Plot.ruleX([1], { strokeDasharray: "4 4" }),
      ...d3.groups(rows, (row) => row.run).map(([run, points]) =>
        Plot.areaY(points, { x: "p", y1: "low", y2: "high", curve: "step-after", fill: colors[run], fillOpacity: 0.13 })),
      ...lines(rows, { x: "p", y: "share", curve: "step-after" }),
      Plot.ruleY([0]),
      Plot.tip(rows, Plot.pointerX({ x: "p", y: "share", title: (row) => `${labels[row.run]}\n${percent(row.share)} faster than ${times(row.p)}\n95 %: ${percent(row.low)} to ${percent(row.high)}` })),
    ],
  });
}

// ---- rows of intervals: groups, failures ----

/** A row for each group and run; `x` has marks. */
function rowsByGroup(width, rows, group, x, padding, marks) {
  const groups = [...new Set(rows.map(group))];
  const longest = d3.max(groups, (name) => name.length) ?? 0;
  return Plot.plot({
    width, style, color, symbol,
    height: 50 + groups.length * (14 * labels.length + 10),
    marginLeft: Math.min(7.2 * longest + 16, 0.45 * width), marginRight: 28, marginTop: 6, marginBottom: 44,
    fy: { domain: groups, label: null, axis: "left", padding: 0.15, tickFormat: (name) => (7.2 * longest > 0.45 * width && name.length > 22 ? name.slice(0, 21) + "…" : name) },
    y: { axis: null, domain: labels, padding, round: false },
    x,
    marks: [Plot.frame({ stroke: "var(--faint)" }), ...marks],
  });
}

function drawGroups(width, by) {
  const rows = report.groups.filter((row) => row.by === by && row.speedup !== null);
  if (rows.length === 0) return null;
  const base = { fy: (row) => plain(row.group), y: (row) => labels[row.run] };
  const known = [1, ...rows.flatMap((row) => [row.speedup, row.speedup_low, row.speedup_high])].filter((value) => value > 0);
  const axis = logAxis(known, 0.75 * width, "times the speed of the baseline, geometric mean →", 6);
  return rowsByGroup(width, rows, base.fy, axis.scale, 0.6, [
    ...axis.marks,
    Plot.ruleX([1], { strokeDasharray: "4 4" }),
    Plot.ruleY(rows.filter((row) => row.speedup_low !== null), { ...base, x1: "speedup_low", x2: "speedup_high", stroke: (row) => labels[row.run], strokeWidth: 2 }),
    Plot.dot(rows, { ...base, x: "speedup", fill: (row) => labels[row.run], symbol: (row) => labels[row.run], r: 4, tip: true, title: (row) => `${labels[row.run]}, ${plain(row.group)}\n${times(row.speedup)}${row.speedup_low === null ? "" : ` (95 %: ${times(row.speedup_low)} to ${times(row.speedup_high)})`}\n${row.timed} of ${row.operators} operators have a speedup` }),
  ]);
}

const MOST_CODES = 15;

function failureCodes() {
  return d3.rollups(report.failures, (rows) => d3.sum(rows, (row) => row.operators), (row) => row.code)
    .sort((a, b) => d3.descending(a[1], b[1])).map(([code]) => code);
}

function drawFailures(width) {
  const shown = failureCodes().slice(0, MOST_CODES);
  if (shown.length === 0) return null;
  const rows = shown.flatMap((code) => report.failures.filter((row) => row.code === code));
  const base = { fy: (row) => plain(row.code), y: (row) => labels[row.run] };
  return rowsByGroup(width, rows, base.fy, { label: "operators →", grid: true, ticks: d3.ticks(0, d3.max(rows, (row) => row.operators), width / 80).filter(Number.isInteger), tickFormat: "d", zero: true }, 0.15, [
    Plot.barX(rows, { ...base, x: "operators", fill: (row) => labels[row.run], tip: true, title: (row) => `${labels[row.run]}\n${plain(row.code)}: ${row.operators} operators` }),
    Plot.text(rows, { ...base, x: "operators", text: "operators", textAnchor: "start", dx: 4 }),
    Plot.ruleX([0]),
  ]);
}

// ---- the ladder ----

function drawLadder(width) {
  const rungs = [...new Set(report.ladder.map((row) => row.rung))];
  const base = { fx: "rung", x: (row) => labels[row.run] };
  return Plot.plot({
    width, height: 320, style, color, symbol, marginLeft: 48, marginTop: 36,
    fx: { domain: rungs, label: null, padding: 0.12 },
    x: { domain: labels, axis: null, padding: 0.3 },
    y: { domain: [0, 100], percent: true, label: "↑ operators, %", grid: true },
    marks: [
      Plot.ruleY([0]),
      Plot.barY(report.ladder, { ...base, y: "share", fill: (row) => labels[row.run], fillOpacity: 0.25 }),
      Plot.ruleX(report.ladder, { ...base, y1: "low", y2: "high", stroke: (row) => labels[row.run], strokeWidth: 2 }),
      Plot.dot(report.ladder, { ...base, y: "share", fill: (row) => labels[row.run], symbol: (row) => labels[row.run], r: 4, tip: true, title: (row) => `${labels[row.run]}, ${row.rung}\n${row.reached} of ${row.operators} operators: ${percent(row.share)}\n95 %: ${percent(row.low)} to ${percent(row.high)}` }),
    ],
  });
}

// ---- any-time curves ----

const COSTS = {
  tokens: { title: "tokens", axis: "tokens of an operator →", format: count },
  usd: { title: "dollars", axis: "US dollars of an operator →", format: dollars },
  seconds: { title: "agents' time", axis: "seconds of agents' time of an operator →", format: duration },
};
const targetName = (target) => (target > 0 ? `faster than ${target}x` : "passed");

function anytimeRows(cost, target) {
  const chosen = report.anytime.filter((row) => row.cost === cost && row.target === Number(target) && row.at.length > 0);
  const last = d3.max(chosen, (row) => row.at.at(-1));
  return chosen.flatMap(({ run, operators, at }) => [
    { run, at: Math.max(at[0], 1e-9), share: 0 },
    ...at.map((value, i) => ({ run, at: Math.max(value, 1e-9), share: (i + 1) / operators })),
    { run, at: 1.05 * last, share: at.length / operators },
  ]);
}

function drawAnytime(width, cost, target) {
  const rows = anytimeRows(cost, target);
  if (rows.length === 0) return null;
  const axis = logAxis(rows.map((row) => row.at), width, COSTS[cost].axis);
  return Plot.plot({
    width, height: Math.min(420, 0.6 * width + 80), style, color, marginLeft: 48, marginTop: 24, marginBottom: 44,
    x: axis.scale,
    y: { domain: [0, 100], percent: true, label: `↑ operators ${targetName(Number(target))} at that cost, %`, grid: true },
    marks: [
      ...axis.marks,
      ...lines(rows, { x: "at", y: "share", curve: "step-after" }),
      Plot.ruleY([0]),
      Plot.tip(rows, Plot.pointerX({ x: "at", y: "share", title: (row) => `${labels[row.run]}\n${percent(row.share)} at ${COSTS[cost].format(row.at)}` })),
    ],
  });
}

// ---- timelines ----

const WORK = { agent: "an agent works", check: "the judge answers a check", final: "the judge gives the final verdict" };

function timelineBars(run) {
  const { rows, bars } = report.runs[run].timeline;
  return bars.map(([operator, what, from, to, row]) => ({ operator, what, from, to, row: rows[row], kind: WORK[what] }));
}

// Pixels of all rows of agents together, and of all rows of devices: many rows are thin.
const MOST_HEIGHT = 360;

/** Where each row is, from top to bottom: agents, then devices. */
function placeRows(rows) {
  const places = [];
  for (const some of [rows.filter((row) => row.startsWith("agent")), rows.filter((row) => !row.startsWith("agent"))]) {
    const height = Math.min(22, MOST_HEIGHT / some.length);
    const inset = height > 6 ? 0.075 * height : 0;
    const above = places.length > 0 ? places.at(-1).bottom + 8 : 0;
    d3.sort(some, (row) => plain(row).replace(/\d+$/, (n) => n.padStart(6, "0"))).forEach((row, i) =>
      places.push({ row, inset, top: above + i * height, middle: above + (i + 0.5) * height, bottom: above + (i + 1) * height }));
  }
  return places;
}

/** The rows that have room for their name: the first of each device before others. */
function namedRows(places) {
  const named = [];
  for (const place of d3.sort(places, ({ row }) => / #\d+$/.test(row) && !row.endsWith(" #1")))
    if (named.every((other) => Math.abs(other.middle - place.middle) >= 14)) named.push(place);
  return named;
}

function drawTimeline(width, run) {
  const { rows } = report.runs[run].timeline;
  const bars = timelineBars(run);
  if (bars.length === 0) return null;
  const longest = d3.max(bars, (bar) => bar.to);
  const [unit, name] = longest > 3 * 3600 ? [3600, "hours"] : longest > 180 ? [60, "minutes"] : [1, "seconds"];
  const places = placeRows(rows);
  const placeOf = new Map(places.map((place) => [place.row, place]));
  const names = new Map(namedRows(places).map((place) => [place.middle, plain(place.row)]));
  const height = places.at(-1).bottom;
  return Plot.plot({
    width, style, height: 50 + height, marginLeft: 7 * d3.max(rows, (row) => row.length) + 18, marginTop: 6, marginRight: 16, marginBottom: 44,
    color: { type: "ordinal", domain: Object.values(WORK), range: ["var(--agent)", "var(--check)", "var(--final)"], legend: true },
    x: { label: `${name} since the run began →`, grid: true },
    y: { domain: [height, 0], label: null, ticks: [...names.keys()], tickFormat: (middle) => names.get(middle) },
    marks: [Plot.rect(bars.map((bar) => ({ ...bar, ...placeOf.get(bar.row) })), {
      x1: (bar) => bar.from / unit, x2: (bar) => bar.to / unit, y1: (bar) => bar.top + bar.inset, y2: (bar) => bar.bottom - bar.inset,
      fill: "kind", tip: true, title: (bar) => `${plain(report.operators[bar.operator].name)}\n${bar.kind}, ${duration(bar.to - bar.from)}`,
    })],
  });
}

function deviceWords(run) {
  const { timeline, wall_seconds: wall } = report.runs[run];
  const busy = d3.sort(timeline.devices, ({ name }) => name).map(({ name, busy_seconds: seconds }) =>
    `${plain(name)} ${wall ? percent(Math.min(seconds / wall, 1)) : duration(seconds)}`);
  return busy.length > 0 ? `The judge worked${wall ? ", by share of the run's time" : ""}: ${busy.join(", ")}.` : "";
}
