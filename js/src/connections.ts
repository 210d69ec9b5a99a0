/** The kernels that a page is connected to: one hidden widget model of each. */

import type { WidgetModel } from "./widget.ts";

/** Event of the page when a kernel is connected. */
export const CONNECTED = "blsnb-connected";

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
  connections().delete(model);
}
