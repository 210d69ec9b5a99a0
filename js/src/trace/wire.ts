/** Columns of numbers, as blsnb/views/documents/wire.py sends them. */

export const Flag = {
  ASYNC: 1,
  DECOUPLED: 2,
  ERROR: 4,
  RUNNING: 8,
  CACHE_HIT: 16,
  CANCELLED: 32,
} as const;

export type Column = [dtype: string, offset: number, count: number];

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
  /** Ids in ascending order; they are never reassigned, so there may be gaps. */
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
  /** Number of requests of the execution, other runs included. */
  batch: Uint32Array;
  /** Sums of the copies between host and device. */
  copy_bytes: Float64Array;
  copy_us: Float32Array;
}

/** Columns and types; callers are ids here. */
export const LAYOUT: readonly [keyof Calls, keyof typeof ARRAYS][] = [
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

/** Return an aligned copy: sockets have views at odd offsets, typed arrays need aligned ones. */
export function ownBuffer(data: ArrayBuffer | ArrayBufferView): ArrayBuffer {
  if (data instanceof ArrayBuffer) return data;
  const copy = new Uint8Array(data.byteLength);
  copy.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return copy.buffer;
}

/** Return a column of a message. */
export function column(buffer: ArrayBuffer, [dtype, offset, count]: Column): Numbers {
  const ArrayType = ARRAYS[dtype as keyof typeof ARRAYS];
  if (!ArrayType) throw new Error(`column of unknown type ${dtype}`);
  return new ArrayType(buffer, offset, count);
}

/** Return the row of an id in ascending ids; −1 if it is missing. */
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

export function emptyCalls(length: number): Calls {
  return Object.fromEntries(
    LAYOUT.map(([name, dtype]) => [name, new ARRAYS[dtype](length)]),
  ) as unknown as Calls;
}
