import { ACCEPTING } from './conformance-accepting.ts'
import type { Check } from './conformance-check.ts'
import { REFUSING } from './conformance-refusing.ts'
import { REPEATING } from './conformance-repeating.ts'

const ALL = [...ACCEPTING, ...REPEATING, ...REFUSING]

/** Every check in the order of the run. The gates come first, because the others depend on them. */
export const CHECKS: readonly Check[] = [
  ...ALL.filter(({ is_gate }) => is_gate),
  ...ALL.filter(({ is_gate }) => !is_gate),
]
