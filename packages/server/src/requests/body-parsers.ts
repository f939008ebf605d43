import { isUtf8 } from 'node:buffer'
import { type Awaitable, malformedJson, readJson, readJsonWithFiles } from '@svc/core/operate'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Lets the routes of `scope` take a body of any type as exact bytes, because its signature covers these bytes. */
export function acceptRaw(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, bytes, done) => {
    done(null, bytes)
  })
}

/** The body of a request with a CSV file. */
export class CsvBody {
  readonly bytes: Uint8Array
  /** The encoding that the request names. */
  readonly charset: string | undefined

  constructor(bytes: Uint8Array, charset: string | undefined) {
    this.bytes = bytes
    this.charset = charset
  }
}

const CHARSET = /;\s*charset="?([^\s;"]+)/i

/** Lets the routes of `scope` also take a CSV file; its bytes are read by the handler. */
export function acceptCsv(scope: FastifyInstance): void {
  const read = (
    request: FastifyRequest,
    bytes: Buffer,
    done: (error: null, body: CsvBody) => void,
  ) => done(null, new CsvBody(bytes, CHARSET.exec(request.headers['content-type'] ?? '')?.[1]))
  for (const type of ['text/csv', 'text/tab-separated-values']) {
    scope.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, read)
  }
}

/** Bodies up to this size are read as a whole: they are parsed within a few milliseconds. */
const PLAIN_BYTES_MAX = 128 * 1024

/**
 * The parser of the API's bodies: JSON in UTF-8, at most 16 levels deep, without texts that a database cannot store.
 * Fastify's own parser has no limit of depth and drops `__proto__` keys, which are ordinary keys here. For an endpoint that
 * takes files, the large files are no texts.
 */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    ({ routeOptions }, bytes, done) => {
      try {
        const value = parse(bytes, routeOptions.config.endpoint?.takes_files === true)
        if (!(value instanceof Promise)) return done(null, value)
        value.then((read) => done(null, read), done)
      } catch (error) {
        done(error as Error)
      }
    },
  )
}

function parse(bytes: Buffer, takesFiles: boolean): Awaitable<unknown> {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw malformedJson('it is not UTF-8')
  // Some clients begin with a byte order mark, which a parser may ignore (RFC 8259, section 8.1).
  const plain = bytes[0] === 0xef ? bytes.subarray(3) : bytes
  if (takesFiles && bytes.length > PLAIN_BYTES_MAX) return readJsonWithFiles(plain)
  return readJson(plain.toString('utf8'))
}
