/** The views of runs in the page: a new view takes over the state of one that has left it. */

import type { ViewState } from "./viewstate.ts";

interface View {
  readonly element: HTMLElement;
  readonly state: ViewState | undefined;
}

/** Remember a view; the page does not keep it alive, because nothing reports that an output is removed. */
export function rememberView(run: string, view: View): void {
  const alive = views(run).filter((each) => each.deref());
  all().set(run, [...alive, new WeakRef(view)]);
}

/** Return the state of the last view of a run that is no longer in the page, as of a cell that was moved. */
export function leftState(run: string): ViewState | undefined {
  const isLeft = (view?: View): boolean => view !== undefined && !view.element.isConnected;
  return views(run).findLast((each) => isLeft(each.deref()))?.deref()?.state;
}

function views(run: string): WeakRef<View>[] {
  return all().get(run) ?? [];
}

/** Return the views of the page by run, which all copies of this code share. */
function all(): Map<string, WeakRef<View>[]> {
  const page = globalThis as unknown as Record<symbol, Map<string, WeakRef<View>[]> | undefined>;
  return (page[Symbol.for("blsnb-views")] ??= new Map());
}
