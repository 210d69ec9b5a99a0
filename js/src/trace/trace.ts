/** The trace: callers and callees, own times, phases, the critical path. Pure. */

import { Comparison } from "./comparison.ts";
import { concurrency, type Steps } from "./concurrency.ts";
import { Folded, type Counted } from "./folded.ts";
import type { Header } from "./header.ts";
import { distinctKeys, distinctNames } from "./modelnames.ts";
import { noPhases, type PhaseSums } from "./phases.ts";
import type { Profile } from "./profile.ts";
import type { Store } from "./store.ts";
import { Flag, PHASES, rowOf, type Calls, type Phase } from "./wire.ts";

export class Trace {
  readonly header: Header;
  readonly calls: Calls;
  /** Number of calls. */
  readonly n: number;
  /** Keys of the models, the same in every message and document of a run. */
  readonly modelKeys: readonly string[];
  /** Names of the models, with the version where a name alone would be ambiguous. */
  readonly names: string[];
  readonly roots: readonly number[];
  readonly duration: Float64Array;
  /** Time of each call that is not covered by child calls. */
  readonly own: Float64Array;
  /** Number of failed calls. */
  readonly errors: number;
  /** End of the last call. */
  readonly wall: number;
  /** The comparison with a baseline; null for a run without one. */
  readonly comparison: Comparison | null;
  /** The calls that are only counted. */
  readonly folded: Folded;
  /** The samples of the run; null without. */
  readonly profile: Profile | null;
  #store: Store;
  #offsets: Int32Array;
  #below: Int32Array;
  #critical: Set<number> | undefined;
  #concurrency: Steps | undefined;
  #executions = new Map<string, readonly number[]>();
  #intervals = new Map<number, number[]>();
  #failed = new WeakMap<readonly number[], readonly number[]>();
  #allFailed: readonly number[] | undefined;

  constructor(store: Store) {
    this.#store = store;
    this.header = store.header;
    this.calls = store.calls;
    this.n = store.n;
    this.names = distinctNames(this.header);
    this.modelKeys = distinctKeys(this.header);
    [this.#offsets, this.#below] = this.#index();
    this.roots = this.#rootCalls();
    this.duration = this.#durations();
    this.own = new Float64Array(this.n);
    [this.errors, this.wall] = [0, 0];
    for (let call = 0; call < this.n; call++) {
      this.own[call] = this.duration[call] - this.#covered(call);
      this.wall = Math.max(this.wall, this.end(call));
      if (this.has(call, Flag.ERROR)) this.errors++;
    }
    this.comparison = Comparison.of(store);
    this.profile = store.profile;
    this.folded = new Folded(this.header.run.folded ?? [], this.calls);
  }

  /** Return the id of a call: users, files and kernels name it by its id, views by its row. */
  id(call: number): number {
    return this.calls.id[call];
  }

  /** Return the call of an id; −1 if it is not kept. */
  at(id: number): number {
    return rowOf(this.calls.id, id);
  }

  /** Whether a call of an id was dropped or is only counted. */
  wasDropped(id: number): boolean {
    const { calls = this.n, dropped, folded } = this.header.run;
    return id >= 0 && (id <= (dropped?.calls?.last ?? -1) || (!!folded?.length && id < calls));
  }

  start(call: number): number {
    return this.calls.start_us[call];
  }

  end(call: number): number {
    return this.calls.start_us[call] + this.duration[call];
  }

  name(call: number): string {
    return this.names[this.calls.model[call]];
  }

  /** Whether the call's model is an ensemble. */
  isEnsemble(call: number): boolean {
    return this.header.models[this.calls.model[call]]?.backend === "ensemble";
  }

  has(call: number, flag: number): boolean {
    return (this.calls.flags[call] & flag) !== 0;
  }

  /** All failed calls, found once. */
  get failed(): readonly number[] {
    const all = this.errors ? this.own.keys() : [];
    return (this.#allFailed ??= Array.from(all).filter((call) => this.has(call, Flag.ERROR)));
  }

  /** Return the failed ones of some calls, found once per list. */
  failedOf(calls: readonly number[]): readonly number[] {
    let known = this.#failed.get(calls);
    if (!known)
      this.#failed.set(calls, (known = calls.filter((call) => this.has(call, Flag.ERROR))));
    return known;
  }

  /** Return the first failed call after another one, from the start after the last; -1 for none. */
  nextFailed(call: number): number {
    return this.failed.find((each) => each > call) ?? this.failed[0] ?? -1;
  }

  /** Return the duration of a phase, NaN if it was not recorded. */
  phase(call: number, phase: Phase): number {
    return this.calls[phase][call];
  }

  responses(call: number): readonly number[] {
    return this.#store.responses(this.id(call));
  }

  gaps(call: number): number[] {
    return this.#store.gaps(this.id(call));
  }

  /** Return the child calls, in order of their start. */
  children(call: number): Int32Array {
    return this.#below.subarray(this.#offsets[call], this.#offsets[call + 1]);
  }

  isLeaf(call: number): boolean {
    return this.#offsets[call] === this.#offsets[call + 1];
  }

  /** Return the callers, outermost first, without the call itself. */
  ancestors(call: number): number[] {
    const path: number[] = [];
    for (let at = this.calls.parent[call]; at >= 0; at = this.calls.parent[at]) path.push(at);
    return path.reverse();
  }

  /** Return merged intervals in which child calls ran, as start, end, start, end, … */
  childIntervals(call: number): readonly number[] {
    let merged = this.#intervals.get(call);
    if (merged) return merged;
    this.#intervals.set(call, (merged = []));
    const ran = Array.from(this.children(call), (child) => [this.start(child), this.end(child)]);
    const counted = this.#countedBelow(call);
    if (counted) {
      ran.push([counted.from, counted.to]);
      ran.sort(([a], [b]) => a - b);
    }
    for (const [start, end] of ran) {
      const last = merged.length - 1;
      if (last >= 0 && start <= merged[last]) merged[last] = Math.max(merged[last], end);
      else merged.push(start, end);
    }
    return merged;
  }

  /** Return counted child calls that no other call can have made. */
  #countedBelow(call: number): Counted | null {
    const model = this.calls.model[call];
    const gone = this.folded.by(model);
    if (!gone || !(gone.to > gone.from) || this.folded.of(model)) return null;
    const { model: models } = this.calls;
    return models.indexOf(model) === models.lastIndexOf(model) ? gone : null;
  }

  /** Return the periods in which any of some calls ran, in order. */
  merged(calls: readonly number[]): [start: number, end: number][] {
    const merged: [number, number][] = [];
    for (const call of [...calls].sort((a, b) => this.start(a) - this.start(b))) {
      const last = merged[merged.length - 1];
      if (last && this.start(call) <= last[1]) last[1] = Math.max(last[1], this.end(call));
      else merged.push([this.start(call), this.end(call)]);
    }
    return merged;
  }

  /** Return the sums of the phases of some calls. */
  phases(calls: Iterable<number>): PhaseSums {
    const sums = noPhases();
    for (const call of calls) this.addPhases(sums, call);
    return sums;
  }

  /** Add the phases of a call to sums. */
  addPhases(sums: PhaseSums, call: number): void {
    const part = (phase: Phase): number => this.calls[phase][call] || 0;
    const infer = part("compute_infer_us");
    const child = Math.min(this.duration[call] - this.own[call], infer);
    sums.pre += part("pre_us");
    sums.queue += part("queue_us");
    sums.input += part("compute_input_us");
    if (this.isEnsemble(call)) sums.between += infer - child;
    else sums.infer += infer - child;
    sums.child += child;
    sums.output += part("compute_output_us");
    sums.post += part("post_us");
  }

  /** Return the calls of the same `execute`, this one included. */
  batch(call: number): readonly number[] {
    return this.executed(this.calls.model[call], this.calls.execution[call]);
  }

  /** Return the calls of an execution of a model; empty for execution 0. */
  executed(model: number, execution: number): readonly number[] {
    const key = `${model} ${execution}`;
    let known = this.#executions.get(key);
    if (!known) this.#executions.set(key, (known = this.#executed(model, execution)));
    return known;
  }

  #executed(model: number, execution: number): number[] {
    const { model: models, execution: executions } = this.calls;
    const found: number[] = [];
    if (execution === 0) return found;
    for (let call = 0; call < this.n; call++)
      if (executions[call] === execution && models[call] === model) found.push(call);
    return found;
  }

  /** The calls that determine the wall time, from the last-ending child backwards. */
  get critical(): Set<number> {
    if (this.#critical) return this.#critical;
    const path = new Set<number>();
    const open = [...this.roots];
    for (let call = open.pop(); call !== undefined; call = open.pop()) {
      path.add(call);
      let limit = Infinity;
      for (const child of this.#byEnd(call)) {
        if (this.end(child) > limit + 1e-3) continue;
        open.push(child);
        limit = this.start(child);
      }
    }
    return (this.#critical = path);
  }

  /** Concurrency of the calls without child calls. */
  get concurrency(): Steps {
    if (this.#concurrency) return this.#concurrency;
    const leaves: number[] = [];
    for (let call = 0; call < this.n; call++) if (this.isLeaf(call)) leaves.push(call);
    return (this.#concurrency = this.concurrencyOf(leaves));
  }

  concurrencyOf(calls: readonly number[]): Steps {
    const { start_us } = this.calls;
    const [starts, ends] = [new Float64Array(calls.length), new Float64Array(calls.length)];
    for (let k = 0; k < calls.length; k++) {
      starts[k] = start_us[calls[k]];
      ends[k] = starts[k] + this.duration[calls[k]];
    }
    return concurrency(starts, ends);
  }

  #index(): [Int32Array, Int32Array] {
    const { parent, start_us } = this.calls;
    const offsets = new Int32Array(this.n + 1);
    for (const caller of parent) if (caller >= 0) offsets[caller + 1]++;
    for (let call = 0; call < this.n; call++) offsets[call + 1] += offsets[call];
    const below = new Int32Array(offsets[this.n]);
    const next = offsets.slice();
    for (let call = 0; call < this.n; call++)
      if (parent[call] >= 0) below[next[parent[call]]++] = call;
    for (let call = 0; call < this.n; call++) {
      const [from, to] = [offsets[call], offsets[call + 1]];
      let ordered = true;
      for (let k = from + 1; k < to && ordered; k++)
        ordered = start_us[below[k]] >= start_us[below[k - 1]];
      if (!ordered) below.subarray(from, to).sort((a, b) => start_us[a] - start_us[b]);
    }
    return [offsets, below];
  }

  #rootCalls(): number[] {
    const roots: number[] = [];
    this.calls.parent.forEach((parent, call) => {
      if (parent < 0) roots.push(call);
    });
    return roots;
  }

  #durations(): Float64Array {
    const duration = new Float64Array(this.n);
    for (const phase of PHASES) {
      const took = this.calls[phase];
      for (let call = 0; call < this.n; call++) if (took[call] > 0) duration[call] += took[call];
    }
    return duration;
  }

  #covered(call: number): number {
    let covered = 0;
    let upTo = this.start(call);
    const end = this.end(call);
    for (let k = this.#offsets[call]; k < this.#offsets[call + 1]; k++) {
      const child = this.#below[k];
      const from = Math.max(upTo, this.start(child));
      const to = Math.min(end, this.end(child));
      if (to > from) covered += to - from;
      upTo = Math.max(upTo, to);
    }
    return covered;
  }

  #byEnd(call: number): number[] {
    return Array.from(this.children(call)).sort((a, b) => this.end(b) - this.end(a));
  }
}
