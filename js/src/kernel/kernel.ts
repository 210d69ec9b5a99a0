/** Queries to the kernel about tensors, and their answers. */

import { connections } from "./connections.ts";
import type { Drops, Preview, TensorEntry } from "../trace/header.ts";
import { Slot } from "./slot.ts";
import { VERSION, type WidgetModel } from "./widget.ts";
import { ownBuffer } from "../trace/wire.ts";

/** Tensors or one slice, with the buffer of their previews. */
export interface Answer {
  tensors?: TensorEntry[];
  preview?: Preview;
  /** Why values of the call are missing. */
  lacks?: string;
  /** Calls and values that are no longer kept. */
  dropped?: Drops;
  /** What an action has done. */
  done?: string;
  buffer: ArrayBuffer;
}

export interface AnswerMessage extends Omit<Answer, "buffer"> {
  v: number;
  type: "answer";
  id: string;
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

/** A held arrow key repeats about every 33 ms: calls that are only passed by are not queried. */
const REST_MS = 40;
const GONE = { code: "gone", text: "the kernel that ran this is gone" };
/** Two tabs may share the connection of a kernel, and receive each other's answers. */
const PAGE = Math.random().toString(36).slice(2);
let lastId = 0;

/** Widgets whose kernel was restarted or died. */
const orphans = new WeakSet<WidgetModel>();

/** Types of the replies to `hello`; other messages may have been sent before the kernel was restarted. */
const REPLIES = new Set(["snapshot", "welcome"]);

/** Call back when a widget loses its kernel; a later reply shows that it did not. */
export function watchKernel(model: WidgetModel, lost: () => void): () => void {
  const gone = (): void => {
    orphans.add(model);
    lost();
  };
  const received = (message?: { type?: string }): void => {
    if (REPLIES.has(message?.type ?? "")) orphans.delete(model);
  };
  model.on("comm_live_update", gone);
  model.on("msg:custom", received);
  return () => {
    model.off("comm_live_update", gone);
    model.off("msg:custom", received);
  };
}

type Query = Record<string, unknown>;

/** The access of one view to the kernel that has its run. */
export class Kernel {
  #models: () => Iterable<WidgetModel>;
  /** The model that has answered; others have other runs. */
  #home: WidgetModel | undefined;
  #name = `${PAGE}-${++lastId}`;
  #tensors: Slot<Query>;
  #slices = new Map<number, Slot<Query>>();
  #cancels = new Set<(error: Error) => void>();
  #onFound: (() => void) | undefined;

  /** Queries go to the first of the models that has the run; they are listed with each query. */
  constructor(models: () => Iterable<WidgetModel>) {
    this.#models = models;
    this.#tensors = new Slot((query) => this.#query(query), REST_MS);
  }

  /** Query the tensors of a call: a run is named by its page id, a call by its id. */
  tensors(run: string, call: number): Promise<Answer> {
    return this.#tensors.query({ type: "tensors", slot: `${this.#name}/tensors`, run, call });
  }

  slice(query: SliceQuery): Promise<Answer> {
    const place = query.tensor;
    const slot = this.#slices.get(place) ?? new Slot((each: Query) => this.#query(each));
    this.#slices.set(place, slot);
    return slot.query({ type: "slice", slot: `${this.#name}/slice/${place}`, ...query });
  }

  /** Execute a call again in the debugger; the answer comes when it has ended. */
  debug(run: string, call: number): Promise<Answer> {
    return this.#query({ type: "action", name: "debug", slot: `${this.#name}/debug`, run, call });
  }

  /** Whether a connection to the kernel has the run, and not only the run's own widget. */
  get isConnected(): boolean {
    const home = this.#home;
    return home !== undefined && connections().has(home) && !orphans.has(home);
  }

  /** Whether no connection is left to be queried: a run is with its widget first, then with a connection. */
  get isSettled(): boolean {
    return this.isConnected || ![...this.#models()].some((model) => connections().has(model));
  }

  /** Call back when the model that has the run is found. */
  onFound(found: () => void): void {
    this.#onFound = found;
  }

  dispose(): void {
    this.#onFound = undefined;
    const closed = new QueryError({ code: "superseded", text: "the view was closed" });
    for (const slot of [this.#tensors, ...this.#slices.values()]) slot.cancel(closed);
    for (const cancel of this.#cancels) cancel(closed);
  }

  async #query(query: Query): Promise<Answer> {
    const models = [...new Set(this.#models())].filter((model) => !orphans.has(model));
    const { isSettled } = this;
    const home = models.filter((model) => isSettled && model === this.#home);
    if (models.length === 0) throw new QueryError(GONE);
    try {
      const replies = (home.length ? home : models).map((each) => this.#send(each, query));
      return (await Promise.any(replies))();
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }

  /** Return how the model answered; throw if it does not have the run. */
  async #send(model: WidgetModel, query: Query): Promise<() => Answer> {
    try {
      const answer = await this.#sent(model, query);
      this.#find(model);
      return () => answer;
    } catch (error) {
      if (isGone(error)) throw error;
      this.#find(model);
      return () => {
        throw error;
      };
    }
  }

  /** Note a model that has the run; a connection is preferred. */
  #find(model: WidgetModel): void {
    if (this.isConnected || this.#home === model) return;
    this.#home = model;
    this.#onFound?.();
  }

  #sent(model: WidgetModel, query: Query): Promise<Answer> {
    const id = `${PAGE}-${++lastId}`;
    return new Promise((resolve, reject) => {
      const received = (message: AnswerMessage, buffers: ArrayBufferView[] = []): void => {
        if (message?.type !== "answer" || message.id !== id) return;
        stop();
        const { error, ...answer } = message;
        const buffer = buffers.length ? ownBuffer(buffers[0]) : new ArrayBuffer(0);
        if (error === undefined) resolve({ ...answer, buffer });
        else reject(new QueryError(error));
      };
      const cancel = (error: Error): void => {
        stop();
        reject(error);
      };
      const unwatch = watchKernel(model, () => cancel(new QueryError(GONE)));
      const stop = (): void => {
        unwatch();
        model.off("msg:custom", received);
        this.#cancels.delete(cancel);
      };
      this.#cancels.add(cancel);
      model.on("msg:custom", received);
      try {
        model.send({ v: VERSION, ...query, id });
      } catch {
        cancel(new QueryError(GONE));
      }
    });
  }
}

/** Whether a kernel does not have the run, or is gone itself. */
export function isGone(error: unknown): boolean {
  return error instanceof QueryError && error.code === "gone";
}
