/** Columns of numbers and their header, as blsnb/views/wire.py sends them, and the store that keeps them. */

import type { Compared } from "./comparison.ts";
import type { FoldedEntry } from "./folded.ts";

export const FORMAT = 1;

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
export type PerRow<T> = Record<string, T>;
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
  sources: PerRow<string>;
  errors: PerRow<string>;
  codes: PerRow<string>;
  notes: PerRow<string[]>;
  logs: PerRow<LogLine[]>;
  batching: PerRow<Batching[]>;
  copies: PerRow<Copy[]>;
  device_use: PerRow<DeviceUse>;
  request_ids: PerRow<string>;
  tensors: PerRow<TensorEntry[]>;
  columns: Record<string, Column>;
  /** The run that this one is compared with; its columns are in the same buffer. */
  baseline?: Partial<Header>;
  changed?: number[];
  changes?: PerRow<Change>;
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

const LAYOUT: readonly [keyof Calls, keyof typeof ARRAYS][] = [
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
  const perRow = {
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
    ...perRow,
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

/** The rows received so far; rows are upserted, so a message seen twice changes nothing. */
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
    this.#responses.clear();
    this.#take(this.header.columns, buffer);
    this.#takeBaseline(this.header, buffer);
    this.seq = seq;
  }

  #takeBaseline(header: Header, buffer: ArrayBuffer): void {
    const { baseline, changed, changes, columns, unknown } = header;
    this.baseline = baseline ? Store.of(baseline, buffer) : null;
    this.compared = null;
    if (!columns.baseline) return;
    const of = column(buffer, columns.baseline) as Int32Array;
    const missing = columns.missing ? column(buffer, columns.missing) : [];
    this.compared = { of, missing, changed, changes, unknown };
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

  /** The columns, cut to the rows received. */
  get calls(): Calls {
    const cut = LAYOUT.map(([name]) => [name, this.#calls[name].subarray(0, this.n)]);
    return Object.fromEntries(cut) as Calls;
  }

  /** When the call's responses were sent, in microseconds after its start. */
  responses(row: number): readonly number[] {
    return this.#responses.get(row) ?? [];
  }

  #take(columns: Record<string, Column>, buffer: ArrayBuffer): void {
    if (!columns.parent) return;
    const size = columns.parent[2];
    // All rows in their order, where they are not named.
    const rows = columns.row ? column(buffer, columns.row) : null;
    let length = Math.max(this.n, rows ? 0 : size);
    for (const row of rows ?? []) length = Math.max(length, row + 1);
    this.#grow(length);
    for (const [name] of LAYOUT) {
      if (!columns[name]) continue;
      const from = column(buffer, columns[name]);
      const to = this.#calls[name];
      if (rows) for (let k = 0; k < size; k++) to[rows[k]] = from[k];
      else to.set(from);
    }
    this.n = length;
    this.#takeResponses(columns, buffer);
  }

  #takeResponses(columns: Record<string, Column>, buffer: ArrayBuffer): void {
    if (!columns.response_row || !columns.response_us) return;
    const rows = column(buffer, columns.response_row);
    const times = column(buffer, columns.response_us);
    for (let k = 0; k < rows.length; k++) {
      const known = this.#responses.get(rows[k]);
      if (!known) this.#responses.set(rows[k], [times[k]]);
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
