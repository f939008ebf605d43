import { SvcError } from '../../contract/errors.ts'
import type { MessageClaim } from '../storage.ts'
import type { Engine } from './engine.ts'
import type { Query } from './query.ts'

/** What the engine's thread is asked. Each call has an id and gets one answer. */
export type Call = { id: number } & (
  | { type: 'open' }
  | {
      type: 'verb'
      name: Exclude<keyof Engine, 'claimMessages' | 'transaction'>
      argument: unknown
    }
  | { type: 'claimMessages'; claim: Omit<MessageClaim, 'providerOf'>; routes: Routes }
  /** Answered with the transaction's number once the writer is free for it. */
  | { type: 'begin' }
  | {
      type: 'query'
      transaction: number
      text: string
      parameters: unknown[]
      method: Parameters<Query>[2]
    }
  /** Answered after the commit, or the roll-back. */
  | { type: 'end'; transaction: number; commit: boolean }
)

export type Answer =
  | { type: 'value'; id: number; value: unknown }
  | { type: 'error'; id: number; error: PlainError }
  /** The database failed for good. */
  | { type: 'failure'; error: PlainError }

/** Provider by `channel livemode`. */
export type Routes = Record<string, string>

/** An error as it crosses the border: a class would be lost on the way. */
export interface PlainError {
  name: string
  message: string
  stack: string | undefined
  code: unknown
  retry_after_s: number | undefined
}

export function plainOf(thrown: unknown): PlainError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { name, message, stack } = error
  const { code, retry_after_s } = error as { code?: unknown; retry_after_s?: number }
  return { name, message, stack, code, retry_after_s }
}

export function errorFrom({ name, message, stack, code, retry_after_s }: PlainError): Error {
  if (name === 'SvcError') {
    return new SvcError(code as SvcError['code'], message, { retry_after_s })
  }
  return Object.assign(new Error(message), { name, stack, code })
}
