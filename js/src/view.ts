/** The entry: a live widget for anywidget, and `mount` for a finished run's document. */

import { Frame } from "./frame/frame.ts";
import { CONNECTED, listenWeakly } from "./kernel/connections.ts";
import { Kernel } from "./kernel/kernel.ts";
import { Live } from "./live/live.ts";
import { LiveView, modelsOf, selectedIn } from "./live/liveview.ts";
import { leftState, rememberView } from "./session/handover.ts";
import type { ViewState } from "./session/viewstate.ts";
import type { Header } from "./trace/header.ts";
import { Store } from "./trace/store.ts";
import type { WidgetModel } from "./kernel/widget.ts";

/** What the page knows of a run: its model and rows, and the state of its last view. */
interface Known {
  model: WidgetModel;
  mount: typeof mount;
  store: Store;
  live: Live;
  /** Views in the hosts of documents, which keep them alive. */
  views: WeakRef<LiveView>[];
  state?: () => ViewState | undefined;
}

type Registry = Map<string, Known>;

/** Event of the page when the kernel of a run is registered. */
const REGISTERED = "blsnb-registered";

/** A run in its host; `complete` shows the rest when it is decoded. */
interface Mounted {
  complete(store: Store): void;
  dispose(): void;
  isLive?: boolean;
}

const mounted = new WeakMap<HTMLElement, Mounted>();

/**
 * Draw a run into the host; returns how to remove it. On failure the host stays as it was.
 *
 * Without header and buffer it draws the rows of the live view, if there was one. Nothing is decoded,
 * so the document replaces the view before the page is painted. A second call adds the rest. A live view
 * whose output was replaced continues in the new host.
 */
export function mount(
  host: HTMLElement,
  header?: Partial<Header>,
  buffer?: ArrayBuffer,
): () => void {
  const known = registry().get(header?.run?.id ?? host.dataset.run ?? "");
  let shown = mounted.get(host);
  // The page has newer rows than a document that was saved while the run executed.
  if (known && header?.run?.state === "running") header = undefined;
  // The document was drawn before the page found the kernel.
  if (known?.live.isRunning && shown && !shown.isLive) {
    shown.dispose();
    shown = undefined;
  }
  if (known && !shown) shown = place(host, known);
  if (shown?.isLive && !header) return shown.dispose;
  const store = header && buffer ? Store.of(header, buffer) : known?.store;
  if (!store || store.n === 0) return () => shown?.dispose();
  if (shown) shown.complete(store);
  else mounted.set(host, (shown = draw(host, store, known)));
  return shown.dispose;
}

/** Move a live view without a host here; create one if the run still executes. */
function place(host: HTMLElement, known: Known): Mounted | undefined {
  const { live, model, views } = known;
  const left = views.find((each) => each.deref()?.isLeft)?.deref();
  if (!left && !live.isRunning) return undefined;
  const view = left ?? new LiveView(live, model, host, known.state?.());
  if (!left) views.push(new WeakRef(view));
  view.moveTo(host);
  widen(host);
  known.state = () => view.state;
  const leave = (): void => void (known.views = known.views.filter((each) => each.deref() !== view));
  const complete = (whole: Store): void => {
    leave();
    view.complete(whole);
  };
  const dispose = (): void => {
    mounted.delete(host);
    leave();
    view.dispose();
  };
  const placed = { complete, dispose, isLive: true };
  mounted.set(host, placed);
  return placed;
}

function draw(host: HTMLElement, store: Store, known: Known | undefined): Mounted {
  const kernel = kernelOf(store);
  // A comparison uses the kernel of the run, but not the state of its view.
  const same = store.baseline ? undefined : known;
  const { id } = store.header.run;
  const name = store.baseline ? `${id}-vs-${store.baseline.header.run.id}` : id;
  const state = leftState(name) ?? same?.state?.();
  const frame = new Frame({ store, kernel, state, onSelect: same && selectedIn(same.model) });
  rememberView(name, frame);
  const connecting = new Connecting(frame, store);
  const dispose = (): void => {
    mounted.delete(host);
    connecting.stop();
    frame.dispose();
    frame.kernel?.dispose();
  };
  const before = [...host.childNodes];
  widen(host);
  host.append(frame.element);
  try {
    frame.start();
  } catch (error) {
    dispose();
    throw error;
  }
  for (const child of before) child.remove();
  return { complete: (whole) => frame.show(whole), dispose };
}

/** Return the access of a document to the kernel that has its run; null in a page without kernels. */
function kernelOf({ header }: Store): Kernel | null {
  const models = (): WidgetModel[] => modelsOf(registry().get(header.run.id)?.live);
  return models().length ? new Kernel(models) : null;
}

/**
 * Connects a document that was drawn before a kernel was, as after a reload.
 *
 * A document is not notified when its output is removed, so the page must not keep its frame alive. In
 * minified code the listener of a function would keep the variables of its caller; that of a class does not.
 */
class Connecting {
  readonly stop: () => void;
  #frame: Frame;
  #store: Store;

  constructor(frame: Frame, store: Store) {
    [this.#frame, this.#store] = [frame, store];
    this.stop = listenWeakly(this, [REGISTERED, CONNECTED], (each) => each.#connect());
  }

  #connect(): void {
    if (this.#frame.kernel) return;
    const known = this.#store.baseline ? undefined : registry().get(this.#store.header.run.id);
    this.#frame.connect(kernelOf(this.#store), known && selectedIn(known.model));
  }
}

/** Cover the margin that JupyterLab has beside HTML in wide windows, but not beside widgets. */
function widen({ parentElement: parent }: HTMLElement): void {
  if (parent?.classList.contains("jp-RenderedHTMLCommon")) parent.style.paddingRight = "0";
}

const lives = new WeakMap<WidgetModel, Live>();

/** Receive rows for the model, with or without a view. */
function initialize({ model }: { model: WidgetModel }): () => void {
  const live = new Live(model);
  lives.set(model, live);
  const stop = live.onChange(() => register(live));
  return () => {
    stop();
    live.dispose();
    const { id } = live.store.header.run;
    if (registry().get(id)?.live === live) registry().delete(id);
  };
}

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const found = liveOf(model);
  const live = found ?? new Live(model);
  const run = String(model.get("run_id"));
  const view = new LiveView(live, model, el, leftState(run));
  rememberView(run, view);
  /** Keep the state for the document, which may be drawn before this view is removed, or after. */
  const remember = (state: () => ViewState | undefined): void => {
    const known = registry().get(live.store.header.run.id);
    if (known) known.state = state;
  };
  const stop = live.onChange(() => remember(() => view.state));
  remember(() => view.state);
  return () => {
    stop();
    const { state } = view;
    remember(() => state);
    view.dispose();
    if (!found) live.dispose();
  };
}

/** Return the rows of a model, else by run: anywidget passes another proxy to each hook. */
function liveOf(model: WidgetModel): Live | undefined {
  return lives.get(model) ?? registry().get(String(model.get("run_id")))?.live;
}

function register(live: Live): void {
  const { id } = live.store.header.run;
  const known = registry().get(id);
  if (known?.live === live) return;
  const { model, store } = live;
  registry().set(id, { model, mount, store, live, views: known?.views ?? [], state: known?.state });
  globalThis.dispatchEvent(new Event(REGISTERED));
}

/** Return the registry of the page, which all copies of this code share. */
function registry(): Registry {
  const page = globalThis as unknown as Record<symbol, Registry | undefined>;
  return (page[Symbol.for("blsnb")] ??= new Map());
}

export default { initialize, render };
