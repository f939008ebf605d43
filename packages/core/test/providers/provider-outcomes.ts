import { expect } from 'vitest'
import type { Outcome } from '../../src/contract/outside/provider.ts'
import type { PeerMessage } from './provider-harness.ts'

/** Outcomes cross a thread border and are stored. */
export function expectWellFormed(outcome: Outcome): void {
  expect(structuredClone(outcome)).toEqual(outcome)
  if (outcome.type === 'accepted') {
    const { provider_message_id: id } = outcome
    if (id !== null) expect(id).toMatch(/^[\x21-\x7e]{1,256}$/)
    return
  }
  expect(outcome.error_code).toMatch(/^[\x21-\x7e]{1,100}$/)
  expect(outcome.error_message).toMatch(/^[^\p{Cc}]{1,500}$/u)
  if (outcome.type === 'retry' && outcome.delay_ms !== null) {
    expect(outcome.delay_ms).toBeGreaterThanOrEqual(0)
    expect(outcome.delay_ms).toBeLessThanOrEqual(86_400_000)
  }
}

/** Nothing that was sent, and no secret, is told on. */
export function expectNothingTold(told: unknown, canaries: readonly string[]): void {
  const text = JSON.stringify(told)
  for (const canary of canaries) expect(text).not.toContain(canary)
}

/** Never is a message given up or sent again that the peer took, and never is one taken that it did not take. */
export function expectTrue(outcome: Outcome, seen: readonly PeerMessage[]): void {
  const [only, ...others] = seen
  // What was sent twice is judged by the tests that do so.
  if (!only || others.length > 0) return
  const { accepted, provider_message_id } = only
  if (accepted) expect(['accepted', 'ambiguous']).toContain(outcome.type)
  else expect(outcome.type).not.toBe('accepted')
  if (outcome.type === 'accepted') expect(outcome.provider_message_id).toBe(provider_message_id)
}
