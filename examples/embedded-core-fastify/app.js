import { closeGracefully } from '@svc/core'
import { svc } from '@svc/server'
import Fastify from 'fastify'
import { openCore, PREFIX, public_url } from './core.js'

const core = await openCore()
await core.startDispatch()

// Events of this process and of every other process on the same database, after their commit.
core.on('message.failed', ({ data }) => {
  console.log(`the SMS of booking ${data.metadata.booking_id} failed: ${data.error_code}`)
})

const app = Fastify()
// The whole HTTP API, for other programs.
await app.register(svc, { prefix: PREFIX, core, public_url })

/** The identity of the app: it is looked up for each send, so a revoked key sends nothing. */
const identify = (request) => core.apiKeys.authenticate(process.env.SVC_API_KEY, request.ip)

const booking = {
  type: 'object',
  required: ['id', 'phone', 'at'],
  properties: {
    id: { type: 'string', pattern: '^[A-Z0-9]{1,20}$' },
    phone: { type: 'string', maxLength: 20 },
    at: { type: 'string', maxLength: 40 },
  },
}

// The app itself sends without HTTP: when `send` resolves, the message is on disk.
app.post('/bookings', { schema: { body: booking } }, async (request, reply) => {
  const { id, phone, at } = request.body
  const { data } = await core.messages.send(
    await identify(request),
    {
      channel: 'sms',
      to: phone,
      content: { text: `Your table is booked: ${at}` },
      metadata: { booking_id: id },
    },
    { idempotency_key: `booking-${id}` },
  )
  return reply.code(201).send({ id, message_id: data.message_id })
})

app.get('/bookings/messages/:message_id', async (request) => {
  const { workspace_id } = await identify(request)
  const { status } = await core.messages.get(workspace_id, request.params.message_id)
  return { status }
})

app.setErrorHandler((error, _request, reply) => {
  if (error.name !== 'SvcError') return reply.send(error)
  return reply.code(error.status).send({ error: error.code, message: error.message })
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => closeGracefully(app, core))
}
console.log(await app.listen({ port: Number(process.env.PORT ?? 8080) }))
