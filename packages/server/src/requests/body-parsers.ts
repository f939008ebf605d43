import { LIMITS } from '@svc/core/contract'
import { readContactsCsv } from '@svc/core/operate'
import type { FastifyInstance } from 'fastify'

/** Lets the routes of `scope` take a body of any type as exact bytes, because its signature covers these bytes. */
export function acceptRaw(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, bytes, done) => {
    done(null, bytes)
  })
}

/** Lets the routes of `scope` also take contacts as CSV, which are parsed to the same value as JSON. */
export function acceptCsv(scope: FastifyInstance): void {
  scope.addContentTypeParser<Buffer>(
    'text/csv',
    { parseAs: 'buffer' },
    async (_request: unknown, bytes: Buffer) => ({
      contacts: await readContactsCsv(bytes, { rows_max: LIMITS.contact_import_rows }),
    }),
  )
}
