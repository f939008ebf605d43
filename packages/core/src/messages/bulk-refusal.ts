import type { Data } from '../contract/endpoints/endpoint.ts'
import { SvcError } from '../contract/errors.ts'
import type { bulks as endpoints } from '../contract/resources/bulk.ts'
import type { Refused } from './bulk-reading.ts'

/** The refusal of a whole bulk for what is wrong with its recipients, all of them named. */
export function refusalOf(refused: readonly Refused[]): SvcError {
  const details = inOrder(refused).flatMap(
    (one) => one.details ?? [{ path: pathOf(one), message: textOf(one) }],
  )
  return new SvcError('validation_error', details[0]?.message ?? 'Invalid request', { details })
}

/** The refused as a bulk's answer lists them, in the order of the recipients. */
export function refusedInAnswer(
  refused: readonly Refused[],
): Data<typeof endpoints.send>['errors'] {
  return inOrder(refused).map(({ index, to, error, message }) => ({ index, to, error, message }))
}

function inOrder(refused: readonly Refused[]): Refused[] {
  return refused.toSorted((a, b) => a.index - b.index)
}

function pathOf({ index, field }: Refused): string {
  return field === '' ? `recipients.${index}` : `recipients.${index}.${field}`
}

function textOf({ error, message, field, index }: Refused): string {
  // The specification gives the text for a bad address, to the letter; where it stands is in the path.
  return error === 'invalid_recipient' && field !== 'contact_id'
    ? message
    : `recipients.${index}: ${message}`
}
