import { readContactsCsv } from '@svc/core'
import { LIMITS } from '@svc/core/contract'
import type { FastifyInstance } from 'fastify'

/** Lets the routes of `scope` take contacts as CSV too, which then stand for the same JSON. */
export function acceptCsv(scope: FastifyInstance): void {
  scope.addContentTypeParser<Buffer>(
    'text/csv',
    { parseAs: 'buffer' },
    async (_request: unknown, bytes: Buffer) => ({
      contacts: await readContactsCsv(bytes, { rows_max: LIMITS.contact_import_rows }),
    }),
  )
}
