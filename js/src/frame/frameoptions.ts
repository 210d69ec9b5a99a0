/** The options of a view's frame. */

import type { Kernel } from "../kernel/kernel.ts";
import type { Store } from "../trace/store.ts";
import type { ViewState } from "../session/viewstate.ts";

export interface FrameOptions {
  store: Store;
  kernel: Kernel | null;
  state?: ViewState;
  /** Called with the id of the call that the user selected; −1 for none. */
  onSelect?: (id: number) => void;
  onFilter?: (text: string) => void;
  /** Called with the height of the view, which a document in its place will reserve. */
  onHeight?: (height: number) => void;
}
