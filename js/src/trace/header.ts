/** The header of a run, as blsnb/views/documents/wire.py sends it: models, texts and tables by call id. */

import type { Compared } from "./comparison.ts";
import type { FoldedEntry } from "./folded.ts";
import type { ProfileEntry } from "./profile.ts";
import type { Column } from "./wire.ts";

export const FORMAT = 2;

export interface ModelEntry {
  name: string;
  version: number | string;
  backend: string;
  device: string;
  kind: string;
  /** The cell of its source, and the number of lines above the source in the cell. */
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
  /** Values as text, of a slice with few cells. */
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

/** Why a call was part of an execution, or not; other runs in it; number of equal entries. */
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
/** A custom parameter, with its value as text. */
export type Parameter = [name: string, text: string];
/** The fields that a request sets, by the options of `infer`, with their values as text. */
export interface RequestEntry {
  version?: string;
  request_id?: string;
  correlation_id?: string;
  sequence_start?: string;
  sequence_end?: string;
  priority?: string;
  timeout_us?: string;
  parameters?: Parameter[];
}
export type TimedLine = [place: string, hits: number, us: number, callsUs: number, text: string];
export type TimedFile = [file: string, lines: (TimedLine | null)[]];
export type LogLine = [us: number, level: string, text: string];
/** Values by call id. */
export type PerCall<T> = Record<string, T>;
/** Calls, or values of calls, that a limit has dropped. */
export interface Drop {
  calls: number;
  /** The reason, and how to keep them next time. */
  because: string;
  /** The number of calls, in words. */
  notice: string;
  /** The highest id of a dropped call. */
  last: number;
}
export interface Drops {
  calls?: Drop;
  values?: Drop;
}
export interface Run {
  id: string;
  title: string;
  request_id: string;
  state: "running" | "done" | "error" | "cancelled";
  /** Whether the notebook was saved while it was running. */
  saved?: boolean;
  /** Whether its kernel stopped while it was running. */
  lost?: boolean;
  /** Time of its last message, if that is too long ago. */
  silent?: string;
  /** Numbers of all calls, if some are only counted. */
  calls?: number;
  errors?: number;
  /** Calls that are only counted. */
  folded?: FoldedEntry[];
  /** Whether its calls were simulated and never executed. */
  simulated?: boolean;
  /** Name of the file that it was read from. */
  file?: string;
  /** Calls and values that are no longer kept. */
  dropped?: Drops;
  /** Why values of calls are missing. */
  lacks?: string;
}

/** Differences between a call and its counterpart in the baseline. */
export interface Change {
  tensors: [role: "input" | "output", name: string, response: number, words: string][];
  /** Number of tensors that are not listed. */
  more: number;
  error?: [now: string, before: string];
  responses?: [now: number, before: number];
  /** Fields of the request and parameters of responses that differ, with values as text. */
  request?: [name: string, now: string, before: string][];
}

export interface Header {
  format: number;
  run: Run;
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
  requests: PerCall<RequestEntry>;
  response_parameters: PerCall<[response: number, parameters: Parameter[]][]>;
  tensors: PerCall<TensorEntry[]>;
  columns: Record<string, Column>;
  /** The samples of the run. */
  profile?: ProfileEntry | null;
  /** Timed lines of calls: null stands for lines that are left out. */
  lines?: PerCall<TimedFile[]>;
  /** The baseline; its columns are in the same buffer. */
  baseline?: Partial<Header>;
  /** Numbers of calls of the whole runs. */
  counts?: [changed: number, added: number, missing: number, notCompared: number];
  changed?: number[];
  changes?: PerCall<Change>;
  unknown?: Compared["unknown"];
  ui: { height?: number };
}

/** Tables that grow with the messages of a run. */
export const TABLES = [
  "sources",
  "errors",
  "codes",
  "notes",
  "logs",
  "batching",
  "copies",
  "device_use",
  "requests",
  "response_parameters",
  "tensors",
] as const;

/** The header with every optional part present. */
export function complete(header: Partial<Header>): Header {
  if (header.format !== FORMAT)
    throw new Error(`trace format ${header.format}, this view reads ${FORMAT}`);
  const tables = Object.fromEntries(TABLES.map((name) => [name, {}]));
  return {
    format: FORMAT,
    run: { id: "", title: "", request_id: "", state: "done" },
    models: [],
    instances: [""],
    columns: {},
    ui: {},
    ...(tables as unknown as Pick<Header, (typeof TABLES)[number]>),
    ...header,
  };
}
