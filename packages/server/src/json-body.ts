import { isUtf8 } from 'node:buffer'
import { checkValue, invalid, jsonDepthWithin, LIMITS, type SvcError } from '@svc/core/contract'
import type { FastifyInstance } from 'fastify'

/** What may be a number that JavaScript takes for infinite, which JSON cannot say again. */
const VAST_NUMBER = /[eE]\+?\d{3}|\d{309}/

/**
 * The one body the API takes: JSON, in UTF-8, at most 16 deep, free of texts that no database keeps. A parser of our
 * own, because the framework's has no depth and drops `__proto__` keys, which here are plain keys.
 */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    (_request, bytes, done) => {
      try {
        done(null, parse(bytes))
      } catch (error) {
        done(error as Error)
      }
    },
  )
}

function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw malformed('it is not UTF-8')
  const text = bytes.toString('utf8')
  // Before parsing: a value nested 500,000 deep parses, and then breaks whatever walks it.
  if (!jsonDepthWithin(text, LIMITS.json_depth)) {
    throw invalid('', `JSON must be at most ${LIMITS.json_depth} levels deep`)
  }
  const value = parseJson(text)
  // NUL and lone surrogates can only come as escapes, numbers past all bounds with many digits.
  if (text.includes('\\u') || VAST_NUMBER.test(text)) checkValue(value)
  return value
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed('it could not be parsed')
  }
}

function malformed(why: string): SvcError {
  return invalid('', `Request body must be valid JSON: ${why}`)
}
