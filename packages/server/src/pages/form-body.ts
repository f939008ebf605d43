import { checkValue, invalid } from '@svc/core/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isDecodable } from '../routes/mount.ts'

/** Lets the routes of `app` take only forms; the body is an object of their fields as texts. */
export function acceptForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: FastifyRequest, text: string) => {
      if (!isDecodable(text)) {
        throw invalid('', 'The form must be percent-encoded UTF-8')
      }
      const fields = Object.fromEntries(new URLSearchParams(text))
      checkValue(fields)
      return fields
    },
  )
}
