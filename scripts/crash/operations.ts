import type { Random } from './random.ts'
import { RECIPIENTS, type Recipient, SLOW } from './recipients.ts'

/** What the caller of one request knows: accepted, refused, or nothing, since no answer came, or one that owns up to it. */
export type Try =
  | { outcome: 'ok'; message_id: string; replayed: boolean }
  | { outcome: 'fail'; status: number; text: string }
  | { outcome: 'info'; status?: number; text?: string }

/** One wish to send a message, and what came of every try. The log of these lies outside the service. */
export interface Operation {
  /** Unique; travels in the message's metadata. */
  number: number
  account: number
  mode: 'live' | 'test'
  recipient: Recipient
  idempotency_key: string | null
  tries: Try[]
}

/** The ids that an operation's callers were told; a sound service tells one only. */
export function idsTold({ tries }: Operation): string[] {
  const ids = tries.flatMap((each) => (each.outcome === 'ok' ? [each.message_id] : []))
  return [...new Set(ids)]
}

/** Whether nobody knows if some try was carried out. */
export function isUnsure({ tries }: Operation): boolean {
  return tries.some(({ outcome }) => outcome === 'info')
}

/** Makes up what is sent. */
export interface Operations {
  /** In order of their numbers. */
  readonly all: readonly Operation[]
  next(): Operation
}

const KEYED_PERCENT = 50
const TEST_PERCENT = 10
const SLOW_EVERY = 400

/** @param slow how many messages may go to the recipient that takes 30 seconds. */
export function createOperations(
  random: Random,
  { accounts, slow }: { accounts: number; slow: number },
): Operations {
  const all: Operation[] = []
  let slowLeft = slow
  return {
    all,
    next() {
      const number = all.length
      const isSlow = slowLeft > 0 && number % SLOW_EVERY === 1
      if (isSlow) slowLeft -= 1
      const operation: Operation = {
        number,
        account: random.between(0, accounts),
        mode: random.percent(TEST_PERCENT) ? 'test' : 'live',
        recipient: isSlow ? SLOW : random.pick(RECIPIENTS),
        idempotency_key: random.percent(KEYED_PERCENT) ? `key-${number}` : null,
        tries: [],
      }
      all.push(operation)
      return operation
    },
  }
}
