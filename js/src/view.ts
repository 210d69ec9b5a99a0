/** The entry: a live widget for anywidget, and `mount` for a finished run's document. */

import { Frame } from "./frame.ts";
import { Kernel, type WidgetModel } from "./kernel.ts";
import { Live } from "./live.ts";
import { LiveView, selectedIn } from "./liveview.ts";
import type { ViewState } from "./viewstate.ts";
import type { Header } from "./header.ts";
import { Store } from "./store.ts";

/** What the page knows of a run: the way to its kernel, and what its last view looked like. */
interface Known {
  model: WidgetModel;
  mount: typeof mount;
  store: Store;
  live: Live;
  /** Those that are where documents are. */
  views: LiveView[];
  state?: () => ViewState | undefined;
}

type Registry = Map<string, Known>;

/** The page is told when it knows of a run's kernel. */
const REGISTERED = "blsnb-registered";

/** A finished run in its host, and how to give it what could not be decoded at once. */
interface Mounted {
  complete(store: Store): void;
  dispose(): void;
  isLive?: boolean;
}

const mounted = new WeakMap<HTMLElement, Mounted>();

/**
 * Draw a run into the host; returns how to remove it. On failure the host stays as it was.
 *
 * Called without header and buffer it draws what the live view left behind, if there was one: nothing is
 * decoded, so the page shows one in place of the other. Called again it takes the rest. A live view whose
 * output is made anew goes on there, while the run goes on and when it has ended.
 */
export function mount(
  host: HTMLElement,
  header?: Partial<Header>,
  buffer?: ArrayBuffer,
): () => void {
  const known = registry().get(header?.run?.id ?? host.dataset.run ?? "");
  let shown = mounted.get(host);
  // What was saved while the run went on is older than what the page knows.
  if (known && header?.run?.state === "running") header = undefined;
  // What was saved in a notebook, before its kernel was found alive.
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

/** Put the live view here whose place is gone; a new one if the run goes on. */
function place(host: HTMLElement, known: Known): Mounted | undefined {
  const { live, model, views } = known;
  let view = views.find(({ isLeft }) => isLeft);
  if (!view) {
    if (!live.isRunning) return undefined;
    views.push((view = new LiveView(live, model, host, known.state?.())));
  }
  view.moveTo(host);
  widen(host);
  known.state = () => view.state;
  const leave = (): void => void (known.views = known.views.filter((each) => each !== view));
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
  const kernel = known ? new Kernel(known.model) : null;
  // A comparison can ask the kernel for the run's tensors; what was looked at was something else.
  const same = store.baseline ? undefined : known;
  const state = same?.state?.();
  const frame = new Frame({ store, kernel, state, onSelect: same && selectedIn(same.model) });
  const stop = known ? undefined : connectLater(frame, store);
  const dispose = (): void => {
    mounted.delete(host);
    stop?.();
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

/**
 * After a reload documents are drawn before the page has asked the kernel for its widgets.
 *
 * Nobody tells a document that its output was removed: the page must not keep its frame alive.
 */
function connectLater(frame: Frame, { header, baseline }: Store): () => void {
  const waiting = new WeakRef(frame);
  const connect = (): void => {
    const known = registry().get(header.run.id);
    const frame = waiting.deref();
    if (frame && !known) return;
    stop();
    if (frame && known)
      frame.connect(new Kernel(known.model), baseline ? undefined : selectedIn(known.model));
  };
  const stop = (): void => globalThis.removeEventListener(REGISTERED, connect);
  globalThis.addEventListener(REGISTERED, connect);
  return stop;
}

/** JupyterLab keeps room beside HTML that it does not keep beside widgets: a view would jump. */
function widen(host: HTMLElement): void {
  const parent = host.parentElement;
  if (parent?.classList.contains("jp-RenderedHTMLCommon"))
    host.style.marginRight = `-${getComputedStyle(parent).paddingRight}`;
}

const lives = new WeakMap<WidgetModel, Live>();

/** The rows belong to the model: they are received before there is a view, and after. */
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
  const view = new LiveView(live, model, el);
  /** For the document, which may come before this view goes or after. */
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

/** The model's rows; anywidget hands a new proxy of the model to each hook, so also by run. */
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

/** One per page, also when several copies of this code are in it. */
function registry(): Registry {
  const page = globalThis as unknown as Record<symbol, Registry | undefined>;
  return (page[Symbol.for("blsnb")] ??= new Map());
}

export default { initialize, render };
