/** What anywidget hands to the view, with the kernel's side of it in the test's hands. */

import type { WidgetModel } from "../src/kernel/widget.ts";

export type Sent = { type: string; id?: string; slot?: string; have?: number };
type Listener = (message: unknown, buffers: ArrayBufferView[]) => void;

export class FakeModel implements WidgetModel {
  readonly sent: Sent[] = [];
  readonly #listeners = new Map<string, Set<Listener>>();

  /** The traits of the widget. */
  readonly traits: Record<string, unknown>;
  saved = 0;

  constructor(traits: Record<string, unknown> = {}) {
    this.traits = traits;
  }
  get(name: string): unknown {
    return this.traits[name];
  }
  set(name: string, value: unknown): void {
    this.traits[name] = value;
  }
  save_changes(): void {
    this.saved++;
  }
  /** Set a trait as Python does, and say so. */
  change(name: string, value: unknown): void {
    this.set(name, value);
    for (const listener of this.#of(`change:${name}`)) listener(undefined, []);
  }
  send(content: unknown): void {
    this.sent.push(content as Sent);
  }
  on(event: string, listener: (...values: never[]) => void): void {
    this.#of(event).add(listener as unknown as Listener);
  }
  off(event: string, listener: (...values: never[]) => void): void {
    this.#of(event).delete(listener as unknown as Listener);
  }
  #of(event: string): Set<Listener> {
    const found = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, found);
    return found;
  }
  get listening(): number {
    return [...this.#listeners.values()].reduce((sum, each) => sum + each.size, 0);
  }
  /** What ipywidgets tells when a kernel is restarted or dies. */
  lose(): void {
    for (const listener of this.#of("comm_live_update")) listener(undefined, []);
  }
  receive(message: unknown, ...buffers: ArrayBuffer[]): void {
    for (const listener of this.#of("msg:custom"))
      listener(
        message,
        buffers.map((buffer) => new DataView(buffer)),
      );
  }
}
