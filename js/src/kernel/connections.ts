/** The kernels that a page is connected to: one hidden widget model of each. */

import type { WidgetModel } from "./widget.ts";

/** Event of the page when a kernel is connected. */
export const CONNECTED = "blsnb-connected";
/** Event of the page when a connection has lost its kernel. */
export const DISCONNECTED = "blsnb-disconnected";

/** Return the connections of the page, which all copies of this code share. */
export function connections(): Set<WidgetModel> {
  const page = globalThis as unknown as Record<symbol, Set<WidgetModel> | undefined>;
  return (page[Symbol.for("blsnb-connections")] ??= new Set());
}

export function connect(model: WidgetModel): void {
  if (connections().has(model)) return;
  connections().add(model);
  globalThis.dispatchEvent(new Event(CONNECTED));
}

export function disconnect(model: WidgetModel): void {
  if (connections().delete(model)) globalThis.dispatchEvent(new Event(DISCONNECTED));
}

/** Call a function with an object at events of the page, until the object is collected or the result called. */
export function listenWeakly<T extends object>(
  target: T,
  events: readonly string[],
  changed: (target: T) => void,
): () => void {
  const held = new WeakRef(target);
  const notify = (): void => {
    const target = held.deref();
    if (target) changed(target);
    else stop();
  };
  const stop = (): void => events.forEach((each) => globalThis.removeEventListener(each, notify));
  for (const each of events) globalThis.addEventListener(each, notify);
  return stop;
}
