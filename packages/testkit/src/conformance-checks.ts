import { ACCEPTING } from './conformance-accepting.ts'
import type { Check } from './conformance-check.ts'
import { REFUSING } from './conformance-refusing.ts'
import { REPEATING } from './conformance-repeating.ts'

const ALL = [...ACCEPTING, ...REPEATING, ...REFUSING]

/** Every check in the order they run in: first the gates, in whose light the others mean something. */
export const CHECKS: readonly Check[] = [
  ...ALL.filter(({ is_gate }) => is_gate),
  ...ALL.filter(({ is_gate }) => !is_gate),
]
