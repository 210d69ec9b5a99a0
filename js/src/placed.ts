/** The entry of a placed widget: shows a widget of the kernel in the place of a static text. */

import { register } from "./kernel/registry.ts";
import type { WidgetModel } from "./kernel/widget.ts";

/** The part of a view of ipywidgets that is used: its Lumino widget attaches itself. */
interface View {
  luminoWidget: { constructor: unknown; dispose(): void };
}

interface WidgetManager {
  get_model(id: string): Promise<unknown>;
  create_view(model: unknown): Promise<View>;
}

interface Attaches {
  attach(widget: unknown, host: HTMLElement): void;
}

const REFERENCE = "IPY_MODEL_";
/** Event that requests a page to insert a cell; the page that inserts it prevents the default. */
const INSERT = "blsnb-insert-cell";

type PlacingModel = WidgetModel & { widget_manager: WidgetManager };

function initialize({ model }: { model: PlacingModel }): () => void {
  const restore: (() => void)[] = [];
  const withdraw = register("placed", String(model.get("placed_id")), (host) => {
    void place(model, host).then((undo) => restore.push(undo));
  });
  const received = (message?: { type?: string; code?: string }): void => {
    if (message?.type !== "insert" || typeof message.code !== "string") return;
    void insert(message.code).then((result) => model.send({ type: "insert", result }));
  };
  model.on("msg:custom", received);
  return () => {
    withdraw();
    model.off("msg:custom", received);
    for (const undo of restore) undo();
  };
}

/** Show the widget in a host; return a function that shows the text again. */
async function place(model: PlacingModel, host: HTMLElement): Promise<() => void> {
  const reference = String(model.get("content")).replace(REFERENCE, "");
  const manager = model.widget_manager;
  const view = await manager.create_view(await manager.get_model(reference));
  const text = [...host.childNodes];
  host.replaceChildren();
  (view.luminoWidget.constructor as Attaches).attach(view.luminoWidget, host);
  return () => {
    host.replaceChildren(...text);
  };
}

/** Insert a cell, or copy its code where the page has no way to insert one. */
async function insert(code: string): Promise<"inserted" | "copied" | "failed"> {
  const event = new CustomEvent(INSERT, { detail: { code }, cancelable: true });
  if (!globalThis.dispatchEvent(event)) return "inserted";
  try {
    await navigator.clipboard.writeText(code);
    return "copied";
  } catch {
    return "failed";
  }
}

export default { initialize };
