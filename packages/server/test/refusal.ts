import type { ErrorCode } from '@svc/core/contract'

/** The body of a refusal; with `path`, of one with a single fault there, as every `validation_error` has. */
export function refusal(error: 'validation_error', message: string, path: string): object
export function refusal(error: Exclude<ErrorCode, 'validation_error'>, message: string): object
export function refusal(error: ErrorCode, message: string, path?: string): object {
  const details = path === undefined ? {} : { details: [{ path, message }] }
  return { success: false, error, message, ...details }
}
