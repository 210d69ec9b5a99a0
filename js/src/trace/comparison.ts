/** A run and its baseline: which calls are paired, new, changed or missing. Pure. */

import { Trace } from "./trace.ts";
import type { Change } from "./header.ts";
import type { Store } from "./store.ts";

/** In place of a row of the baseline: it has no such call, or it only counts the call. */
const [NEW, COUNTED] = [-1, -2];

/** How the calls of two runs are paired, and what differs. */
export interface Compared {
  /** Row of each call in the baseline, or why it has none. */
  of: Int32Array;
  /** Rows of calls that only the baseline has. */
  missing: ArrayLike<number>;
  changed?: readonly number[];
  changes?: Record<string, Change>;
  /** Calls that were not compared in full: reasons, and ranges of rows. */
  unknown?: Record<string, [first: number, many: number][]>;
}

export class Comparison {
  readonly baseline: Trace;
  /** Calls that both runs have with different inputs, outputs or errors. */
  readonly changed: ReadonlySet<number>;
  #of: Int32Array;
  #changes: Record<string, Change>;
  #missing: Uint8Array;
  #unknown = new Map<number, string>();
  #own: Map<string, number> | undefined;

  constructor(baseline: Trace, { of, missing, changed, changes, unknown }: Compared) {
    this.baseline = baseline;
    this.#of = of.map((call) => (call < baseline.n ? call : NEW));
    this.#changes = changes ?? {};
    this.changed = new Set(changed);
    this.#missing = new Uint8Array(baseline.n);
    for (const call of Array.from(missing)) this.#missing[call] = 1;
    for (const [why, stretches] of Object.entries(unknown ?? {}))
      for (const [first, many] of stretches)
        for (let call = first; call < first + many && call < of.length; call++)
          this.#unknown.set(call, why);
  }

  /** Return the comparison of a run; null without a baseline. */
  static of({ baseline, compared }: Store): Comparison | null {
    return baseline && compared ? new Comparison(new Trace(baseline), compared) : null;
  }

  /** Return the counterpart of a call; negative if it has none. */
  before(call: number): number {
    return this.#of[call] ?? NEW;
  }

  isNew(call: number): boolean {
    return this.before(call) === NEW;
  }

  /** Whether the baseline has the call, but only counts it. */
  isCounted(call: number): boolean {
    return this.before(call) === COUNTED;
  }

  /** Return why a call was not compared in full; empty if it was. */
  unknown(call: number): string {
    return this.#unknown.get(call) ?? "";
  }

  /** Return the counterparts of calls that have one. */
  beforeAll(calls: readonly number[]): number[] {
    return calls.map((call) => this.before(call)).filter((call) => call >= 0);
  }

  change(call: number): Change | undefined {
    return this.#changes[call];
  }

  /** Return missing calls of the baseline: client requests, or calls by some callers. */
  missing(callers: readonly number[] | null): number[] {
    const below = callers
      ? callers.flatMap((caller) => Array.from(this.baseline.children(caller)))
      : this.baseline.roots;
    return below.filter((call) => this.#missing[call] === 1);
  }

  /** Return the own time of a model in the baseline; null if it has no such model. */
  ownOf(name: string): number | null {
    if (!this.#own) {
      const own = new Map<string, number>();
      const { header, calls, own: times, n } = this.baseline;
      for (let call = 0; call < n; call++) {
        const { name: model } = header.models[calls.model[call]];
        own.set(model, (own.get(model) ?? 0) + times[call]);
      }
      for (const [caller, model, , , us] of this.baseline.folded.entries) {
        for (const [id, gained] of [[model, us] as const, [caller, -us] as const]) {
          const known = header.models[id]?.name;
          if (known) own.set(known, Math.max(0, (own.get(known) ?? 0) + gained));
        }
      }
      this.#own = own;
    }
    return this.#own.get(name) ?? null;
  }
}

/** Return the sum of the durations of some calls. */
export function total(trace: Trace, calls: readonly number[]): number {
  return calls.reduce((sum, call) => sum + trace.duration[call], 0);
}
