// SPDX-License-Identifier: MIT
// Elements, texts and tables. Text of the document reaches the page only as text nodes.
"use strict";

const report = JSON.parse(document.getElementById("document").textContent);

/** An element with attributes and children; a child that is no node becomes text. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Characters that steer a terminal or the reading direction, or that cannot be seen. Line feed and tab stay.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

function nameOf(character) {
  return character === "\u001b" ? "ESC" : "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

/** Text that an agent may have written, with marks in the place of what cannot be seen. */
function visible(text) {
  const parts = document.createDocumentFragment();
  let from = 0;
  for (const match of String(text).matchAll(UNSEEN)) {
    parts.append(text.slice(from, match.index), element("span", { class: "mark" }, nameOf(match[0])));
    from = match.index + match[0].length;
  }
  parts.append(String(text).slice(from));
  return parts;
}

/** The same as a string, for labels in plots and attributes. */
function plain(text) {
  return text === null || text === undefined ? "" : String(text).replace(UNSEEN, (character) => "[" + nameOf(character) + "]");
}

const percent = (share) => (share === null ? "" : (100 * share).toFixed(1) + " %");
const times = (speedup) => (speedup === null ? "" : speedup.toFixed(2) + "x");
const count = (n) => (n === null ? "" : d3.format(n >= 10000 ? ".3s" : "d")(n).replace("G", "B"));
const dollars = (usd) => (usd === null ? "" : "$" + usd.toFixed(usd < 1 ? 4 : 2));

function duration(seconds) {
  if (seconds === null) return "";
  if (seconds < 120) return seconds.toFixed(1) + " s";
  if (seconds < 7200) return (seconds / 60).toFixed(1) + " min";
  return (seconds / 3600).toFixed(1) + " h";
}

/** Fill a table. A column is [title, value of a row, "number" or nothing]; a value may be a node. */
function fillTable(table, columns, rows) {
  const cells = (name, row) =>
    columns.map(([title, value, kind]) => {
      const content = name === "th" ? title : value(row);
      return element(name, { class: kind, scope: name === "th" && "col" }, content instanceof Node ? content : visible(content ?? ""));
    });
  table.replaceChildren(
    element("thead", {}, element("tr", {}, ...cells("th"))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells("td", row)))),
  );
  return table;
}

/** A table that is made when it is first opened. `rows` is a function: what is shown may have changed. */
function tableBehind(title, columns, rows) {
  const details = element("details", {}, element("summary", {}, "The same as a table"));
  const table = element("table", { "aria-label": title });
  details.append(element("div", { class: "scrolled" }, table));
  details.refresh = () => details.open && fillTable(table, columns, rows());
  details.addEventListener("toggle", details.refresh);
  return details;
}
