/** Calls encoded as the wire contract says: what blsnb/views/documents/wire.py would send. */

import type { Header, ModelEntry } from "../src/trace/header.ts";
import { Store } from "../src/trace/store.ts";
import type { Column } from "../src/trace/wire.ts";
import { Trace } from "../src/trace/trace.ts";

const TYPES = {
  i4: Int32Array,
  u2: Uint16Array,
  u4: Uint32Array,
  f8: Float64Array,
  f4: Float32Array,
  u1: Uint8Array,
};

const COLUMNS: [keyof Call, keyof typeof TYPES][] = [
  ["parent", "i4"],
  ["model", "u2"],
  ["instance", "u2"],
  ["flags", "u2"],
  ["responses", "u4"],
  ["start_us", "f8"],
  ["pre_us", "f4"],
  ["queue_us", "f4"],
  ["compute_input_us", "f4"],
  ["compute_infer_us", "f4"],
  ["compute_output_us", "f4"],
  ["post_us", "f4"],
  ["line", "u4"],
  ["execution", "u4"],
  ["batch", "u4"],
];

export interface Call {
  parent: number;
  model: number;
  instance: number;
  flags: number;
  responses: number;
  start_us: number;
  pre_us: number;
  queue_us: number;
  compute_input_us: number;
  compute_infer_us: number;
  compute_output_us: number;
  post_us: number;
  line: number;
  execution: number;
  batch: number;
}

/** A call with its own defaults, ten microseconds of pre and post. */
export function call(
  parent: number,
  model: number,
  start_us: number,
  rest: Partial<Call> = {},
): Call {
  const phases = {
    pre_us: 0,
    queue_us: 0,
    compute_input_us: 0,
    compute_infer_us: 10,
    compute_output_us: 0,
    post_us: 0,
  };
  return {
    parent,
    model,
    instance: 0,
    flags: 0,
    responses: 1,
    start_us,
    ...phases,
    line: 0,
    execution: 0,
    batch: 1,
    ...rest,
  };
}

/** Appends columns to one growing buffer, each at a multiple of eight bytes. */
export class Packer {
  readonly columns: Record<string, Column> = {};
  #bytes: number[] = [];

  add(name: string, dtype: keyof typeof TYPES, values: readonly number[]): void {
    this.columns[name] = [
      dtype,
      this.data(new Uint8Array(TYPES[dtype].from(values).buffer))[0],
      values.length,
    ];
  }

  data(bytes: Uint8Array): [number, number] {
    while (this.#bytes.length % 8) this.#bytes.push(0);
    const offset = this.#bytes.length;
    for (const byte of bytes) this.#bytes.push(byte);
    return [offset, bytes.length];
  }

  get buffer(): ArrayBuffer {
    return Uint8Array.from(this.#bytes).buffer;
  }
}

export interface Encoded {
  header: Header;
  buffer: ArrayBuffer;
}

/** Calls of a document or an update; callers are named by id, and ids are positions if not given. */
export function encode(
  calls: readonly Call[],
  header: Partial<Header>,
  {
    ids,
    responses = [],
    packer = new Packer(),
  }: {
    ids?: number[];
    responses?: [id: number, us: number, number?: number][];
    packer?: Packer;
  } = {},
): Encoded {
  for (const [name, dtype] of COLUMNS)
    packer.add(
      name,
      dtype,
      calls.map((each) => each[name]),
    );
  if (ids) packer.add("id", "i4", ids);
  packer.add(
    "response_call",
    "i4",
    responses.map(([id]) => id),
  );
  packer.add(
    "response_us",
    "f4",
    responses.map(([, us]) => us),
  );
  const numbers = responses.flatMap(([, , number]) => number ?? []);
  if (numbers.length) packer.add("response_number", "u4", numbers);
  const run = { id: "run-1", title: "pipeline", request_id: "", state: "done" as const };
  const whole = {
    format: 2,
    run,
    start_ns: "1",
    n: calls.length,
    ...header,
    columns: packer.columns,
  };
  return { header: whole as Header, buffer: packer.buffer };
}

export function model(name: string, backend = "python", device = "cpu", version = 1): ModelEntry {
  return { name, version, backend, device, kind: "model" };
}

/** A trace of calls whose models are named m0, m1, … */
export function traceOf(
  calls: readonly Call[],
  header: Partial<Header> = {},
  ids?: number[],
): Trace {
  const most = Math.max(0, ...calls.map((each) => each.model));
  const models = Array.from({ length: most + 1 }, (_, k) => model(`m${k}`));
  const { header: whole, buffer } = encode(calls, { models, ...header }, { ids });
  return new Trace(Store.of(whole, buffer));
}

/** Reproducible numbers in [0, 1). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
