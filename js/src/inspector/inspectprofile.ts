/** The inspector's part on a profile: own code and child calls, flame graph, lines with most samples. */

import { FlameGraph, heading } from "./flamegraph.ts";
import { h } from "../page/dom.ts";
import { counted, percent, time } from "../page/format.ts";
import { flame, hotLines, totalOf, type ChildTime, type Counts, type Places, type Profile } from "../trace/profile.ts";
import type { Session } from "../session/session.ts";
import type { Trace } from "../trace/trace.ts";

/** Maximum number of listed lines. */
const LISTED = 8;
const NOT_HERE =
  "The samples of this call are not in this page, which has those of the calls with most samples. " +
  "Those of all calls of its model are: select the model. run.profile has all.";

export class ProfilePart {
  #session: Session;
  #graph: FlameGraph;

  constructor(session: Session) {
    this.#session = session;
    this.#graph = new FlameGraph(session);
  }

  /** Return what is known of the inside of some calls of a model; empty for a run without samples. */
  show(subject: string, model: number, calls: readonly number[]): HTMLElement[] {
    const { trace } = this.#session;
    const { profile } = trace;
    if (!profile || trace.header.models[model]?.backend !== "python") return [];
    const isWhole = subject.startsWith("model");
    const counts = isWhole ? profile.ofModel(model) : profile.ofCalls(calls.map((call) => trace.id(call)));
    const { interval_us, wanted_us, left_out } = profile.entry;
    const head = heading(totalOf(counts), interval_us, wanted_us, calls.length);
    if (!counts.size) {
      const text = left_out && !isWhole ? NOT_HERE : "No code of the model was sampled: it took less than the interval.";
      return [head, h("p", { class: "hint" }, text)];
    }
    const places = placesOf(trace, model);
    const root = flame(profile, counts, places, childTimes(trace, calls));
    return [head, split(root.us, totalOf(counts) * interval_us), this.#graph.show(subject, root), ...lines(profile, counts, places)];
  }
}

/** Return the time in child calls by model; overlapping calls share the time that they cover. */
export function childTimes(trace: Trace, calls: readonly number[]): ChildTime[] {
  const found = new Map<number, ChildTime>();
  let sum = 0;
  for (const call of calls)
    for (const child of trace.children(call)) {
      const model = trace.calls.model[child];
      const known = found.get(model) ?? { model, name: trace.names[model], calls: 0, us: 0 };
      known.calls++;
      known.us += trace.duration[child];
      sum += trace.duration[child];
      found.set(model, known);
    }
  const { child: covered } = trace.phases(calls);
  return [...found.values()].map((each) => ({ ...each, us: sum > 0 ? (each.us * covered) / sum : 0 }));
}

function placesOf(trace: Trace, model: number): Places {
  const source = trace.header.sources[model]?.split("\n") ?? [];
  const origin = trace.header.models[model]?.origin;
  return ([, file, line, own]) => {
    const isModel = own === 1 && file === "model.py";
    const text = isModel ? (source[line - 1] ?? "") : "";
    const place = isModel && origin ? `${origin[0]} line ${line + origin[1]}` : `${file}:${line}`;
    return { place, text };
  };
}

function split(whole: number, own: number): HTMLElement {
  const swatch = (kind: string): HTMLElement => h("i", { class: `swatch back-${kind}` });
  return h(
    "p",
    { class: "hint split" },
    h("span", {}, swatch("infer"), ` own code ${time(own)}`),
    h("span", {}, swatch("child"), ` in child calls ${time(whole - own)}`),
  );
}

function lines(profile: Profile, counts: Counts, places: Places): HTMLElement[] {
  const all = hotLines(profile, counts, places);
  const whole = totalOf(counts);
  const rows = all
    .slice(0, LISTED)
    .map(({ place, text, samples }) =>
      h("tr", {}, h("td", {}, percent(samples, whole)), h("th", { scope: "row" }, place, h("div", { class: "code" }, text.trim()))),
    );
  const hidden = all.length - LISTED;
  const more = hidden > 0 ? [h("p", { class: "reason" }, `… ${counted(hidden, "more line")}`)] : [];
  return [h("h4", {}, "Lines", h("span", {}, "share of own code")), h("table", { class: "hotlines" }, h("tbody", {}, rows)), ...more];
}
