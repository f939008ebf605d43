import type { ReceiptOptions } from './smsc-receipt.ts'
import { STATUS } from './smsc-status.ts'

type Plain =
  /** ESME_RTHROTTLED, ESME_RSYSERR, ESME_RMSGQFUL: not accepted. */
  | 'throttle'
  | 'system_error'
  | 'queue_full'
  /** Accepted, and never answered. */
  | 'no_response'
  /** Accepted; the answer waits for `release()`. */
  | 'hold'
  /** Accepted; the connection breaks before the answer. */
  | 'drop_after_read'
  /** Not accepted; the connection breaks. */
  | 'drop_before_read'
  /** Not accepted and not answered: the SMSC unbinds. */
  | 'unbind'
  /** Not accepted; the answer is a generic_nack. */
  | 'nack'

/** What the SMSC does with a submit_sm, in place of accepting and answering it. */
export type Behaviour =
  | Plain
  /** Not accepted; the answer has this command_status. */
  | { type: 'reject'; code: number }
  /** Accepted; the answer comes after `ms` milliseconds. */
  | { type: 'respond_late'; ms: number }
  /** Accepted; the receipt comes before the answer. */
  | { type: 'early_receipt'; state: string; options?: ReceiptOptions }

/** What the SMSC does with a bind, in place of checking it: a refusal, silence, or a broken connection. */
export type BindBehaviour =
  | 'password'
  | 'system_id'
  | 'already_bound'
  | 'bind_failed'
  | 'no_response'
  | 'drop'

/** The command_status with which a submit_sm is refused; null if it is accepted. */
export function refusalOf(behaviour: Behaviour): number | null {
  if (behaviour === 'throttle') return STATUS.throttled
  if (behaviour === 'system_error') return STATUS.system_error
  if (behaviour === 'queue_full') return STATUS.queue_full
  return typeof behaviour === 'object' && behaviour.type === 'reject' ? behaviour.code : null
}

export const BIND_REFUSALS: Readonly<Record<string, number>> = {
  password: STATUS.invalid_password,
  system_id: STATUS.invalid_system_id,
  already_bound: STATUS.already_bound,
  bind_failed: STATUS.bind_failed,
}

/** The behaviours for the next requests, in order; an entry may count for several, also for `Infinity`. */
export function createScript<B>() {
  let entries: { behaviour: B; times: number }[] = []
  return {
    next(behaviour: B, times = 1): void {
      entries.push({ behaviour, times })
    },
    take(): B | null {
      const [first] = entries
      if (!first) return null
      first.times -= 1
      if (first.times < 1) entries.shift()
      return first.behaviour
    },
    clear(): void {
      entries = []
    },
  }
}
