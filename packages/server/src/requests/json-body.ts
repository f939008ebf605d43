import { isUtf8 } from 'node:buffer'
import { type Awaitable, malformedJson, readJson } from '@svc/core/operate'
import type { FastifyInstance } from 'fastify'

/**
 * The parser of the API's bodies: JSON in UTF-8, at most 16 levels deep, without texts that a database cannot store.
 * Fastify's own parser has no limit of depth and drops `__proto__` keys, which are ordinary keys here.
 */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    (_request, bytes, done) => {
      try {
        const value = parse(bytes)
        if (!(value instanceof Promise)) return done(null, value)
        value.then((read) => done(null, read), done)
      } catch (error) {
        done(error as Error)
      }
    },
  )
}

function parse(bytes: Buffer): Awaitable<unknown> {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw malformedJson('it is not UTF-8')
  const text = bytes.toString('utf8')
  // Some clients begin with a byte order mark, which a parser may ignore (RFC 8259, section 8.1).
  return readJson(text.startsWith('\ufeff') ? text.slice(1) : text)
}
