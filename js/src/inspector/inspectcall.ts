/** The inspector of one call. */

import { batchFacts } from "../facts/batching.ts";
import { breadcrumb, callLink, LISTED_CALLS } from "./calllinks.ts";
import { chipList, chipsOf } from "../facts/chips.ts";
import { besideBaseline, differences } from "./inspectbaseline.ts";
import type { DebugPart } from "./debugcall.ts";
import { deviceWork } from "../facts/device.ts";
import { h } from "../page/dom.ts";
import type { Counted } from "../trace/folded.ts";
import { count, counted, time } from "../page/format.ts";
import type { ProfilePart } from "./inspectprofile.ts";
import { timedLines } from "./inspectlines.ts";
import { phaseTable } from "../facts/phasetable.ts";
import { requestFacts, sequenceLinks } from "./requests.ts";
import { responseTimes } from "./responses.ts";
import { sequenceOf } from "../trace/sequences.ts";
import type { Session } from "../session/session.ts";
import { sourceLines } from "./source.ts";
import { hasFewValues, type TensorList } from "../tensors/tensors.ts";
import type { Trace } from "../trace/trace.ts";
import { Flag } from "../trace/wire.ts";

/** Maximum number of models in the chain that led to an error. */
const MAX_CHAIN = 8;

/** The parts of the inspector that keep what they have shown. */
interface CallParts {
  tensors: TensorList;
  profile: ProfilePart;
  debug: DebugPart;
}

/** Return what the inspector shows of a call, from its name down to its log. */
export function oneCall(
  session: Session,
  call: number,
  { tensors, profile, debug }: CallParts,
): HTMLElement[] {
  const { trace } = session;
  const { notes, logs } = trace.header;
  const id = trace.id(call);
  const failed = trace.has(call, Flag.ERROR);
  const source = sourceLines(session, call);
  const values = tensors.show(call);
  // A profile that the user requested is seen without scrolling.
  const few = !failed && !trace.profile && !trace.header.lines?.[id] && hasFewValues(trace.header.tensors[id]);
  return [
    breadcrumb(session, call),
    h("h3", {}, trace.name(call)),
    chipList(chipsOf(trace, call)),
    ...debug.show(call),
    // Few values are seen without scrolling.
    ...(few ? [values] : []),
    ...requestFacts(trace, call),
    ...sequenceLinks(session, call),
    ...phaseTable(trace, [call]),
    ...uncounted(trace.folded.by(trace.calls.model[call])),
    ...timedLines(trace.header.lines?.[id]),
    ...profile.show(`call ${id}`, trace.calls.model[call], [call]),
    // Of a failed call the source comes first, of others the tensors.
    ...(failed ? [errorOf(trace, call), ...source] : []),
    ...besideBaseline(trace, [call]),
    ...differences(trace, call),
    ...(notes[id] ?? []).map((note) => h("p", { class: "note" }, note)),
    ...batch(session, call),
    ...responseTimes(trace, [call]),
    ...deviceWork(trace, [call]),
    ...(few ? [] : [values]),
    ...(failed ? [] : source),
    ...(logs[id]?.length ? logLines(logs[id]) : []),
  ];
}

/** Return the facts about a call that can change while a run grows. */
export function factsOfCall(trace: Trace, call: number): string {
  const { batching, copies, errors, logs, notes, tensors } = trace.header;
  const { batch, flags, responses } = trace.calls;
  const id = trace.id(call);
  return [
    flags[call],
    trace.duration[call],
    responses[call],
    errors[id],
    logs[id]?.length,
    notes[id],
    batching[id]?.length,
    batch[call],
    copies[id]?.length,
    trace.header.response_parameters[id]?.length,
    sequenceOf(trace, call)?.calls.length,
    id in tensors,
    trace.header.run.dropped?.values?.calls,
  ].join();
}

/** Return the error of a call, with the chain of models that led to it. */
function errorOf(trace: Trace, call: number): HTMLElement {
  const { codes, errors } = trace.header;
  const chain = [...trace.ancestors(call), call].map((each) => trace.name(each));
  const where = chain.length > MAX_CHAIN ? [...chain.slice(0, 3), "…", ...chain.slice(-4)] : chain;
  const id = trace.id(call);
  const head = [...(codes[id] ? [codes[id]] : []), where.join(" › ")].join(" · ");
  const text = h("div", { class: "code" }, errors[id] ?? "failed");
  return h("div", { class: "error", role: "note" }, h("div", { class: "chain" }, head), text);
}

/** Return the batch of a call with links to the other calls, and why it missed earlier ones. */
function batch(session: Session, call: number): HTMLElement[] {
  const facts = batchFacts(session.trace, call);
  if (!facts) return [];
  const { size, because, mates, others, apart } = facts;
  const link = (other: number, before = ""): HTMLElement =>
    callLink(session, other, `${before}${place(session.trace, other)}`);
  const before = apart.flatMap(({ words, call: other }) => [
    ...reason(words),
    ...(other < 0 ? [] : [link(other, "see ")]),
  ]);
  const hidden = mates.length - LISTED_CALLS;
  return [
    ...(size ? [h("h4", {}, "Batch", h("span", {}, counted(size, "request")))] : []),
    ...reason(because && `left because ${because}`),
    ...mates.slice(0, LISTED_CALLS).map((mate) => link(mate)),
    ...reason(hidden > 0 && `… ${counted(hidden, "more call")} of this run`),
    ...reason(others && `with ${others}`),
    ...(apart.length ? [h("h4", {}, "Not in a batch before"), ...before] : []),
  ];
}

function reason(words: string | false): HTMLElement[] {
  return words ? [h("p", { class: "reason" }, words)] : [];
}

/** Return model, id and start of a call. */
function place(trace: Trace, call: number): string {
  return `${trace.name(call)}, call ${trace.id(call)} at ${time(trace.start(call))}`;
}

function logLines(lines: readonly [number, string, string][]): HTMLElement[] {
  const line = ([us, level, text]: [number, string, string]): HTMLElement =>
    h(
      "div",
      { class: `log-${level.toLowerCase()}` },
      h("span", { class: "number" }, time(us)),
      h("span", { class: "level" }, level),
      h("span", {}, text.trimEnd()),
    );
  const role = { tabindex: 0, role: "group", "aria-label": "Log lines" };
  const list = h("div", { class: "logs code", ...role }, lines.map(line));
  return [h("h4", {}, "Log", h("span", {}, count(lines.length))), list];
}

/** Return a note on child calls that are only counted: their time looks like own time. */
function uncounted(counts: Counted | null): HTMLElement[] {
  if (!counts) return [];
  const took = `${counted(counts.calls, "call")} that calls of this model made, ${time(counts.us)}`;
  return [h("p", { class: "hint" }, `${took}, are only counted, not in child calls above.`)];
}
