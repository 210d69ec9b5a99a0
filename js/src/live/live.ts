/** A running run: rows that arrive in messages, kept for the model and not for a view. */

import type { Header } from "../trace/header.ts";
import { Store } from "../trace/store.ts";
import { ownBuffer } from "../trace/wire.ts";
import { watchKernel } from "../kernel/kernel.ts";
import { VERSION, type WidgetModel } from "../kernel/widget.ts";

interface RowsMessage {
  type: "rows" | "snapshot";
  seq: number;
  header: Partial<Header>;
}

type Message = RowsMessage | { type: "finished" } | { type: "answer" };

/** A running run sends four messages a second; after this pause its kernel is silent. */
const SILENT_MS = 5_000;

export class Live {
  readonly store = new Store();
  readonly model: WidgetModel;
  #listeners = new Set<() => void>();
  #resyncing = false;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #stop: () => void;
  #receive = (message: Message, buffers: ArrayBufferView[] = []): void =>
    this.#received(message, buffers);

  constructor(model: WidgetModel) {
    this.model = model;
    model.on("msg:custom", this.#receive);
    this.#stop = watchKernel(model, () => this.#lost());
    this.#hello();
  }

  get isRunning(): boolean {
    const { state, lost } = this.store.header.run;
    return state === "running" && !lost;
  }

  /** Call back after each change; returns how to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  dispose(): void {
    this.model.off("msg:custom", this.#receive);
    this.#stop();
    clearTimeout(this.#silence);
    this.#listeners.clear();
  }

  #received(message: Message, buffers: ArrayBufferView[]): void {
    switch (message?.type) {
      case "snapshot":
        // A late answer: newer rows have arrived.
        if (message.seq < this.store.seq) return;
        this.store.replace(message.header, ownBuffer(buffers[0]), message.seq);
        this.#resyncing = false;
        break;
      case "rows":
        if (!this.store.upsert(message.header, ownBuffer(buffers[0]), message.seq))
          return this.#resync();
        break;
      case "finished":
        if (this.store.header.run.state === "running") this.store.header.run.state = "done";
        break;
      default:
        return;
    }
    this.#expectMessage();
    this.#notify();
  }

  /** Wait for the next message; after a pause show when the last one arrived. */
  #expectMessage(): void {
    const last = new Date().toLocaleTimeString();
    clearTimeout(this.#silence);
    if (!this.isRunning) return;
    this.#silence = setTimeout(() => {
      this.store.header.run.silent = last;
      this.#notify();
    }, SILENT_MS);
  }

  /** The kernel was restarted or died, unless it replies with a snapshot. */
  #lost(): void {
    this.store.header.run.lost = true;
    clearTimeout(this.#silence);
    this.#notify();
    try {
      this.#hello();
    } catch {
      // The comm is closed: nothing will reply.
    }
  }

  #hello(): void {
    this.model.send({ v: VERSION, type: "hello", have: this.store.seq });
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Request all rows, once, since messages are missing. */
  #resync(): void {
    if (this.#resyncing) return;
    this.#resyncing = true;
    this.model.send({ v: VERSION, type: "resync" });
  }
}
