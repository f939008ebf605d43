import type { Client, Message } from '@svc/core/contract'
import { pause, retryAfterMs } from '../connect/polling.ts'
import { isFinal, type Step, stepsOf } from './message-steps.ts'

/** The first look comes soon, later ones rarer: a minute of waiting is about twenty requests of the hundred allowed. */
const FIRST_LOOK_MS = 200
const LOOK_MAX_MS = 3_000

/**
 * Looks at a message until its status is final or the time is up, telling each status once, in order. Answers the
 * message as it was seen last.
 */
export async function awaitMessage(
  client: Client,
  id: string,
  { timeout_ms, onStep }: { timeout_ms: number; onStep: (step: Step) => void },
): Promise<Message> {
  const deadline = Date.now() + timeout_ms
  const told = new Set<string>()
  let wait_ms = FIRST_LOOK_MS
  for (;;) {
    const message = await look(client, id, deadline)
    for (const step of stepsOf(message)) {
      if (told.has(step.status)) continue
      told.add(step.status)
      onStep(step)
    }
    const left_ms = deadline - Date.now()
    if (isFinal(message) || left_ms <= 0) return message
    await pause(Math.min(wait_ms, left_ms))
    wait_ms = Math.min(wait_ms * 2, LOOK_MAX_MS)
  }
}

/** One look, which waits out a rate limit as long as there is time for it. */
async function look(client: Client, id: string, deadline: number): Promise<Message> {
  for (;;) {
    try {
      return (await client.messages.get({ id })).message
    } catch (error) {
      const wait_ms = retryAfterMs(error)
      if (wait_ms === null || Date.now() + wait_ms > deadline) throw error
      await pause(wait_ms)
    }
  }
}
