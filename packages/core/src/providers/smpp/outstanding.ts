import { type Pdu, readMessageId, SUBMIT_SM_RESP } from './pdu.ts'
import { STATUS } from './status-table.ts'

/** The result of a PDU that was submitted to a connection. */
export type Answer =
  | { type: 'answered'; status: number; message_id: string }
  | { type: 'unanswered'; reason: string }
  /** The PDU was taken back before it was written. */
  | { type: 'unsent'; reason: string }

/** Called once, and again if the answer comes after the timeout. */
export type OnAnswer = (answer: Answer) => void

interface Waiting {
  answered: OnAnswer
  cancel: () => boolean
  deadline: number
}

/** The maximum number of overdue answers that are still recognised. */
const LATE_MAX = 10_000
const SEQUENCE_MAX = 0x7fff_ffff

/**
 * The submissions of one connection that wait for their answers. Sequence numbers count up from `first`; the maximum
 * is followed by 1 (SMPP 3.4 section 3.2). No number is reused while its answer may still come.
 */
export function createOutstanding(response_ms: number, first = 1) {
  /** Sorted by deadline, because all submissions have the same timeout. */
  const waiting = new Map<number, Waiting>()
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
    /** `cancel` takes the PDU back; it returns false if the PDU may have been written. */
    add(sequence: number, answered: OnAnswer, cancel: () => boolean): void {
      waiting.set(sequence, { answered, cancel, deadline: performance.now() + response_ms })
    },
    /** Passes an answer to its submission. Returns false if no submission waits for it. */
    settle(pdu: Pdu): boolean {
      const answered = waiting.get(pdu.sequence)?.answered ?? late.get(pdu.sequence)
      if (!answered) return false
      waiting.delete(pdu.sequence)
      late.delete(pdu.sequence)
      answered(answerOf(pdu))
      return true
    },
    /** Ends the wait of submissions whose deadline is before `now`. Returns whether there were any. */
    giveUpOverdue(now: number): boolean {
      let isAny = false
      for (const [sequence, { answered, cancel, deadline }] of waiting) {
        if (deadline > now) break
        isAny = true
        waiting.delete(sequence)
        if (cancel()) {
          answered({ type: 'unsent', reason: 'the SMSC reads nothing' })
          continue
        }
        late.set(sequence, answered)
        if (late.size > LATE_MAX) late.delete(late.keys().next().value as number)
        answered({ type: 'unanswered', reason: 'no answer in time' })
      }
      return isAny
    },
    /** Ends the wait of the submissions that can be taken back. */
    giveUpUnsent(reason: string): void {
      for (const [sequence, { answered, cancel }] of [...waiting]) {
        if (!cancel()) continue
        waiting.delete(sequence)
        answered({ type: 'unsent', reason })
      }
    },
    /** Ends the wait of all submissions. */
    giveUpAll(reason: string): void {
      const all = [...waiting.values()]
      waiting.clear()
      late.clear()
      for (const { answered, cancel } of all) {
        answered({ type: cancel() ? 'unsent' : 'unanswered', reason })
      }
    },
  }
}

function after(sequence: number): number {
  return sequence === SEQUENCE_MAX ? 1 : sequence + 1
}

function answerOf({ command, status, body }: Pdu): Answer {
  // A nack without a reason, or the answer to another command, does not say whether the SMSC has the message.
  if (status === STATUS.ok && command !== SUBMIT_SM_RESP) {
    return { type: 'unanswered', reason: 'an answer to something else' }
  }
  return { type: 'answered', status, message_id: status === STATUS.ok ? readMessageId(body) : '' }
}
