import { expect } from 'vitest'
import type { Outcome } from '../../src/contract/outside/provider.ts'
import type { PeerMessage } from './provider-harness.ts'

/** Outcomes are sent to other threads and stored. */
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

/** The value contains no content of a request and no secret. */
export function expectNoLeak(value: unknown, canaries: readonly string[]): void {
  const text = JSON.stringify(value)
  for (const canary of canaries) expect(text).not.toContain(canary)
}

/** A message that the peer accepted never expires and is never sent again; one that it refused is never reported as accepted. */
export function expectTrue(outcome: Outcome, seen: readonly PeerMessage[]): void {
  const [only, ...others] = seen
  // Tests that send a message twice check it themselves.
  if (!only || others.length > 0) return
  const { accepted, provider_message_id } = only
  if (accepted) expect(['accepted', 'ambiguous']).toContain(outcome.type)
  else expect(outcome.type).not.toBe('accepted')
  if (outcome.type === 'accepted') expect(outcome.provider_message_id).toBe(provider_message_id)
}
