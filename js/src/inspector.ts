/** The inspector: everything about one call, or about all calls of a model or a fold. */

import { batchFacts } from "./batching.ts";
import { besideBaseline, differences, missingCalls } from "./compared.ts";
import { deviceWork } from "./device.ts";
import { h } from "./dom.ts";
import type { Counted } from "./folded.ts";
import { count, counted, percent, time } from "./format.ts";
import { onlyCounted, uncounted } from "./onlycounted.ts";
import { responseTimes } from "./responses.ts";
import type { Missing, Selection, Session } from "./session.ts";
import { sourceLines } from "./source.ts";
import { distribution, factGrid, TensorList } from "./tensors.ts";
import type { PhaseSums, Trace } from "./trace.ts";
import { Flag, type Phase } from "./wire.ts";

const LISTED_CALLS = 6;
const BINS = 36;
/** Latencies so many times as long as the usual ones are told in words. */
const FAR_OUT = 3;
/** While a run grows, what is selected is told anew so often. */
const REFRESH_MS = 500;
/** Fewer latencies than this have no distribution worth drawing. */
const LEAST_FOR_HISTOGRAM = 4;

/** Rows of the phases table: sum, colour, text, and the column behind it. */
const PARTS: [keyof PhaseSums, string, string, Phase | null][] = [
  ["pre", "fg3", "before the queue", "pre_us"],
  ["queue", "queue", "queue", "queue_us"],
  ["input", "input", "compute input", "compute_input_us"],
  ["infer", "infer", "compute infer", "compute_infer_us"],
  ["child", "child", "in child calls", null],
  ["between", "fg3", "between steps", null],
  ["output", "output", "compute output", "compute_output_us"],
  ["post", "fg3", "to the response", "post_us"],
];
/** Rarely worth a row: below this share of the call they are left out. */
const MARGINAL = new Set<keyof PhaseSums>(["pre", "post"]);
const MARGINAL_SHARE = 0.005;
const COMPUTE = new Set<keyof PhaseSums>(["input", "infer", "output"]);
/** In the stack a smaller part would be a sliver as wide as the gap beside it. */
const LEAST_SHARE = 0.004;

type Many = Exclude<Selection, { kind: "call" } | Missing>;

export class Inspector {
  readonly element = h("div", {
    class: "inspector",
    role: "region",
    "aria-label": "Inspector",
    tabindex: 0,
  });
  #session: Session;
  #tensors: TensorList;
  #facts = "";
  #drawn = -Infinity;

  constructor(session: Session) {
    this.#session = session;
    this.#tensors = new TensorList(session);
  }

  /** Show the selection; nothing is touched when nothing about it changed. */
  draw(): void {
    const { selection, trace } = this.#session;
    const facts = this.#factsOf(selection);
    if (facts === this.#facts) return;
    const sameSubject = facts.split("\n")[0] === this.#facts.split("\n")[0];
    const running = trace.header.run.state === "running";
    if (sameSubject && running && performance.now() - this.#drawn < REFRESH_MS) return;
    this.#drawn = performance.now();
    this.#facts = facts;
    const focused = (this.element.getRootNode() as ShadowRoot).activeElement?.getAttribute(
      "data-focus",
    );
    const top = this.element.scrollTop;
    this.element.replaceChildren(...this.#content(selection));
    this.element.scrollTop = sameSubject ? top : 0;
    const again = focused && [...this.element.querySelectorAll<HTMLElement>("[data-focus]")];
    if (again) again.find((each) => each.dataset.focus === focused)?.focus();
  }

  /** How high it would like to be. */
  get wantedHeight(): number {
    return this.element.scrollHeight;
  }

  focus(): void {
    this.element.focus();
  }

  /** Rows have other numbers now: what is known of them is of others. */
  forget(): void {
    this.#tensors.forget();
    this.#facts = "";
  }

  dispose(): void {
    this.element.remove();
  }

  /** First line: what is selected; second: all that can change about it. */
  #factsOf(selection: Selection | null): string {
    if (!selection) return "nothing";
    const { trace } = this.#session;
    const { batching, copies, errors, logs, notes, run, tensors } = trace.header;
    if (selection.kind === "missing") return `missing ${selection.key}`;
    if (selection.kind !== "call") {
      const key = selection.kind === "fold" ? selection.key : selection.model;
      return `${selection.kind} ${key}\n${this.#calls(selection).length} ${trace.wall} ${run.state}`;
    }
    const { call } = selection;
    const { batch, flags, responses } = trace.calls;
    const facts = [
      flags[call],
      trace.duration[call],
      responses[call],
      errors[call],
      logs[call]?.length,
      notes[call],
      batching[call]?.length,
      batch[call],
      copies[call]?.length,
      call in tensors,
    ];
    return `call ${call}\n${facts} ${run.state}`;
  }

  #content(selection: Selection | null): HTMLElement[] {
    if (!selection) return [h("p", { class: "hint" }, "Select a model or a call.")];
    const { comparison } = this.#session.trace;
    if (selection.kind === "missing")
      return comparison ? missingCalls(comparison.baseline, selection.missing) : [];
    return selection.kind === "call" ? this.#call(selection.call) : this.#many(selection);
  }

  #calls(selection: Many): readonly number[] {
    const { trace } = this.#session;
    if (selection.kind === "fold") return selection.calls;
    return Array.from({ length: trace.n }, (_, call) => call).filter(
      (call) => trace.calls.model[call] === selection.model,
    );
  }

  #call(call: number): HTMLElement[] {
    const { trace } = this.#session;
    const { errors, codes, notes, logs } = trace.header;
    const source = sourceLines(trace, call);
    const failed = trace.has(call, Flag.ERROR);
    return [
      this.#breadcrumb(call),
      h("h3", {}, trace.name(call)),
      this.#chips(call),
      ...phases(trace, [call]),
      ...uncounted(trace.folded.by(trace.calls.model[call])),
      ...(failed ? [error(trace, call, errors[call] ?? "failed", codes[call])] : []),
      // Who looks at a failure asks where first, others what.
      ...(failed ? source : []),
      ...besideBaseline(trace, [call]),
      ...differences(trace, call),
      ...(notes[call] ?? []).map((note) => h("p", { class: "note" }, note)),
      ...this.#batch(call),
      ...responseTimes(trace, [call]),
      ...deviceWork(trace, [call]),
      this.#tensors.show(call),
      ...(failed ? [] : source),
      ...(logs[call]?.length ? logLines(logs[call]) : []),
    ];
  }

  #breadcrumb(call: number): HTMLElement {
    const { trace } = this.#session;
    const path = trace.ancestors(call);
    if (path.length === 0) return h("div", { class: "breadcrumb" }, "request from outside");
    const step = (caller: number): HTMLElement => {
      const onclick = (): void =>
        this.#session.select({ kind: "call", call: caller }, { reveal: true });
      return h(
        "button",
        { type: "button", class: "crumb", onclick, "data-focus": `crumb-${caller}` },
        trace.name(caller),
      );
    };
    // Deep recursion: the ends of the chain are what tells where one is.
    const shown =
      path.length > 6
        ? [...path.slice(0, 2).map(step), h("span", {}, "…"), ...path.slice(-3).map(step)]
        : path.map(step);
    return h(
      "div",
      { class: "breadcrumb" },
      shown.map((each) => [each, " › "]),
    );
  }

  #chips(call: number): HTMLElement {
    const { trace } = this.#session;
    const { header, calls } = trace;
    const model = header.models[calls.model[call]];
    const chips: [string, string?][] = [[time(trace.duration[call])]];
    if (model.kind === "span") chips.push(["span"]);
    else {
      const version = model.version === "" ? "" : `v${model.version}`;
      chips.push([model.backend], [model.device], [version]);
    }
    chips.push(
      [header.instances[calls.instance[call]] ?? ""],
      [header.request_ids[call] ? `request ${header.request_ids[call]}` : ""],
    );
    const batch = batchFacts(trace, call)?.size ?? 0;
    if (batch > 1) chips.push([`batch of ${count(batch)}`]);
    if (trace.has(call, Flag.ASYNC)) chips.push(["async"]);
    if (trace.has(call, Flag.DECOUPLED)) chips.push([counted(calls.responses[call], "response")]);
    if (trace.has(call, Flag.CACHE_HIT)) chips.push(["cache hit"]);
    if (trace.has(call, Flag.CANCELLED)) chips.push(["cancelled", "error"]);
    if (trace.has(call, Flag.RUNNING)) chips.push(["running", "running"]);
    if (trace.has(call, Flag.ERROR)) chips.push(["error", "error"]);
    return chipList(chips);
  }

  /** Why it was executed with these others, who can be selected, and why not with those before. */
  #batch(call: number): HTMLElement[] {
    const facts = batchFacts(this.#session.trace, call);
    if (!facts) return [];
    const { size, because, mates, others, apart } = facts;
    const before = apart.flatMap(({ words, call: other }) => [
      ...reason(words),
      ...(other < 0 ? [] : [this.#link(other, `see ${this.#place(other)}`)]),
    ]);
    const hidden = mates.length - LISTED_CALLS;
    return [
      ...(size ? [h("h4", {}, "Batch", h("span", {}, counted(size, "request")))] : []),
      ...reason(because && `left because ${because}`),
      ...mates.slice(0, LISTED_CALLS).map((mate) => this.#link(mate, this.#place(mate))),
      ...reason(hidden > 0 && `… ${counted(hidden, "more call")} of this run`),
      ...reason(others && `with ${others}`),
      ...(apart.length ? [h("h4", {}, "Not in a batch before"), ...before] : []),
    ];
  }

  /** Which call of its model it is, and when it began. */
  #place(call: number): string {
    const { trace } = this.#session;
    const model = trace.calls.model[call];
    const before = trace.calls.model.subarray(0, call);
    const number = before.reduce((sum, each) => sum + (each === model ? 1 : 0), 1);
    return `${trace.name(call)} #${count(number)} at ${time(trace.start(call))}`;
  }

  /** What selects a call, with the time that it took. */
  #link(call: number, place: string): HTMLElement {
    const onclick = (): void => this.#session.select({ kind: "call", call }, { reveal: true });
    return h(
      "button",
      { type: "button", class: "link", onclick, "data-focus": `call-${call}` },
      h("span", {}, place),
      h("span", {}, time(this.#session.trace.duration[call])),
    );
  }

  #many(selection: Many): HTMLElement[] {
    const { trace } = this.#session;
    const calls = this.#calls(selection);
    const model = trace.header.models[selection.model];
    const failed = calls.filter((call) => trace.has(call, Flag.ERROR));
    const changed = calls.filter((call) => trace.comparison?.changed.has(call));
    const what = selection.kind === "fold" ? "calls to one model from the same caller" : "model";
    const gone =
      selection.kind === "fold" ? trace.folded.beside(calls) : trace.folded.of(selection.model);
    const errors = failed.length + (gone?.errors ?? 0);
    const chips: [string, string?][] = [
      [counted(calls.length + (gone?.calls ?? 0), "call")],
      [model.backend],
      [model.device],
    ];
    if (errors) chips.push([counted(errors, "error"), "error"]);
    const slowest = [...calls].sort((a, b) => trace.duration[b] - trace.duration[a]);
    return [
      h("div", { class: "breadcrumb" }, what),
      h("h3", {}, trace.names[selection.model]),
      chipList(chips),
      ...(gone ? [onlyCounted(calls.length, gone)] : []),
      ...phases(trace, calls),
      ...besideBaseline(trace, calls),
      ...latency(trace, slowest, gone),
      ...responseTimes(trace, calls),
      ...deviceWork(trace, calls),
      ...(changed.length ? this.#links("Changed calls", changed, calls) : []),
      ...(failed.length ? this.#links("Failed calls", failed, calls) : []),
      ...this.#links("Slowest calls", slowest, calls),
    ];
  }

  #links(heading: string, some: readonly number[], all: readonly number[]): HTMLElement[] {
    const { trace } = this.#session;
    const link = (call: number): HTMLElement =>
      this.#link(call, `#${count(all.indexOf(call) + 1)} at ${time(trace.start(call))}`);
    return [h("h4", {}, heading), ...some.slice(0, LISTED_CALLS).map(link)];
  }
}

function reason(words: string | false): HTMLElement[] {
  return words ? [h("p", { class: "reason" }, words)] : [];
}

function chipList(chips: [string, string?][]): HTMLElement {
  const shown = chips.filter(([text]) => text);
  return h(
    "div",
    { class: "chips" },
    shown.map(([text, kind = ""]) => h("span", { class: `chip ${kind}` }, text)),
  );
}

/** The stack of phases and their table; of one call, what was not recorded is said. */
function phases(trace: Trace, calls: readonly number[]): HTMLElement[] {
  const sums = trace.phases(calls);
  const whole = Object.values(sums).reduce((sum, us) => sum + us, 0);
  const [call] = calls;
  const ran = PARTS.some(
    ([part, , , phase]) => phase && !MARGINAL.has(part) && !isNaN(trace.phase(call, phase)),
  );
  if (calls.length === 1 && !ran && !trace.has(call, Flag.RUNNING))
    return [h("p", { class: "hint" }, "It reached no model: no phase was recorded.")];
  const stack = PARTS.filter(([part]) => sums[part] > LEAST_SHARE * whole).map(([part, colour]) =>
    h("i", { class: `back-${colour}`, style: { flex: `${sums[part] / whole} 1 0` } }),
  );
  const label = PARTS.map(([part, , text]) => `${text} ${time(sums[part])}`).join(", ");
  const rows = PARTS.filter(([part]) => isListed(part, sums, whole)).map(
    ([part, colour, text, phase]) => {
      const absent =
        calls.length === 1 && phase !== null && Number.isNaN(trace.phase(calls[0], phase));
      const cells = absent
        ? [h("td", { class: "absent" }, "not recorded"), h("td")]
        : [h("td", {}, time(sums[part])), h("td", {}, percent(sums[part], whole))];
      return h(
        "tr",
        {},
        h("th", { class: "phase" }, h("i", { class: `swatch ${part} back-${colour}` }), text),
        cells,
      );
    },
  );
  return [
    h("div", { class: "stack", role: "img", "aria-label": label }, stack),
    h("table", { class: "phases" }, h("tbody", {}, rows)),
  ];
}

function isListed(part: keyof PhaseSums, sums: PhaseSums, whole: number): boolean {
  if (part === "child" || part === "between") return sums[part] > 0;
  // What an ensemble has not, it need not be said to have taken no time.
  if (sums.between > 0 && COMPUTE.has(part)) return sums[part] > 0;
  return !MARGINAL.has(part) || sums[part] > MARGINAL_SHARE * whole;
}

/** What failed, with the chain of models that led there. */
function error(trace: Trace, call: number, text: string, code: string | undefined): HTMLElement {
  const chain = [...trace.ancestors(call), call].map((each) => trace.name(each));
  const where = chain.length > 8 ? [...chain.slice(0, 3), "…", ...chain.slice(-4)] : chain;
  const head = h(
    "div",
    { class: "chain" },
    code ? `${code} · ${where.join(" › ")}` : where.join(" › "),
  );
  return h("div", { class: "error", role: "note" }, head, h("div", { class: "code" }, text));
}

/** Latencies, smallest first, each with how many calls took so long. */
type Latencies = readonly (readonly [us: number, calls: number])[];

/** Of all calls, also of those that are only counted. */
function latency(trace: Trace, slowest: readonly number[], gone: Counted | null): HTMLElement[] {
  const kept = slowest.map((call) => [trace.duration[call], 1] as const);
  const all = [...kept, ...(gone?.latencies ?? [])].sort(([a], [b]) => a - b);
  const calls = all.reduce((sum, [, each]) => sum + each, 0);
  const mean = all.reduce((sum, [us, each]) => sum + us * each, 0) / calls;
  const quantile = (share: number): string => time(quantileOf(all, calls, share));
  const facts: [string, string][] = [
    ["p50", quantile(0.5)],
    ["p90", quantile(0.9)],
    ["p99", quantile(0.99)],
    ["min", quantile(0)],
    ["max", quantile(1)],
    ["mean", time(mean)],
  ];
  const within = calls > kept.length ? h("span", {}, `all ${count(calls)}, within 5 %`) : "";
  const heading = h("h4", {}, "Latency per call", within);
  if (calls < LEAST_FOR_HISTOGRAM) return [heading, factGrid(facts)];
  return [heading, factGrid(facts), ...latencies(all, calls)];
}

/** The latency that such a share of the calls does not exceed. */
function quantileOf(all: Latencies, calls: number, share: number): number {
  const at = Math.min(calls - 1, Math.floor(share * calls));
  let before = 0;
  for (const [us, each] of all) if ((before += each) > at) return us;
  return NaN;
}

/** Their distribution; a few that took very long do not squeeze it. */
function latencies(all: Latencies, calls: number): HTMLElement[] {
  const [low, most] = [all[0][0], all[all.length - 1][0]];
  const usual = quantileOf(all, calls, 0.9);
  const high = most > FAR_OUT * usual ? 1.5 * usual : most;
  const counts = new Array<number>(BINS).fill(0);
  let beyond = 0;
  for (const [us, each] of all)
    if (us > high) beyond += each;
    else counts[Math.min(BINS - 1, Math.floor(((us - low) / (high - low || 1)) * BINS))] += each;
  const more = beyond ? `, ${count(beyond)} more up to ${time(most)}` : "";
  const show = (each: number | null): string =>
    time(each ?? NaN) + (each === high && high > low ? more : "");
  return distribution({ low, high, counts }, "latencies", show);
}

function logLines(lines: readonly [number, string, string][]): HTMLElement[] {
  const line = ([us, level, text]: [number, string, string]): HTMLElement =>
    h(
      "div",
      { class: level.toLowerCase() },
      h("span", { class: "number" }, time(us)),
      h("span", { class: "level" }, level),
      h("span", {}, text.trimEnd()),
    );
  const list = h(
    "div",
    { class: "logs code", tabindex: 0, role: "group", "aria-label": "Log lines" },
    lines.map(line),
  );
  return [h("h4", {}, "Log", h("span", {}, count(lines.length))), list];
}
