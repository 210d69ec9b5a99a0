/** Lines of the caller's model.py around the line of a call. */

import { crumb } from "./calllinks.ts";
import { h } from "../page/dom.ts";
import type { Session } from "../session/session.ts";

const CONTEXT_LINES = 2;
/** Maximum number of lines of a statement before the line of the call. */
const MAX_BEFORE = 12;

/** Return the lines; empty if the line or the source is unknown. */
export function sourceLines(session: Session, call: number): HTMLElement[] {
  const { trace } = session;
  const [caller, line] = [trace.calls.parent[call], trace.calls.line[call]];
  if (caller < 0 || line === 0) return [];
  const text = trace.header.sources[trace.calls.model[caller]];
  const lines = text?.trimEnd().split("\n") ?? [];
  if (line > lines.length) return [];
  const begun = beginningOf(lines, line);
  const first = Math.max(1, Math.min(begun, line - CONTEXT_LINES));
  const around = lines.slice(first - 1, line + CONTEXT_LINES);
  const indent = Math.min(...around.filter((each) => each.trim()).map((each) => each.search(/\S/)));
  // Numbers as of the cell, which is what the reader has; of a file as of the file.
  const origin = trace.header.models[trace.calls.model[caller]].origin;
  const above = origin?.[1] ?? 0;
  const shown = around.map((each, k) => {
    const number = first + k;
    const part = number >= begun && number <= line;
    return sourceLine(each.slice(indent), number + above, part, number === line);
  });
  const place = origin ? `${origin[0]} line ${line + above}` : `model.py:${line}`;
  const inFile = origin ? `model.py:${line}` : null;
  const title = h(
    "h4",
    {},
    h("span", {}, "Called by ", crumb(session, caller, "caller")),
    h("span", { title: inFile }, place),
  );
  return [
    title,
    h(
      "div",
      { class: "source code", tabindex: 0, role: "group", "aria-label": "Source of the call" },
      shown,
    ),
  ];
}

/** Return the first line of the statement that a line closes, else the line itself. Pure. */
export function beginningOf(lines: readonly string[], line: number): number {
  const closing = /^\s*[)\]}]/;
  if (!closing.test(lines[line - 1])) return line;
  const indent = lines[line - 1].search(/\S/);
  for (let before = line - 1; before >= Math.max(1, line - MAX_BEFORE); before--) {
    const text = lines[before - 1];
    if (text.search(/\S/) === indent && !closing.test(text)) return before;
  }
  return line;
}

function sourceLine(text: string, number: number, part: boolean, called: boolean): HTMLElement {
  const kind = called ? "here" : part ? "part" : "";
  const attributes = { class: kind, "aria-current": called ? "location" : null };
  return h(
    "div",
    attributes,
    h("span", { class: "number" }, String(number)),
    h("span", {}, text || " "),
  );
}
