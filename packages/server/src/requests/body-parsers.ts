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
