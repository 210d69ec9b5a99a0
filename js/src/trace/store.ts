/** The store of a run: header and calls received so far, in one message or many. */

import type { Compared } from "./comparison.ts";
import { complete, FORMAT, TABLES, type Header } from "./header.ts";
import { Profile } from "./profile.ts";
import { column, emptyCalls, LAYOUT, rowOf, type Calls, type Column } from "./wire.ts";

/** Calls of a message, in the order of the message. */
interface Part {
  ids: Int32Array;
  /** Row of each call. */
  rows: Int32Array;
}

/** The calls received so far, by id: a repeated message changes nothing. */
export class Store {
  header: Header = complete({ format: FORMAT });
  /** The buffer of embedded previews. */
  buffer = new ArrayBuffer(0);
  n = 0;
  /** Number of the last message. */
  seq = 0;
  /** The baseline, and how its calls are paired with those of this run. */
  baseline: Store | null = null;
  compared: Compared | null = null;
  /** The samples of the run; null without. */
  profile: Profile | null = null;
  #calls = emptyCalls(0);
  #responses = new Map<number, { us: number[]; numbers: number[] }>();

  /** Return a store with the run of a document. */
  static of(header: Partial<Header>, buffer: ArrayBuffer): Store {
    const store = new Store();
    store.replace(header, buffer);
    return store;
  }

  /** Replace everything. */
  replace(header: Partial<Header>, buffer: ArrayBuffer, seq = 0): void {
    this.header = complete(header);
    this.buffer = buffer;
    this.n = 0;
    // Views of earlier rows keep their own arrays.
    this.#calls = emptyCalls(0);
    this.#responses = new Map();
    const part = this.#add(this.header.columns, buffer);
    this.profile = profileOf(header, buffer);
    this.#addBaseline(this.header, buffer, part);
    this.seq = seq;
  }

  /** Translate ids of both runs to rows. */
  #addBaseline(header: Header, buffer: ArrayBuffer, part: Part | null): void {
    const { baseline, changed, changes = {}, columns, unknown = {} } = header;
    this.baseline = baseline ? Store.of(baseline, buffer) : null;
    this.compared = null;
    if (!this.baseline || !columns.baseline || !part) return;
    const before = this.baseline.ids;
    const of = new Int32Array(this.n);
    column(buffer, columns.baseline).forEach((id, k) => {
      of[part.rows[k]] = id < 0 ? id : rowOf(before, id);
    });
    const missing = columns.missing ? column(buffer, columns.missing) : [];
    const row = (id: number): number => rowOf(this.ids, id);
    this.compared = {
      of,
      missing: Array.from(missing, (id) => rowOf(before, id)).filter((each) => each >= 0),
      changed: changed?.map(row).filter((each) => each >= 0),
      changes: Object.fromEntries(Object.entries(changes).map(([id, each]) => [row(Number(id)), each])),
      unknown: Object.fromEntries(
        Object.entries(unknown).map(([why, stretches]) => [
          why,
          stretches.map(([first, many]): [number, number] => [row(first), many]),
        ]),
      ),
    };
  }

  /** Add the rows of a message; false if earlier messages are missing. */
  upsert(header: Partial<Header>, buffer: ArrayBuffer, seq: number): boolean {
    if (seq <= this.seq) return true;
    if (seq > this.seq + 1) return false;
    const before = this.header;
    const after = complete({ ...before, ...header, format: header.format ?? FORMAT });
    for (const key of TABLES) Object.assign(after, { [key]: { ...before[key], ...header[key] } });
    this.header = after;
    this.#add(header.columns ?? {}, buffer);
    this.profile = profileOf(header, buffer) ?? this.profile;
    this.seq = seq;
    return true;
  }

  /** The ids of the calls received, in ascending order. */
  get ids(): Int32Array {
    return this.#calls.id.subarray(0, this.n);
  }

  /** The columns, cut to the calls received; callers are rows. */
  get calls(): Calls {
    const cut = LAYOUT.map(([name]) => [name, this.#calls[name].subarray(0, this.n)]);
    const calls = Object.fromEntries(cut) as Calls;
    const { id } = calls;
    if (this.n && id[this.n - 1] !== this.n - 1)
      calls.parent = calls.parent.map((caller) => (caller < 0 ? -1 : rowOf(id, caller)));
    return calls;
  }

  /** Return the times of the responses of a call, by id, in microseconds after its start. */
  responses(id: number): readonly number[] {
    return this.#responses.get(id)?.us ?? [];
  }

  /** Return the times between responses that follow each other; others may lie between the rest. */
  gaps(id: number): number[] {
    const { us, numbers } = this.#responses.get(id) ?? { us: [], numbers: [] };
    const gaps: number[] = [];
    for (let k = 1; k < us.length; k++)
      if (numbers[k] === numbers[k - 1] + 1) gaps.push(us[k] - us[k - 1]);
    return gaps;
  }

  #add(columns: Record<string, Column>, buffer: ArrayBuffer): Part | null {
    if (!columns.parent) return null;
    const size = columns.parent[2];
    // Ids that are not sent are positions.
    const ids = columns.id
      ? (column(buffer, columns.id) as Int32Array)
      : Int32Array.from({ length: size }, (_, k) => k);
    const first = this.n;
    const rows = this.#makeRoom(ids);
    const isAppended = this.n === first + size && rows.every((row, k) => row === first + k);
    for (const [name] of LAYOUT) {
      const from = name === "id" ? ids : columns[name] && column(buffer, columns[name]);
      const to = this.#calls[name];
      if (from && isAppended) to.set(from, first);
      else if (from) for (let k = 0; k < size; k++) to[rows[k]] = from[k];
    }
    this.#addResponses(columns, buffer);
    return { ids, rows };
  }

  /** Return rows for calls; others keep their rows unless a call is inserted before them. */
  #makeRoom(ids: Int32Array): Int32Array {
    const last = this.n ? this.#calls.id[this.n - 1] : -1;
    const known = this.ids;
    const fresh = ids.filter((id) => id > last || rowOf(known, id) < 0).sort();
    if (fresh.length && fresh[0] < last) this.#mergeIn(fresh);
    else {
      this.#grow(this.n + fresh.length);
      this.#calls.id.set(fresh, this.n);
      this.n += fresh.length;
    }
    const now = this.ids;
    return ids.map((id) => rowOf(now, id));
  }

  #mergeIn(fresh: Int32Array): void {
    const before = this.#calls;
    const old = this.ids;
    const all = new Int32Array(old.length + fresh.length);
    all.set(old);
    all.set(fresh, old.length);
    all.sort();
    const merged = emptyCalls(Math.max(256, 2 * all.length));
    old.forEach((id, from) => {
      const to = rowOf(all, id);
      for (const [name] of LAYOUT) merged[name][to] = before[name][from];
    });
    merged.id.set(all);
    this.#calls = merged;
    this.n = all.length;
  }

  #addResponses(columns: Record<string, Column>, buffer: ArrayBuffer): void {
    if (!columns.response_call || !columns.response_us) return;
    const ids = column(buffer, columns.response_call);
    const times = column(buffer, columns.response_us);
    // Numbers that are not sent are positions within the call.
    const numbers = columns.response_number && column(buffer, columns.response_number);
    for (let k = 0, first = 0; k < ids.length; k++) {
      if (ids[k] !== ids[first]) first = k;
      this.#addResponse(ids[k], times[k], numbers ? numbers[k] : k - first);
    }
  }

  #addResponse(id: number, us: number, number: number): void {
    const known = this.#responses.get(id);
    if (!known) this.#responses.set(id, { us: [us], numbers: [number] });
    // Responses arrive in order: an earlier one is a repetition.
    else if (number > known.numbers[known.numbers.length - 1]) {
      known.us.push(us);
      known.numbers.push(number);
    }
  }

  #grow(length: number): void {
    const capacity = this.#calls.parent.length;
    if (length <= capacity) return;
    const larger = emptyCalls(Math.max(256, 2 * capacity, length));
    for (const [name] of LAYOUT) larger[name].set(this.#calls[name]);
    this.#calls = larger;
  }
}

function profileOf({ profile }: Partial<Header>, buffer: ArrayBuffer): Profile | null {
  return profile ? new Profile(profile, buffer) : null;
}
