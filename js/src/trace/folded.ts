/** Calls that a long run only counts, by caller and model; they have no rows. Pure. */

/** As it is sent: the caller's model (−1 for client requests), the model, sums and times. */
export type FoldedEntry = [
  caller: number,
  model: number,
  calls: number,
  errors: number,
  us: number,
  from?: number,
  to?: number,
  latencies?: [latencyClass: number, calls: number][],
];

/** Sums of calls that are only counted. */
export interface Counted {
  calls: number;
  errors: number;
  us: number;
  /** Start of the first and end of the last call; unknown in old files. */
  from: number;
  to: number;
  /** Numbers of calls by latency. */
  latencies: [us: number, calls: number][];
}

/** Return the middle of a latency class in microseconds; classes are 9 % wide. */
function middle(latencyClass: number): number {
  return 2 ** ((latencyClass + 0.5) / 8) / 1000;
}

type Rows = { parent: ArrayLike<number>; model: ArrayLike<number> };

/** The calls that a trace only counts. */
export class Folded {
  readonly entries: readonly FoldedEntry[];
  #rows: Rows;
  #kept: Map<number, number> | undefined;
  #known = new WeakMap<readonly number[], Counted | null>();

  constructor(entries: readonly FoldedEntry[], rows: Rows) {
    this.entries = entries;
    this.#rows = rows;
  }

  /** Return the counted calls of a model, or null. */
  of(model: number): Counted | null {
    return summed(this.entries.filter(([, each]) => each === model));
  }

  /** Return the counted calls by a model, or null. */
  by(caller: number): Counted | null {
    return summed(this.entries.filter(([each]) => each === caller));
  }

  /** Return the counted calls of the same model and caller, if these are all such calls with rows. */
  beside(calls: readonly number[]): Counted | null {
    if (this.entries.length === 0 || calls.length === 0) return null;
    let known = this.#known.get(calls);
    if (known === undefined) this.#known.set(calls, (known = this.#beside(calls)));
    return known;
  }

  /** Return whether calls of the same model and caller as any of these are only counted. */
  has(calls: readonly number[]): boolean {
    const pairs = new Set(this.entries.map(([caller, model]) => pairOf(caller, model)));
    return pairs.size > 0 && calls.some((call) => pairs.has(this.#pair(call)));
  }

  /** Return when counted calls ran that call no other model, and their mean concurrency. */
  get stretches(): { from: number; to: number; level: number }[] {
    const callers = new Set(this.entries.map(([caller]) => caller));
    return this.entries
      .filter(([, model]) => !callers.has(model))
      .map(([, , , , us, from = 0, to = 0]) => ({ from, to, level: us / (to - from) }))
      .filter(({ from, to }) => to > from);
  }

  #beside(calls: readonly number[]): Counted | null {
    const pair = this.#pair(calls[0]);
    if (calls.length !== this.#byPair().get(pair)) return null;
    if (calls.some((call) => this.#pair(call) !== pair)) return null;
    return summed(this.entries.filter(([caller, model]) => pairOf(caller, model) === pair));
  }

  #pair(call: number): number {
    const { parent, model } = this.#rows;
    return pairOf(parent[call] < 0 ? -1 : model[parent[call]], model[call]);
  }

  #byPair(): Map<number, number> {
    if (this.#kept) return this.#kept;
    const kept = (this.#kept = new Map<number, number>());
    for (let call = 0; call < this.#rows.model.length; call++) {
      const pair = this.#pair(call);
      kept.set(pair, (kept.get(pair) ?? 0) + 1);
    }
    return kept;
  }
}

function pairOf(caller: number, model: number): number {
  return caller * 0x10000 + model;
}

function summed(entries: readonly FoldedEntry[]): Counted | null {
  if (entries.length === 0) return null;
  const sum: Counted = { calls: 0, errors: 0, us: 0, from: Infinity, to: 0, latencies: [] };
  for (const [, , calls, errors, us, from = Infinity, to = 0, latencies = []] of entries) {
    sum.calls += calls;
    sum.errors += errors;
    sum.us += us;
    sum.from = Math.min(sum.from, from);
    sum.to = Math.max(sum.to, to);
    for (const [each, number] of latencies) sum.latencies.push([middle(each), number]);
  }
  return sum;
}
