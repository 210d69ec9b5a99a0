/** The notebook or console in front: the panel shows its kernel. */

import type {
  ConsolePanel,
  KernelConnection,
  NotebookPanel,
  SessionContext,
  Tracker,
  Widget,
} from "./lab.ts";

export type Document = NotebookPanel | ConsolePanel;

export function isNotebook(document: Document): document is NotebookPanel {
  return "content" in document && "context" in document;
}

export class Front {
  #current: Document | null = null;
  #context: SessionContext | null = null;
  #trackers: Tracker<Document>[];
  #changed: (kernel: KernelConnection | null) => void;

  constructor(
    trackers: (Tracker<Document> | null)[],
    changed: (kernel: KernelConnection | null) => void,
  ) {
    this.#trackers = trackers.filter((each) => each !== null);
    this.#changed = changed;
    for (const tracker of this.#trackers) {
      tracker.currentChanged.connect(() => this.#follow(tracker.currentWidget ?? this.#other()));
      if (tracker.currentWidget) this.#follow(tracker.currentWidget);
    }
  }

  /** The notebook or console; null if none is open. */
  get document(): Document | null {
    return this.#current;
  }

  /** Another tab is in front: a run that is looked at leaves the panel as it is. */
  show(widget: Widget | null): void {
    const found = this.#trackers.find((each) => widget && each.has(widget));
    if (found) this.#follow(widget as Document);
  }

  #other(): Document | null {
    return this.#trackers.map((each) => each.currentWidget).find((each) => each !== null) ?? null;
  }

  #follow(document: Document | null): void {
    if (document === this.#current) return;
    this.#context?.kernelChanged.disconnect(this.#onKernel);
    this.#current = document;
    this.#context = document?.sessionContext ?? null;
    this.#context?.kernelChanged.connect(this.#onKernel);
    this.#onKernel();
  }

  #onKernel = (): void => {
    this.#changed(this.#context?.session?.kernel ?? null);
  };
}
