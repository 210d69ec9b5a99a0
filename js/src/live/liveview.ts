/** The view of a running run: one frame that follows its output in the page. */

import { Frame } from "../frame/frame.ts";
import { connections } from "../kernel/connections.ts";
import { Kernel } from "../kernel/kernel.ts";
import type { Live } from "./live.ts";
import { Moving } from "./moving.ts";
import { everyFrame, MANY_CALLS } from "../page/repaint.ts";
import type { ViewState } from "../session/viewstate.ts";
import type { Store } from "../trace/store.ts";
import type { WidgetModel } from "../kernel/widget.ts";

const TRAITS = ["change:selected", "change:filter"];

export class LiveView {
  #live: Live;
  #model: WidgetModel;
  #kernel: Kernel;
  #host: HTMLElement;
  #frame: Frame | null = null;
  #moving: Moving | null = null;
  #repaint = everyFrame(
    () => this.#draw(),
    () => this.#live.store.n > MANY_CALLS && this.#live.isRunning,
  );
  #state: ViewState | undefined;
  #stop: (() => void) | undefined;
  /** Elements that leave the page lose their size, and have it again when they return. */
  #visits = new ResizeObserver(() => this.#visit());

  /** Draw in the host when the first rows arrive, with the state of an earlier view. */
  constructor(live: Live, model: WidgetModel, host: HTMLElement, state?: ViewState) {
    this.#live = live;
    this.#model = model;
    this.#host = host;
    this.#state = state;
    this.#kernel = new Kernel(() => modelsOf(live));
    this.#follow();
    this.#visits.observe(host);
    if (live.store.n > 0) this.#repaint.request();
  }

  /** Its host. */
  get element(): HTMLElement {
    return this.#host;
  }

  /** The state of the view, to be handed over. */
  get state(): ViewState | undefined {
    return this.#frame?.state ?? this.#state;
  }

  /** Whether its output was replaced; a hidden output still has a parent. */
  get isLeft(): boolean {
    return this.#host.parentElement === null;
  }

  /** Move to another element of the page, before the page is painted. */
  moveTo(host: HTMLElement): void {
    this.#visits.disconnect();
    this.#host = host;
    this.#visits.observe(host);
    if (this.#moving) this.#moving.into(host);
    else if (this.#live.store.n > 0) this.#draw();
  }

  /** Show the whole run, which has ended, and stop listening. */
  complete(store: Store): void {
    this.#leave();
    this.#frame?.show(store);
  }

  dispose(): void {
    this.#leave();
    this.#frame?.dispose();
    this.#kernel.dispose();
  }

  /** Follow the run while the host is in the page: a cell that was moved leaves its view behind. */
  #visit(): void {
    if (!this.#host.isConnected) this.#rest();
    // A cell that was scrolled away returns.
    else if (!this.#stop) {
      this.#follow();
      this.#repaint.request();
    }
  }

  #follow(): void {
    const apply = (): void => this.#applyTraits();
    const unfollow = this.#live.onChange(this.#repaint.request);
    for (const each of TRAITS) this.#model.on(each, apply);
    this.#stop = () => {
      unfollow();
      for (const each of TRAITS) this.#model.off(each, apply);
    };
  }

  #rest(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#repaint.cancel();
  }

  #leave(): void {
    this.#visits.disconnect();
    this.#rest();
  }

  #draw(): void {
    if (this.#frame) return this.#frame.draw();
    const frame = this.#newFrame();
    const before = [...this.#host.childNodes];
    const moving = new Moving(frame.element, frame.element.shadowRoot!);
    moving.into(this.#host);
    try {
      frame.start();
    } catch (error) {
      // The earlier content is better than a view that cannot be drawn.
      frame.dispose();
      this.#host.replaceChildren(...before);
      throw error;
    }
    this.#frame = frame;
    this.#moving = moving;
    this.#applyTraits();
  }

  #newFrame(): Frame {
    return new Frame({
      store: this.#live.store,
      kernel: this.#kernel,
      state: this.#state,
      onSelect: selectedIn(this.#model),
      onFilter: setter(this.#model, "filter"),
      onHeight: setter(this.#model, "height"),
    });
  }

  #applyTraits(): void {
    const [id, filter] = [this.#model.get("selected"), this.#model.get("filter")];
    if (typeof filter === "string") this.#frame?.filterBy(filter);
    if (typeof id === "number") this.#frame?.selectCall(id);
  }
}

/** Return the models that may have a run: when it has ended, first those of kernels. */
export function modelsOf(live: Live | undefined): WidgetModel[] {
  if (!live) return [...connections()];
  return live.isRunning ? [live.model] : [...connections(), live.model];
}

/** Return a function that sets the trait `selected` to a call id; −1 for none. */
export function selectedIn(model: WidgetModel): (id: number) => void {
  return setter(model, "selected");
}

/** Return a function that sets a trait of the widget if it changes. */
function setter(model: WidgetModel, name: string): (value: unknown) => void {
  return (value) => {
    const before = model.get(name);
    if (before === undefined || before === value) return;
    model.set(name, value);
    model.save_changes();
  };
}
