/** Queries to the kernel about tensors, and their answers. */

import type { Drops, Preview, TensorEntry } from "./header.ts";
import { ownBuffer } from "./wire.ts";

/** The part of an anywidget model that the view uses. */
export interface WidgetModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, listener: (...values: never[]) => void): void;
  off(event: string, listener: (...values: never[]) => void): void;
}

/** Tensors or one slice, with the buffer of their previews. */
export interface Answer {
  tensors?: TensorEntry[];
  preview?: Preview;
  /** Why values of the call are missing. */
  lacks?: string;
  /** Calls and values that are no longer kept. */
  dropped?: Drops;
  buffer: ArrayBuffer;
}

export interface AnswerMessage extends Omit<Answer, "buffer"> {
  v: number;
  type: "answer";
  id: number;
  error?: { code: string; text: string; dropped?: Drops };
}

/** The slice of a tensor to be answered. */
export interface SliceQuery {
  /** Page id of the run. */
  run: string;
  /** Id of the call. */
  call: number;
  /** Position in the call's list of tensors. */
  tensor: number;
  index: number[];
  mode: "grid" | "image";
}

/** Version of the messages between a page and its kernel, see docs/contracts.md. */
export const VERSION = 1;

/** An error that the kernel answered. */
export class QueryError extends Error {
  readonly code: string;
  readonly dropped: Drops | undefined;

  constructor({ code, text, dropped }: { code: string; text: string; dropped?: Drops }) {
    super(text);
    this.code = code;
    this.dropped = dropped;
  }
}

let lastId = 0;
const GONE = "the kernel that ran this is gone";

/** Widgets whose kernel was restarted or died. */
const orphans = new WeakSet<WidgetModel>();

/** Call back when a widget loses its kernel; a later message shows that it did not. */
export function watchKernel(model: WidgetModel, lost: () => void): () => void {
  const gone = (): void => {
    orphans.add(model);
    lost();
  };
  const received = (): void => void orphans.delete(model);
  model.on("comm_live_update", gone);
  model.on("msg:custom", received);
  return () => {
    model.off("comm_live_update", gone);
    model.off("msg:custom", received);
  };
}

export class Kernel {
  #model: WidgetModel;
  #waiting = new Map<
    number,
    { resolve: (answer: Answer) => void; reject: (error: Error) => void }
  >();
  #listener: (message: AnswerMessage, buffers?: ArrayBufferView[]) => void;
  #stop: () => void;

  constructor(model: WidgetModel) {
    this.#model = model;
    this.#listener = (message, buffers = []) =>
      message?.type === "answer" && this.#answered(message, buffers);
    model.on("msg:custom", this.#listener);
    this.#stop = watchKernel(model, () => this.#reject(GONE));
  }

  /** Query the tensors of a call: a run is named by its page id, a call by its id. */
  tensors(run: string, call: number): Promise<Answer> {
    return this.#query({ type: "tensors", run, call });
  }

  slice(query: SliceQuery): Promise<Answer> {
    return this.#query({ type: "slice", ...query });
  }

  dispose(): void {
    this.#model.off("msg:custom", this.#listener);
    this.#stop();
    this.#reject("the view was closed");
  }

  #reject(words: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(words));
    this.#waiting.clear();
  }

  /** Ids are unique in the page, since several views may share one model. */
  #query(query: Record<string, unknown>): Promise<Answer> {
    const id = ++lastId;
    if (orphans.has(this.#model)) return Promise.reject(new Error(GONE));
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      try {
        this.#model.send({ v: VERSION, ...query, id });
      } catch {
        this.#waiting.delete(id);
        reject(new Error(GONE));
      }
    });
  }

  #answered({ id, error, ...answer }: AnswerMessage, buffers: ArrayBufferView[]): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    const buffer = buffers.length ? ownBuffer(buffers[0]) : new ArrayBuffer(0);
    if (error === undefined) waiting.resolve({ ...answer, buffer });
    else waiting.reject(new QueryError(error));
  }
}
