import type { ErrorCode } from '@svc/core/contract'

/** The body of a refusal; with `path`, of one that names a single fault there. */
export function refusal(error: ErrorCode, message: string, path?: string): object {
  const details = path === undefined ? {} : { details: [{ path, message }] }
  return { success: false, error, message, ...details }
}
