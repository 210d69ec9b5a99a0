/** Columns of numbers and their header, as blsnb/views/documents/wire.py sends them, and the store that keeps them. */

import type { Compared } from "./comparison.ts";
import type { FoldedEntry } from "./folded.ts";

export const FORMAT = 2;

export const Flag = {
  ASYNC: 1,
  DECOUPLED: 2,
  ERROR: 4,
  RUNNING: 8,
  CACHE_HIT: 16,
  CANCELLED: 32,
  AWAITED: 64,
} as const;

export interface ModelEntry {
  name: string;
  version: number | string;
  backend: string;
  device: string;
  kind: string;
  /** The cell that its source came from, and the lines above it there. */
  origin?: [cell: string, offset: number];
}

export interface Stats {
  count: number;
  min: number | null;
  max: number | null;
  mean: number | null;
  std: number | null;
  nan: number;
  inf: number;
  zeros: number;
}

export interface Histogram {
  low: number;
  high: number;
  counts: number[];
}

interface Slice {
  index: number[];
  rows: number;
  columns: number;
  of: [number, number];
  data: [number, number];
}

export interface GridPreview extends Slice {
  kind: "grid";
  low: number | null;
  high: number | null;
  reduced: "" | "stride" | "max-abs";
  /** Of few cells the values themselves, as they are written. */
  values?: string[];
}

export interface ImagePreview extends Slice {
  kind: "image";
  layout: "HWC" | "CHW";
}

export interface TextPreview {
  kind: "text";
  strings: string[];
  count: number;
}

export type Preview = GridPreview | ImagePreview | TextPreview;

export interface TensorEntry {
  name: string;
  datatype: string;
  shape: number[];
  device: string;
  byte_size: number;
  role: "input" | "output";
  response: number;
  evicted: boolean;
  stats: Stats | null;
  histogram: Histogram | null;
  preview: Preview | null;
  grid?: GridPreview | null;
  image?: ImagePreview | null;
}

/** Why a call was part of an execution, or not; the runs whose requests were; how often in a row. */
export type Batching = [
  execution: number,
  joined: boolean,
  cause: string,
  words: string,
  runs: string[],
  times: number,
];
/** A tensor that was copied between the host and a device. */
export type Copy = [
  us: number,
  took: number,
  tensor: string,
  bytes: number,
  source: string,
  target: string,
  hostile: boolean,
];
export type DeviceUse = [device: string, computeUs: number, inUse: number, peak: number];
export type LogLine = [us: number, level: string, text: string];
/** By the id of a call. */
export type PerCall<T> = Record<string, T>;
/** What a limit has dropped of a run: whole calls, or values of calls. */
export interface Drop {
  calls: number;
  /** Why, and how to keep them next time. */
  because: string;
  /** The same in a few words. */
  notice: string;
  /** The highest id of a dropped call. */
  last: number;
}
export interface Drops {
  calls?: Drop;
  values?: Drop;
}
export type Column = [dtype: string, offset: number, count: number];

export interface Run {
  id: string;
  title: string;
  request_id: string;
  state: "running" | "done" | "error" | "cancelled";
  /** Whether a notebook was given it while it was running. */
  saved?: boolean;
  /** Whether its kernel went away while it was running. */
  lost?: boolean;
  /** Since when nothing was heard of it, in words. */
  silent?: string;
  /** Of all calls, where some are only counted and have no rows. */
  calls?: number;
  errors?: number;
  /** Those that have no rows. */
  folded?: FoldedEntry[];
  /** What it was read from, if it was not seen here. */
  file?: string;
  /** What is no longer kept of it. */
  dropped?: Drops;
  /** Why values of calls are not there, where they are not. */
  lacks?: string;
}

/** In what a call differs from that of the baseline. */
export interface Change {
  tensors: [role: "input" | "output", name: string, response: number, words: string][];
  /** How many tensors are not listed. */
  more: number;
  error?: [now: string, before: string];
  responses?: [now: number, before: number];
}

export interface Header {
  format: number;
  run: Run;
  start_ns: string;
  n: number;
  models: ModelEntry[];
  instances: string[];
  sources: Record<string, string>;
  errors: PerCall<string>;
  codes: PerCall<string>;
  notes: PerCall<string[]>;
  logs: PerCall<LogLine[]>;
  batching: PerCall<Batching[]>;
  copies: PerCall<Copy[]>;
  device_use: PerCall<DeviceUse>;
  request_ids: PerCall<string>;
  tensors: PerCall<TensorEntry[]>;
  columns: Record<string, Column>;
  /** The run that this one is compared with; its columns are in the same buffer. */
  baseline?: Partial<Header>;
  changed?: number[];
  changes?: PerCall<Change>;
  unknown?: Compared["unknown"];
  ui: { height?: number };
}

export type Numbers =
  Int32Array | Uint32Array | Uint16Array | Uint8Array | Float64Array | Float32Array;

const ARRAYS = {
  i4: Int32Array,
  u4: Uint32Array,
  u2: Uint16Array,
  u1: Uint8Array,
  f8: Float64Array,
  f4: Float32Array,
} as const;

/** The durations of a call's phases, in order; NaN where an activity was not recorded. */
export const PHASES = [
  "pre_us",
  "queue_us",
  "compute_input_us",
  "compute_infer_us",
  "compute_output_us",
  "post_us",
] as const;
export type Phase = (typeof PHASES)[number];

/** One array per column, all of one length. */
export interface Calls extends Record<Phase, Float32Array> {
  /** Number of the call in its run; never reassigned, so there may be gaps. In ascending order. */
  id: Int32Array;
  /** Row of the caller, −1 for a client request. */
  parent: Int32Array;
  model: Uint16Array;
  instance: Uint16Array;
  flags: Uint16Array;
  responses: Uint32Array;
  start_us: Float64Array;
  line: Uint32Array;
  execution: Uint32Array;
  /** How many requests that was for, those of other runs too. */
  batch: Uint32Array;
  /** Of copies between the host and a device; 0 where there was none. */
  copy_bytes: Float64Array;
  copy_us: Float32Array;
}

/** As they are sent, and kept here: a caller is named by its id. */
const LAYOUT: readonly [keyof Calls, keyof typeof ARRAYS][] = [
  ["id", "i4"],
  ["parent", "i4"],
  ["model", "u2"],
  ["instance", "u2"],
  ["flags", "u2"],
  ["responses", "u4"],
  ["start_us", "f8"],
  ...PHASES.map((phase): [Phase, "f4"] => [phase, "f4"]),
  ["line", "u4"],
  ["execution", "u4"],
  ["batch", "u4"],
  ["copy_bytes", "f8"],
  ["copy_us", "f4"],
];

/** A buffer of its own: sockets hand out views at odd offsets, typed arrays need aligned ones. */
export function ownBuffer(data: ArrayBuffer | ArrayBufferView): ArrayBuffer {
  if (data instanceof ArrayBuffer) return data;
  const copy = new Uint8Array(data.byteLength);
  copy.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return copy.buffer;
}

/** One column of a message. */
export function column(buffer: ArrayBuffer, [dtype, offset, count]: Column): Numbers {
  const ArrayType = ARRAYS[dtype as keyof typeof ARRAYS];
  if (!ArrayType) throw new Error(`column of unknown type ${dtype}`);
  return new ArrayType(buffer, offset, count);
}

/** The header with every optional part present. */
export function complete(header: Partial<Header>): Header {
  if (header.format !== FORMAT)
    throw new Error(`trace format ${header.format}, this view reads ${FORMAT}`);
  const run: Run = { id: "", title: "", request_id: "", state: "done" };
  const lists = { models: [], instances: [""] };
  const perCall = {
    sources: {},
    errors: {},
    codes: {},
    notes: {},
    logs: {},
    batching: {},
    copies: {},
    device_use: {},
    request_ids: {},
    tensors: {},
  };
  return {
    format: FORMAT,
    run,
    start_ns: "0",
    n: 0,
    ...lists,
    ...perCall,
    columns: {},
    ui: {},
    ...header,
  };
}

const MERGED = [
  "sources",
  "errors",
  "codes",
  "notes",
  "logs",
  "batching",
  "copies",
  "device_use",
  "request_ids",
  "tensors",
] as const;

/** The row of an id among ascending ones; −1 if it is not there. */
export function rowOf(ids: Int32Array, id: number): number {
  if (ids[id] === id) return id;
  let [low, high] = [0, ids.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (ids[middle] === id) return middle;
    if (ids[middle] < id) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** Some calls of a message, in the order of the message. */
interface Part {
  ids: Int32Array;
  /** Where each of them is now. */
  rows: Int32Array;
}

/** The calls received so far; they are upserted by id, so a message seen twice changes nothing. */
export class Store {
  header: Header = complete({ format: FORMAT });
  /** The buffer that embedded previews point into. */
  buffer = new ArrayBuffer(0);
  n = 0;
  /** Number of the last message taken. */
  seq = 0;
  /** What this run is compared with, and where each call is in it. */
  baseline: Store | null = null;
  compared: Compared | null = null;
  #calls = emptyCalls(0);
  #responses = new Map<number, number[]>();

  /** A store that holds one finished document. */
  static of(header: Partial<Header>, buffer: ArrayBuffer): Store {
    const store = new Store();
    store.replace(header, buffer);
    return store;
  }

  /** Forget everything and take this instead. */
  replace(header: Partial<Header>, buffer: ArrayBuffer, seq = 0): void {
    this.header = complete(header);
    this.buffer = buffer;
    this.n = 0;
    // Whoever still draws what was here before has arrays of its own.
    this.#calls = emptyCalls(0);
    this.#responses = new Map();
    const part = this.#take(this.header.columns, buffer);
    this.#takeBaseline(this.header, buffer, part);
    this.seq = seq;
  }

  /** Ids become rows, which is how both runs are drawn. */
  #takeBaseline(header: Header, buffer: ArrayBuffer, part: Part | null): void {
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

  /** Take the rows of one message; false when messages before it are missing. */
  upsert(header: Partial<Header>, buffer: ArrayBuffer, seq: number): boolean {
    if (seq <= this.seq) return true;
    if (seq > this.seq + 1) return false;
    const before = this.header;
    const after = complete({ ...before, ...header, format: header.format ?? FORMAT });
    for (const key of MERGED) Object.assign(after, { [key]: { ...before[key], ...header[key] } });
    this.header = after;
    this.#take(header.columns ?? {}, buffer);
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

  /** When the responses of the call of an id were sent, in microseconds after its start. */
  responses(id: number): readonly number[] {
    return this.#responses.get(id) ?? [];
  }

  #take(columns: Record<string, Column>, buffer: ArrayBuffer): Part | null {
    if (!columns.parent) return null;
    const size = columns.parent[2];
    // Each id is a position, where ids are not sent.
    const ids = columns.id
      ? (column(buffer, columns.id) as Int32Array)
      : Int32Array.from({ length: size }, (_, k) => k);
    const rows = this.#makeRoom(ids);
    for (const [name] of LAYOUT) {
      const from = name === "id" ? ids : columns[name] && column(buffer, columns[name]);
      const to = this.#calls[name];
      if (from) for (let k = 0; k < size; k++) to[rows[k]] = from[k];
    }
    this.#takeResponses(columns, buffer);
    return { ids, rows };
  }

  /** Where calls are to be put: what is there stays at its row unless a call comes in between. */
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

  #takeResponses(columns: Record<string, Column>, buffer: ArrayBuffer): void {
    if (!columns.response_call || !columns.response_us) return;
    const ids = column(buffer, columns.response_call);
    const times = column(buffer, columns.response_us);
    for (let k = 0; k < ids.length; k++) {
      const known = this.#responses.get(ids[k]);
      if (!known) this.#responses.set(ids[k], [times[k]]);
      // Responses come in order, so what is not later than the last is a replay.
      else if (times[k] > known[known.length - 1]) known.push(times[k]);
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

function emptyCalls(length: number): Calls {
  return Object.fromEntries(
    LAYOUT.map(([name, dtype]) => [name, new ARRAYS[dtype](length)]),
  ) as unknown as Calls;
}
