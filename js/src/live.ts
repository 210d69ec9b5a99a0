/** A running run: rows that arrive in messages, kept by the model and not by a view. */

import type { Header } from "./header.ts";
import { Store } from "./store.ts";
import { ownBuffer } from "./wire.ts";
import { VERSION, watchKernel, type WidgetModel } from "./kernel.ts";

interface RowsMessage {
  type: "rows" | "snapshot";
  seq: number;
  header: Partial<Header>;
}

type Message = RowsMessage | { type: "finished" } | { type: "answer" };

/** A running run is told of four times a second, as long as anything can be told. */
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
    model.send({ v: VERSION, type: "hello", have: this.store.seq });
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
        // An answer that took its time, overtaken by rows sent since.
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
    this.#listen();
    this.#tell();
  }

  /** A kernel that is gone or that cannot get a word in sends nothing: say since when. */
  #listen(): void {
    const heard = new Date().toLocaleTimeString();
    clearTimeout(this.#silence);
    if (!this.isRunning) return;
    this.#silence = setTimeout(() => {
      this.store.header.run.silent = heard;
      this.#tell();
    }, SILENT_MS);
  }

  /** Its kernel was restarted, or died: nothing comes any more. */
  #lost(): void {
    this.store.header.run.lost = true;
    clearTimeout(this.#silence);
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Messages are missing: ask for everything, once. */
  #resync(): void {
    if (this.#resyncing) return;
    this.#resyncing = true;
    this.model.send({ v: VERSION, type: "resync" });
  }
}
