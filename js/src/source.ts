/** The lines of the caller's model.py around the one that made the call. */

import { h } from "./dom.ts";
import type { Trace } from "./trace.ts";

const AROUND = 2;

/** Empty when the line or the caller's source is not known. */
export function sourceLines(trace: Trace, call: number): HTMLElement[] {
  const [caller, line] = [trace.calls.parent[call], trace.calls.line[call]];
  if (caller < 0 || line === 0) return [];
  const text = trace.header.sources[trace.calls.model[caller]];
  const lines = text?.trimEnd().split("\n") ?? [];
  if (line > lines.length) return [];
  const first = Math.max(1, line - AROUND);
  const around = lines.slice(first - 1, line + AROUND);
  const indent = Math.min(...around.filter((each) => each.trim()).map((each) => each.search(/\S/)));
  const shown = around.map((each, k) => sourceLine(each.slice(indent), first + k, line));
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

function sourceLine(text: string, number: number, called: number): HTMLElement {
  const here = number === called;
  const attributes = { class: here ? "here" : "", "aria-current": here ? "location" : null };
  return h(
    "div",
    attributes,
    h("span", { class: "number" }, String(number)),
    h("span", {}, text || " "),
  );
}
