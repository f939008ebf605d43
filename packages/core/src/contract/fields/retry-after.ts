const SECOND_MS = 1_000
const DAY_MS = 86_400 * SECOND_MS

/**
 * The delay of `Retry-After` (seconds or a date, RFC 9110 section 10.2.3) in milliseconds, from 0 to 24 h. Null if the
 * header is missing, repeated or malformed. The names in `headers` must be lower-case.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  now_ms: number,
): number | null {
  const field = headers['retry-after']
  const text = typeof field === 'string' ? field.trim() : ''
  const wait_ms = /^\d{1,30}$/.test(text) ? Number(text) * SECOND_MS : httpDateMs(text) - now_ms
  return Number.isNaN(wait_ms) ? null : Math.min(Math.max(0, wait_ms), DAY_MS)
}

/** The three formats of RFC 9110 section 5.6.7; asctime has no zone and means GMT. NaN for any other text. */
function httpDateMs(text: string): number {
  if (/^[A-Z][a-z]{2,8}, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/.test(text)) {
    return Date.parse(text)
  }
  const is_asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text)
  return is_asctime ? Date.parse(`${text} GMT`) : Number.NaN
}
