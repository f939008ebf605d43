import * as z from 'zod'
import type { ErrorCode, ErrorDetail, SvcError } from '../errors.ts'
import { ERRORS } from '../errors.ts'

/** The body of every success. Source: interface, Response envelope. */
export interface Success<T> {
  success: true
  data: T
}

/** The body of every failure. Source: interface, Errors; contract section 1. */
export interface Failure {
  success: false
  error: ErrorCode
  message: string
  details?: ErrorDetail[]
}

/** Wraps an encoded answer. */
export function success<T>(data: T): Success<T> {
  return { success: true, data }
}

/** The body for an error, without its cause. */
export function failure({ code, message, details }: SvcError): Failure {
  return { success: false, error: code, message, ...(details && { details }) }
}

/** The schema of `Failure`. */
export const failureEnvelope = z
  .object({
    success: z.literal(false),
    error: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    details: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .meta({
        description:
          'With every `validation_error`: all faults of the request; the first is also the message.',
      }),
  })
  .meta({ id: 'Error' })
