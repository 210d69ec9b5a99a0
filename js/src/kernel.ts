/** The way to the kernel: questions about tensors, answered by number. */

import { ownBuffer, type Preview, type TensorEntry } from "./wire.ts";

/** The part of an anywidget model that the view uses. */
export interface WidgetModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, listener: (...values: never[]) => void): void;
  off(event: string, listener: (...values: never[]) => void): void;
}

/** Tensors or one slice, with the buffer that they point into. */
export interface Answer {
  tensors?: TensorEntry[];
  preview?: Preview;
  buffer: ArrayBuffer;
}

export interface AnswerMessage {
  type: "answer";
  id: number;
  error?: string;
  tensors?: TensorEntry[];
  preview?: Preview;
}

/** Which part of a tensor is asked for. */
export interface SliceQuestion {
  row: number;
  /** Position in the row's list of tensors. */
  tensor: number;
  index: number[];
  mode: "grid" | "image";
}

let lastId = 0;

export class Kernel {
  #model: WidgetModel;
  #waiting = new Map<
    number,
    { resolve: (answer: Answer) => void; reject: (error: Error) => void }
  >();
  #listener: (message: AnswerMessage, buffers?: ArrayBufferView[]) => void;

  constructor(model: WidgetModel) {
    this.#model = model;
    this.#listener = (message, buffers = []) =>
      message?.type === "answer" && this.#answered(message, buffers);
    model.on("msg:custom", this.#listener);
  }

  tensors(row: number): Promise<Answer> {
    return this.#ask({ type: "tensors", row });
  }

  slice(question: SliceQuestion): Promise<Answer> {
    return this.#ask({ type: "slice", ...question });
  }

  dispose(): void {
    this.#model.off("msg:custom", this.#listener);
    for (const { reject } of this.#waiting.values()) reject(new Error("the view was closed"));
    this.#waiting.clear();
  }

  /** Ids are unique in the page, since several views may share one model. */
  #ask(question: Record<string, unknown>): Promise<Answer> {
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      try {
        this.#model.send({ ...question, id });
      } catch {
        this.#waiting.delete(id);
        reject(new Error("the kernel that ran this is gone"));
      }
    });
  }

  #answered({ id, error, tensors, preview }: AnswerMessage, buffers: ArrayBufferView[]): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    const buffer = buffers.length ? ownBuffer(buffers[0]) : new ArrayBuffer(0);
    if (error === undefined) waiting.resolve({ tensors, preview, buffer });
    else waiting.reject(new Error(error));
  }
}
