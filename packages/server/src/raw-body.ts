import type { FastifyInstance } from 'fastify'

/** Lets the routes of `scope` take any body as it came, to the byte: what a signature is over. */
export function keepRaw(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, bytes, done) => {
    done(null, bytes)
  })
}
