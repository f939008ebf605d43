import type { ReceiptOptions } from './smsc-receipt.ts'
import { STATUS } from './smsc-status.ts'

type Plain =
  /** ESME_RTHROTTLED, ESME_RSYSERR, ESME_RMSGQFUL: not taken. */
  | 'throttle'
  | 'system_error'
  | 'queue_full'
  /** Taken, and never answered. */
  | 'no_response'
  /** Taken; the answer waits for `release()`. */
  | 'hold'
  /** Taken; the connection breaks before the answer. */
  | 'drop_after_read'
  /** Not taken; the connection breaks. */
  | 'drop_before_read'
  /** Not taken and not answered: the SMSC unbinds. */
  | 'unbind'
  /** Not taken: a generic_nack comes. */
  | 'nack'

/** What befalls a submit_sm in place of being taken and answered. */
export type Behaviour =
  | Plain
  /** Not taken: any command_status. */
  | { type: 'reject'; code: number }
  /** Taken; the answer comes after so many milliseconds. */
  | { type: 'respond_late'; ms: number }
  /** Taken; its receipt comes before the answer. */
  | { type: 'early_receipt'; state: string; options?: ReceiptOptions }

/** What befalls a bind in place of being checked: a refusal, silence, or a broken connection. */
export type BindBehaviour =
  | 'password'
  | 'system_id'
  | 'already_bound'
  | 'bind_failed'
  | 'no_response'
  | 'drop'

/** With which command_status a submit_sm is refused; null where it is taken. */
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

/** What is to befall the next ones, in turn; an entry may hold for many, also for `Infinity`. */
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
