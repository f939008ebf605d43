import type { Random } from '../stage/random.ts'
import { codeTo, RECIPIENTS, type Recipient, SLOW } from './recipients.ts'

/**
 * The result of one request for its caller: accepted, refused, or unknown (no answer, or an answer that leaves it
 * open).
 */
export type Try =
  | { outcome: 'ok'; message_id: string; replayed: boolean }
  | { outcome: 'fail'; status: number; text: string }
  | { outcome: 'info'; status?: number; text?: string }

/** One message to send, and the results of all tries. The log of operations is outside the service. */
export interface Operation {
  /** Unique; is in the message's metadata. */
  number: number
  account: number
  mode: 'live' | 'test'
  /** Where its requests go: to the API, as mails to the SMTP inlet, or as starts of one-time codes to the API. */
  door: 'api' | 'smtp' | 'codes'
  recipient: Recipient
  idempotency_key: string | null
  tries: Try[]
}

/** The ids in the answers of an operation; a correct service returns only one. */
export function idsAnswered({ tries }: Operation): string[] {
  const ids = tries.flatMap((each) => (each.outcome === 'ok' ? [each.message_id] : []))
  return [...new Set(ids)]
}

/** Whether the effect of some try is unknown. */
export function isUnsure({ tries }: Operation): boolean {
  return tries.some(({ outcome }) => outcome === 'info')
}

/** Generates operations. */
export interface Operations {
  /** In the order of their numbers. */
  readonly all: readonly Operation[]
  next(): Operation
}

const KEYED_PERCENT = 50
const TEST_PERCENT = 10
const SLOW_EVERY = 400

/**
 * @param slow the maximum of messages to the recipient that takes 30 seconds.
 * @param mails_percent the share of the operations that are mails; default: none.
 * @param codes_every one of so many operations starts a one-time code; default: none.
 */
export function createOperations(
  random: Random,
  {
    accounts,
    slow,
    mails_percent = 0,
    codes_every = 0,
  }: { accounts: number; slow: number; mails_percent?: number; codes_every?: number },
): Operations {
  const all: Operation[] = []
  let slowLeft = slow
  return {
    all,
    next() {
      const number = all.length
      const isSlow = slowLeft > 0 && number % SLOW_EVERY === 1
      if (isSlow) slowLeft -= 1
      const isCode = codes_every > 0 && number % codes_every === 2
      const operation: Operation = {
        number,
        account: random.between(0, accounts),
        mode: random.percent(TEST_PERCENT) ? 'test' : 'live',
        door: mails_percent > 0 && random.percent(mails_percent) ? 'smtp' : 'api',
        recipient: isSlow ? SLOW : random.pick(RECIPIENTS),
        idempotency_key: random.percent(KEYED_PERCENT) ? `key-${number}` : null,
        tries: [],
      }
      if (isCode && !isSlow) Object.assign(operation, { door: 'codes', recipient: codeTo(number) })
      all.push(operation)
      return operation
    },
  }
}
