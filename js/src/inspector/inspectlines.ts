/** The inspector's part on timed lines: the source with hits and times, hot lines tinted. */

import { h } from "../page/dom.ts";
import { count, time } from "../page/format.ts";
import type { TimedFile, TimedLine } from "../trace/header.ts";

/** Return the source of a call with the hits and the time of each line; empty if it was not timed. */
export function timedLines(files: readonly TimedFile[] = []): HTMLElement[] {
  const most = Math.max(...files.flatMap(([, lines]) => lines.map((line) => line?.[2] ?? 0)), 1e-9);
  return files.flatMap(([file, lines]) => [
    h("h4", {}, `Exact lines of ${file}`, h("span", {}, "time without child calls")),
    h(
      "div",
      { class: "timed", tabindex: 0, role: "group", "aria-label": `Lines of ${file}` },
      h(
        "table",
        { class: "code" },
        h("thead", {}, h("tr", {}, ["line", "hits", "time", "in calls", "source"].map((each) => h("th", { scope: "col" }, each)))),
        h("tbody", {}, lines.map((line) => (line ? row(line, most) : gap()))),
      ),
    ),
  ]);
}

function row([place, hits, us, calls, text]: TimedLine, most: number): HTMLElement {
  const number = place.slice(place.search(/\d+$/));
  const share = Math.round((100 * us) / most);
  const heat: Record<string, string> = hits ? { background: `linear-gradient(to right, var(--heat) ${share}%, transparent ${share}%)` } : {};
  const cell = (shown: string): HTMLElement => h("td", { class: "figure" }, shown);
  return h(
    "tr",
    { title: place, class: hits ? "" : "idle" },
    h("th", { scope: "row" }, number),
    cell(hits ? count(hits) : ""),
    h("td", { class: "figure", style: heat }, hits ? time(us) : ""),
    cell(calls ? time(calls) : ""),
    h("td", { class: "text" }, text || " "),
  );
}

function gap(): HTMLElement {
  return h("tr", { class: "idle" }, h("td", {}, "…"));
}
