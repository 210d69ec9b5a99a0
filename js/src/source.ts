/** The lines of the caller's model.py around the one that made the call. */

import { h } from "./dom.ts";
import type { Trace } from "./trace.ts";

const AROUND = 2;
/** A longer statement is not shown from its beginning. */
const MOST_BEFORE = 12;

/** Empty when the line or the caller's source is not known. */
export function sourceLines(trace: Trace, call: number): HTMLElement[] {
  const [caller, line] = [trace.calls.parent[call], trace.calls.line[call]];
  if (caller < 0 || line === 0) return [];
  const text = trace.header.sources[trace.calls.model[caller]];
  const lines = text?.trimEnd().split("\n") ?? [];
  if (line > lines.length) return [];
  const begun = beginningOf(lines, line);
  const first = Math.max(1, Math.min(begun, line - AROUND));
  const around = lines.slice(first - 1, line + AROUND);
  const indent = Math.min(...around.filter((each) => each.trim()).map((each) => each.search(/\S/)));
  const shown = around.map((each, k) => {
    const number = first + k;
    const part = number >= begun && number <= line;
    return sourceLine(each.slice(indent), number, part, number === line);
  });
  const title = h("h4", {}, `Called by ${trace.name(caller)}`, h("span", {}, place(trace, caller, line)));
  return [
    title,
    h(
      "div",
      { class: "source code", tabindex: 0, role: "group", "aria-label": "Source of the call" },
      shown,
    ),
  ];
}

/** Both numbers of a line: the cell's, where it came from one, and the file's. */
function place(trace: Trace, caller: number, line: number): string {
  const origin = trace.header.models[trace.calls.model[caller]].origin;
  const file = `model.py:${line}`;
  return origin ? `${origin[0]} line ${line + origin[1]} (${file})` : file;
}

/** Where the statement begins that a line closes; the line itself where it closes none. Pure. */
export function beginningOf(lines: readonly string[], line: number): number {
  const closing = /^\s*[)\]}]/;
  if (!closing.test(lines[line - 1])) return line;
  const indent = lines[line - 1].search(/\S/);
  for (let before = line - 1; before >= Math.max(1, line - MOST_BEFORE); before--) {
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
