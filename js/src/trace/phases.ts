/** Sums of the phases of calls. Pure. */

/**
 * Sums of the phases of calls; `infer` is own time, `child` time in child calls, `between` time
 * between the steps of an ensemble.
 */
export interface PhaseSums {
  pre: number;
  queue: number;
  input: number;
  infer: number;
  child: number;
  between: number;
  output: number;
  post: number;
}

export function noPhases(): PhaseSums {
  return { pre: 0, queue: 0, input: 0, infer: 0, child: 0, between: 0, output: 0, post: 0 };
}
