/** The part of an anywidget model that the page uses. */

export interface WidgetModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, listener: (...values: never[]) => void): void;
  off(event: string, listener: (...values: never[]) => void): void;
}

/** Version of the messages between a page and its kernel, see docs/reference/contracts.md. */
export const VERSION = 1;
