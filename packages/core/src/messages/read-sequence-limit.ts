import { SEQUENCE_LIMITS, type SequenceLimit } from './sequence-detector.ts'

/**
 * Reads a limit for sends to numbers in sequence.
 *
 * @example readSequenceLimit('10/60') // { max: 10, window_s: 60 }
 * @throws RangeError for a text of another form, and for numbers that it cannot be.
 */
export function readSequenceLimit(text: string): SequenceLimit {
  const { max: counts, window_s: windows } = SEQUENCE_LIMITS
  const [, count, seconds] = /^(\d{1,5})\/(\d{1,5})$/.exec(text) ?? []
  const limit = { max: Number(count), window_s: Number(seconds) }
  if (isWithin(limit.max, counts) && isWithin(limit.window_s, windows)) return limit
  throw new RangeError(
    `${counts.join(' to ')} numbers/${windows.join(' to ')} seconds, for example 10/60, got "${text}"`,
  )
}

function isWithin(value: number, [least, most]: readonly [number, number]): boolean {
  return value >= least && value <= most
}
