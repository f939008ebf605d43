import { type Pdu, readMessageId, SUBMIT_SM_RESP } from './pdu.ts'
import { STATUS } from './status-table.ts'

/** What became of a PDU that was written. */
export type Answer =
  | { type: 'answered'; status: number; message_id: string }
  | { type: 'unanswered'; reason: string }

/** Called once; and once more where the answer comes after it was given up. */
export type OnAnswer = (answer: Answer) => void

/** How many answers that are overdue are still recognised. */
const LATE_MAX = 10_000
const SEQUENCE_MAX = 0x7fff_ffff

/**
 * The submissions of one connection that wait for their answers. Sequence numbers count up from `first`, and round again from 1
 * (SMPP 3.4 section 3.2); none is given anew while its answer may still come.
 */
export function createOutstanding(response_ms: number, first = 1) {
  /** In the order of their deadlines: all have the same time. */
  const waiting = new Map<number, { answered: OnAnswer; deadline: number }>()
  const late = new Map<number, OnAnswer>()
  let next = first

  return {
    size: () => waiting.size,
    nextSequence(): number {
      while (waiting.has(next) || late.has(next)) next = after(next)
      const sequence = next
      next = after(next)
      return sequence
    },
    add(sequence: number, answered: OnAnswer): void {
      waiting.set(sequence, { answered, deadline: performance.now() + response_ms })
    },
    /** Hands an answer to whoever waits for it, if anybody does. */
    settle(pdu: Pdu): boolean {
      const answered = waiting.get(pdu.sequence)?.answered ?? late.get(pdu.sequence)
      if (!answered) return false
      waiting.delete(pdu.sequence)
      late.delete(pdu.sequence)
      answered(answerOf(pdu))
      return true
    },
    /** Gives up what should have been answered by `now`. Whether there was any. */
    giveUpOverdue(now: number): boolean {
      let isAny = false
      for (const [sequence, { answered, deadline }] of waiting) {
        if (deadline > now) break
        isAny = true
        waiting.delete(sequence)
        late.set(sequence, answered)
        if (late.size > LATE_MAX) late.delete(late.keys().next().value as number)
        answered({ type: 'unanswered', reason: 'no answer in time' })
      }
      return isAny
    },
    /** Nothing will be answered any more. */
    giveUpAll(reason: string): void {
      const all = [...waiting.values()]
      waiting.clear()
      late.clear()
      for (const { answered } of all) answered({ type: 'unanswered', reason })
    },
  }
}

function after(sequence: number): number {
  return sequence === SEQUENCE_MAX ? 1 : sequence + 1
}

function answerOf({ command, status, body }: Pdu): Answer {
  // A nack without a reason, or the answer to something else: whether it has the message is not said.
  if (status === STATUS.ok && command !== SUBMIT_SM_RESP) {
    return { type: 'unanswered', reason: 'an answer to something else' }
  }
  return { type: 'answered', status, message_id: status === STATUS.ok ? readMessageId(body) : '' }
}
