/** What a request and its responses say besides their tensors; the calls of its sequence. */

import { callLink } from "./calllinks.ts";
import { h } from "../page/dom.ts";
import { count, counted } from "../page/format.ts";
import type { RequestEntry } from "../trace/header.ts";
import { sequenceOf } from "../trace/sequences.ts";
import type { Session } from "../session/session.ts";
import type { Trace } from "../trace/trace.ts";

type Fact = [name: string, text: string, before?: string];
type Field = Exclude<keyof RequestEntry, "parameters">;

/** Fields in the order of the inspector; the request id is a chip. */
const FIELDS: readonly Field[] = [
  "version",
  "correlation_id",
  "sequence_start",
  "sequence_end",
  "priority",
  "timeout_us",
];
/** Maximum number of responses whose parameters are listed at once. */
const MAX_LISTED = 24;

/** Return the fields and custom parameters of a request, and of its responses. */
export function requestFacts(trace: Trace, call: number): HTMLElement[] {
  const { requests, response_parameters } = trace.header;
  const id = trace.id(call);
  const request = fieldsOf(requests[id] ?? {}, before(trace, call));
  const responses = (response_parameters[id] ?? []).flatMap(([number, pairs]) =>
    pairs.map(([name, text]): Fact => [number > 0 ? `#${number + 1} ${name}` : name, text]),
  );
  const parameters = (requests[id]?.parameters ?? []).map(([name, text]): Fact => [name, text]);
  return [
    ...section("Request", request),
    ...section("Request parameters", parameters),
    ...section("Response parameters", responses),
  ];
}

/** Return links to the calls before and after a call in its sequence. */
export function sequenceLinks(session: Session, call: number): HTMLElement[] {
  const { trace } = session;
  const found = sequenceOf(trace, call);
  if (!found) return [];
  const { id, position, calls } = found;
  const place = `request ${count(position + 1)} of ${count(calls.length)} in this run`;
  const link = (at: number, words: string): HTMLElement[] =>
    at < 0 || at >= calls.length
      ? []
      : [callLink(session, calls[at], `${words}: call ${trace.id(calls[at])}`, words)];
  return [
    h("h4", {}, `Sequence ${id}`, h("span", {}, place)),
    ...link(position - 1, "previous"),
    ...link(position + 1, "next"),
  ];
}

/** Return the request of the counterpart in the baseline; undefined without one. */
function before({ comparison }: Trace, call: number): RequestEntry | undefined {
  const other = comparison ? comparison.before(call) : -1;
  if (!comparison || other < 0) return undefined;
  return comparison.baseline.header.requests[comparison.baseline.id(other)] ?? {};
}

function fieldsOf(entry: RequestEntry, baseline?: RequestEntry): Fact[] {
  const names = baseline ? (["request_id", ...FIELDS] as const) : FIELDS;
  return names.flatMap((name): Fact[] => {
    const [text, was] = [entry[name] ?? "", baseline?.[name] ?? ""];
    const differs = baseline !== undefined && text !== was;
    if (name === "request_id" && !differs) return [];
    return text || differs ? [[name, text || "none", differs ? was || "none" : undefined]] : [];
  });
}

function section(title: string, facts: readonly Fact[]): HTMLElement[] {
  if (facts.length === 0) return [];
  const rows = facts.slice(0, MAX_LISTED).map(([name, text, was]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", class: "code" }, name),
      h("td", { class: "code" }, text, ...(was === undefined ? [] : [h("div", {}, `before: ${was}`)])),
    ),
  );
  const hidden = facts.length - MAX_LISTED;
  const more = hidden > 0 ? [h("p", { class: "hint" }, `… ${counted(hidden, "more parameter")}`)] : [];
  return [h("h4", {}, title), h("table", { class: "said" }, h("tbody", {}, rows)), ...more];
}
