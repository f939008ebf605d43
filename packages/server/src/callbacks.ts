import type { CallbackReading, Core } from '@svc/core'
import { invalid, SvcError } from '@svc/core/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission } from './admission.ts'
import { keepRaw } from './raw-body.ts'

/** More than any provider sends at once; Meta's batches come to 3 MB at the most. */
const BODY_BYTES = 4 * 1024 * 1024

/**
 * What providers call: receipts, what recipients wrote, and the questions by which they make sure of us. Never refused
 * for load or by a limit, because many providers do not ask twice; who signs wrongly counts as a stranger.
 */
export function serveCallbacks(
  app: FastifyInstance,
  admission: Admission,
  { providers }: Core,
  { public_url }: { public_url: () => string },
): void {
  app.register(async (scope) => {
    keepRaw(scope)
    for (const method of ['GET', 'POST'] as const) {
      scope.route({
        method,
        url: '/callbacks/:provider',
        config: { page: 'exempt' },
        bodyLimit: BODY_BYTES,
        onRequest: (request, reply) => admission.admitVisitor('exempt', request, reply),
        handler: async (request, reply) => {
          const { provider } = request.params as { provider: string }
          const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
          const url = public_url() + request.originalUrl
          const headers = plainHeaders(request)
          const reading = await admission.during(() =>
            providers.callback(provider, { method, url, headers, body }),
          )
          if (reading.type === 'forged') await admission.noteBadSignature(request, reply)
          return answer(reading, reply)
        },
      })
    }
  })
}

function answer(reading: CallbackReading, reply: FastifyReply): FastifyReply {
  switch (reading.type) {
    case 'forged':
      throw new SvcError('forbidden', 'The signature does not match')
    case 'unreadable':
      throw invalid('', `The callback could not be read: ${reading.reason}`)
    case 'read':
      return reading.answer
        ? reply.type(reading.answer.content_type).send(reading.answer.body)
        : reply.code(200).send()
  }
}

/** A header that came twice is as good as none to whoever checks a signature. */
function plainHeaders({ headers }: FastifyRequest): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : undefined,
    ]),
  )
}
