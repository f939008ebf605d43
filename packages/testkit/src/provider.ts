/**
 * The contract suite of providers: `providerContract(name, { describe, it }, harness)` registers its tests with vitest, jest
 * or `node:test`; `providerCases(harness)` returns them as functions.
 */
export {
  providerCases,
  providerContract,
  type TestRunner,
} from './provider/cases.ts'
export {
  DEADLINES_MS,
  type Fate,
  type PeerMessage,
  type ProviderBench,
  type ProviderHarness,
  type Refusal,
} from './provider/harness.ts'
export type { ProviderCase } from './provider/stage.ts'
