import { deepEqual } from 'node:assert'
import assert from 'node:assert/strict'
import type { Outcome } from '@svc/core/contract'
import type { PeerMessage } from './harness.ts'

const POLL_MS = 20
const POLL_MAX_MS = 10_000

/** The value is plain data. The comparison ignores prototypes: in jest, a clone has those of another realm. */
export function checkPlain(value: unknown): void {
  deepEqual(structuredClone(value), value, 'a result is plain data')
}

/** Outcomes are sent to other threads and stored. */
export function checkWellFormed(outcome: Outcome): void {
  checkPlain(outcome)
  if (outcome.type === 'accepted') {
    const { provider_message_id: id } = outcome
    if (id !== null) assert.match(id, /^[\x21-\x7e]{1,256}$/)
    return
  }
  assert.match(outcome.error_code, /^[\x21-\x7e]{1,100}$/)
  assert.match(outcome.error_message, /^[^\p{Cc}]{1,500}$/u)
  if (outcome.type === 'retry' && outcome.delay_ms !== null) {
    assert.ok(outcome.delay_ms >= 0, `delay_ms is ${outcome.delay_ms}`)
    assert.ok(outcome.delay_ms <= 86_400_000, `delay_ms is ${outcome.delay_ms}`)
  }
}

/** The value contains no content of a request and no secret. */
export function checkNoLeak(value: unknown, canaries: readonly string[]): void {
  const text = JSON.stringify(value)
  for (const canary of canaries) {
    assert.ok(!text.includes(canary), 'an outcome or a reason has a secret or a content')
  }
}

/** A message that the peer accepted never expires and is never sent again; one that it refused is never reported as accepted. */
export function checkTrue(outcome: Outcome, seen: readonly PeerMessage[]): void {
  const [only, ...others] = seen
  // Tests that send a message twice check it themselves.
  if (!only || others.length > 0) return
  const { accepted, provider_message_id } = only
  if (!accepted) {
    assert.notEqual(outcome.type, 'accepted', 'the peer refused the message')
  } else if (outcome.type !== 'accepted') {
    assert.equal(outcome.type, 'ambiguous', 'the peer accepted the message')
  } else {
    assert.equal(outcome.provider_message_id, provider_message_id)
  }
}

/** The types of the results, in order. */
export function checkTypes(results: readonly { type: string }[], types: readonly string[]): void {
  assert.deepEqual(
    results.map(({ type }) => type),
    types,
  )
}

/** Waits until `check` passes, at most 10 s; then throws its error. */
export async function eventually(check: () => Promise<void> | void): Promise<void> {
  const end = performance.now() + POLL_MAX_MS
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }
}
