/** A run beside an earlier one: which calls are the same, new, changed, missing. Pure. */

import { Trace } from "./trace.ts";
import type { Change, Store } from "./wire.ts";

export class Comparison {
  readonly baseline: Trace;
  /** Calls that both runs have and that answer, or are asked, differently. */
  readonly changed: ReadonlySet<number>;
  #of: Int32Array;
  #changes: Record<string, Change>;
  #missing: Uint8Array;
  #own: Map<string, number> | undefined;

  constructor(baseline: Trace, of: Int32Array, changed: number[], changes: Record<string, Change>) {
    this.baseline = baseline;
    this.#of = of;
    this.#changes = changes;
    this.changed = new Set(changed);
    this.#missing = new Uint8Array(baseline.n).fill(1);
    for (const call of of) if (call >= 0) this.#missing[call] = 0;
  }

  /** Null for a run that stands alone. */
  static of(store: Store): Comparison | null {
    const { baseline, baselineOf, header } = store;
    if (!baseline || !baselineOf) return null;
    const of = baselineOf.map((call) => (call < baseline.n ? call : -1));
    return new Comparison(new Trace(baseline), of, header.changed ?? [], header.changes ?? {});
  }

  /** The same call in the baseline; −1 for one that is new. */
  before(call: number): number {
    return this.#of[call] ?? -1;
  }

  /** The counterparts of calls; those of new ones are left out. */
  beforeAll(calls: readonly number[]): number[] {
    return calls.map((call) => this.before(call)).filter((call) => call >= 0);
  }

  change(call: number): Change | undefined {
    return this.#changes[call];
  }

  get newCalls(): number {
    return this.#of.reduce((sum, call) => sum + (call < 0 ? 1 : 0), 0);
  }

  get missingCalls(): number {
    return this.#missing.reduce((sum, each) => sum + each, 0);
  }

  /** Calls of the baseline that were not made again: from outside, or below these calls of it. */
  missing(callers: readonly number[] | null): number[] {
    const below = callers
      ? callers.flatMap((caller) => Array.from(this.baseline.children(caller)))
      : this.baseline.roots;
    return below.filter((call) => this.#missing[call] === 1);
  }

  /** The baseline's own time of all calls of a model; null if it has none. */
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

/** The durations of some calls, summed. */
export function total(trace: Trace, calls: readonly number[]): number {
  return calls.reduce((sum, call) => sum + trace.duration[call], 0);
}
