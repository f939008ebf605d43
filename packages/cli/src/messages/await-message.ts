import type { Message, Svc } from '@svc/client'
import { pause, retryAfterMs } from '../connect/polling.ts'
import { isFinal, type Step, stepsOf } from './message-steps.ts'

/** Polling becomes slower, so that one minute uses about 20 of the 100 requests of the rate limit. */
const FIRST_POLL_MS = 200
const POLL_MAX_MS = 3_000

/**
 * Polls a message until its status is final or the time is up, and reports each status once, in order. Returns the last
 * state of the message.
 */
export async function awaitMessage(
  client: Svc,
  id: string,
  { timeout_ms, onStep }: { timeout_ms: number; onStep: (step: Step) => void },
): Promise<Message> {
  const deadline = Date.now() + timeout_ms
  const reported = new Set<string>()
  let wait_ms = FIRST_POLL_MS
  for (;;) {
    const message = await poll(client, id, deadline)
    for (const step of stepsOf(message)) {
      if (reported.has(step.status)) continue
      reported.add(step.status)
      onStep(step)
    }
    const remaining_ms = deadline - Date.now()
    if (isFinal(message) || remaining_ms <= 0) return message
    await pause(Math.min(wait_ms, remaining_ms))
    wait_ms = Math.min(wait_ms * 2, POLL_MAX_MS)
  }
}

/** Polls once. It waits until a rate limit ends if the deadline allows it. */
async function poll(client: Svc, id: string, deadline: number): Promise<Message> {
  for (;;) {
    try {
      return (await client.messages.get(id)).message
    } catch (error) {
      const wait_ms = retryAfterMs(error)
      if (wait_ms === null || Date.now() + wait_ms > deadline) throw error
      await pause(wait_ms)
    }
  }
}
