/** Calls that were executed together. Pure. */

import type { Calls } from "./wire.ts";

/** Return the calls of each execution by model and execution, such as `"2 17"`. */
export function executionsOf({ model, execution }: Calls, n: number): Map<string, number[]> {
  const executions = new Map<string, number[]>();
  for (let call = 0; call < n; call++) {
    if (execution[call] === 0) continue;
    const key = `${model[call]} ${execution[call]}`;
    const known = executions.get(key);
    if (known) known.push(call);
    else executions.set(key, [call]);
  }
  return executions;
}
