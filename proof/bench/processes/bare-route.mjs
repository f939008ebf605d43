import { createRequire } from 'node:module'
import { answer } from '../../stage/answer.mjs'

// The fastify version of the service.
const fastify = createRequire(new URL('../../../packages/server/package.json', import.meta.url))(
  'fastify',
)

answer({
  // The framework's maximum: parses the same body and returns the same JSON, without other work.
  async start() {
    const app = fastify()
    app.post('/api/v1/messages/send', async (_request, reply) => {
      reply.code(201)
      return {
        success: true,
        data: {
          message_id: '01900000-0000-7000-8000-000000000000',
          status: 'queued',
          credits_used: 1,
          created_at: '2025-01-01T00:00:00.000Z',
        },
      }
    })
    return { url: await app.listen({ host: '127.0.0.1', port: 0 }) }
  },
})
