/** The inspector of all calls of a model, or of a fold. */

import { callLinks } from "./calllinks.ts";
import { chipList, type Chip } from "../facts/chips.ts";
import { besideBaseline } from "./inspectbaseline.ts";
import { deviceWork } from "../facts/device.ts";
import { h } from "../page/dom.ts";
import type { Counted } from "../trace/folded.ts";
import { count, counted, time } from "../page/format.ts";
import type { ProfilePart } from "./inspectprofile.ts";
import { latency } from "./latency.ts";
import { phaseTable } from "../facts/phasetable.ts";
import { responseTimes } from "./responses.ts";
import type { Selection, Session } from "../session/session.ts";
import type { Trace } from "../trace/trace.ts";
import { Flag } from "../trace/wire.ts";

export type Many = Extract<Selection, { kind: "model" | "fold" }>;

export function manyCalls(session: Session, selection: Many, profile: ProfilePart): HTMLElement[] {
  const { trace } = session;
  const calls = callsOf(trace, selection);
  const gone = countedOf(trace, selection, calls);
  const slowest = [...calls].sort((a, b) => trace.duration[b] - trace.duration[a]);
  const durations = slowest.map((call) => trace.duration[call]);
  const changed = calls.filter((call) => trace.comparison?.changed.has(call));
  const what = selection.kind === "fold" ? "calls to one model from the same caller" : "model";
  return [
    h("div", { class: "breadcrumb" }, what),
    h("h3", {}, trace.names[selection.model]),
    chipList(chips(trace, selection.model, calls, gone)),
    ...(gone ? [onlyCounted(calls.length, gone)] : []),
    ...phaseTable(trace, calls),
    ...profile.show(`${selection.kind} ${selection.kind === "fold" ? selection.key : selection.model}`, selection.model, calls),
    ...besideBaseline(trace, calls),
    ...latency(durations, gone),
    ...responseTimes(trace, calls),
    ...deviceWork(trace, calls),
    ...callLinks(session, "Changed calls", changed),
    ...callLinks(session, "Failed calls", trace.failedOf(calls)),
    ...callLinks(session, "Slowest calls", slowest),
  ];
}

/** Return the facts about calls that can change while a run grows. */
export function factsOfCalls(trace: Trace, selection: Many): string {
  return `${callsOf(trace, selection).length} ${trace.wall}`;
}

function callsOf(trace: Trace, selection: Many): readonly number[] {
  if (selection.kind === "fold") return selection.calls;
  return Array.from({ length: trace.n }, (_, call) => call).filter(
    (call) => trace.calls.model[call] === selection.model,
  );
}

function countedOf({ folded }: Trace, selection: Many, calls: readonly number[]): Counted | null {
  return selection.kind === "fold" ? folded.beside(calls) : folded.of(selection.model);
}

function chips(
  trace: Trace,
  model: number,
  calls: readonly number[],
  gone: Counted | null,
): Chip[] {
  const { backend, device } = trace.header.models[model];
  const failed = calls.filter((call) => trace.has(call, Flag.ERROR)).length;
  const errors = failed + (gone?.errors ?? 0);
  return [
    [counted(calls.length + (gone?.calls ?? 0), "call")],
    [backend],
    [device],
    [errors ? counted(errors, "error") : "", "error"],
  ];
}

/** Return a note on the calls that are only counted. */
function onlyCounted(kept: number, { calls, us }: Counted): HTMLElement {
  const mean = `${time(us)} in all, ${time(us / calls)} on average`;
  const text = `${counted(calls, "call")} are only counted: ${mean}. Phases and links below: of the ${count(kept)} kept.`;
  return h("p", { class: "note" }, text);
}
