/**
 * The entry of a placed widget: shows a widget of the kernel in the place of a static text, and says when
 * its kernel is gone. A text that a notebook keeps beside the widget is hidden.
 */

import { register } from "./kernel/registry.ts";
import { VERSION, type WidgetModel } from "./kernel/widget.ts";
import { h } from "./page/dom.ts";

/** The part of a view of ipywidgets that is used: its Lumino widget attaches itself. */
interface View {
  luminoWidget: { constructor: unknown; dispose(): void };
}

interface Signal {
  connect(listener: () => void): unknown;
  disconnect(listener: () => void): unknown;
}

interface WidgetManager {
  /** The kernel's connection, in JupyterLab: ipywidgets reports no kernel that is shut down. */
  kernel?: { disposed?: Signal } | null;
  get_model(id: string): Promise<unknown>;
  create_view(model: unknown): Promise<View>;
}

interface Attaches {
  attach(widget: unknown, host: HTMLElement): void;
}

const LOST = "The kernel is gone: what is below is no longer live.";
const REFERENCE = "IPY_MODEL_";
/** Event that requests a page to insert a cell; the page that inserts it prevents the default. */
const INSERT = "blsnb-insert-cell";

type PlacingModel = WidgetModel & { widget_manager: WidgetManager };

function initialize({ model }: { model: PlacingModel }): () => void {
  const id = String(model.get("placed_id"));
  const hosts = new Set<Host>();
  let isLost = false;
  const mount = (element: HTMLElement): void => {
    const host = new Host(element, isLost);
    hosts.add(host);
    void host.show(model);
  };
  const kept = new Kept();
  const withdraw = [register("placed", id, mount), register("kept", id, (text) => kept.hide(text))];
  const say = (lost: boolean): void => {
    isLost = lost;
    for (const host of hosts) host.say(lost);
  };
  const received = (message?: { type?: string; code?: string }): void => {
    if (message?.type === "welcome") say(false);
    if (message?.type !== "insert" || typeof message.code !== "string") return;
    void insert(message.code).then((result) => model.send({ type: "insert", result }));
  };
  model.on("msg:custom", received);
  const unwatch = watch(model, () => say(true));
  return () => {
    for (const each of [...withdraw, unwatch]) each();
    model.off("msg:custom", received);
    kept.show();
    for (const host of hosts) host.restore();
  };
}

/** Call back when the kernel seems to be gone; it is asked for a welcome, which shows that it is not. */
function watch(model: PlacingModel, lost: () => void): () => void {
  const gone = (): void => {
    lost();
    try {
      model.send({ v: VERSION, type: "hello" });
    } catch {
      // Its comm is closed.
    }
  };
  const disposed = model.widget_manager.kernel?.disposed;
  disposed?.connect(gone);
  model.on("comm_live_update", gone);
  return () => {
    disposed?.disconnect(gone);
    model.off("comm_live_update", gone);
  };
}

/** A place of the page in which the widget is shown. */
class Host {
  #element: HTMLElement;
  #text: Node[];
  #note = h("div", { role: "alert" }, LOST);
  #isLost: boolean;

  constructor(element: HTMLElement, isLost: boolean) {
    this.#element = element;
    this.#text = [...element.childNodes];
    this.#isLost = isLost;
  }

  async show(model: PlacingModel): Promise<void> {
    const reference = String(model.get("content")).replace(REFERENCE, "");
    const manager = model.widget_manager;
    const { luminoWidget } = await manager.create_view(await manager.get_model(reference));
    this.#element.replaceChildren();
    this.say(this.#isLost);
    (luminoWidget.constructor as Attaches).attach(luminoWidget, this.#element);
  }

  say(isLost: boolean): void {
    this.#isLost = isLost;
    if (isLost) this.#element.prepend(this.#note);
    else this.#note.remove();
  }

  restore(): void {
    this.#element.replaceChildren(...this.#text);
  }
}

/** The texts of the page that a notebook keeps; each replaces an earlier one of its output. */
class Kept {
  #hidden: HTMLElement[] = [];

  hide(text: HTMLElement): void {
    text.hidden = true;
    this.#hidden = [...this.#hidden.filter((each) => each.isConnected), text];
  }

  show(): void {
    for (const each of this.#hidden) each.hidden = false;
  }
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
