// Uses the client against a running service, in Node and Bun: each check throws when it fails.
import {
  ConnectionError,
  createMemoryStore,
  InsufficientCreditsError,
  Svc,
  unwrapWebhook,
  ValidationError,
  WebhookVerificationError,
  webhookHandler,
} from '@svc/client'

const { SVC_URL, SVC_API_KEY, SVC_WEBHOOK_SECRET, SVC_DELIVERY } = process.env

function check(isTrue, what) {
  if (!isTrue) throw new Error(`failed: ${what}`)
}

/** The error of a call that must fail. */
async function errorOf(call) {
  return call.then(
    () => null,
    (error) => error,
  )
}

const svc = new Svc()
const sms = (to) => ({ channel: 'sms', to, content: { text: 'Hello' } })
const started = new Date()

const first = await svc.messages.send(sms('+15005550006')).withResponse()
check(first.response.status === 201 && first.requestId, 'a send gives its response')
for (let n = 0; n < 4; n++) await svc.messages.send(sms('+15005550006'))
const message = await svc.messages.wait(first.data.message_id, { timeout: 20_000 })
check(message.status === 'delivered', 'a message is delivered')

const ids = new Set()
for await (const { id } of svc.messages.list({ limit: 2, startDate: started })) ids.add(id)
check(ids.size === 5 && ids.has(message.id), `a loop gives 5 messages, got ${ids.size}`)

const repeated = { idempotencyKey: `repeat-${started.getTime()}` }
const [one, other] = [
  await svc.messages.send(sms('+15005550006'), repeated),
  await svc.messages.send(sms('+15005550006'), repeated),
]
check(one.message_id === other.message_id, 'a repeated key sends one message')

const recipients = Array.from({ length: 5 }, (_, n) => `+1415555010${n}`)
const body = { channel: 'sms', content: { text: 'Hi' }, recipients }
let accepted = 0
for await (const chunk of svc.bulks.sendAll(body, { chunkSize: 2 })) {
  accepted += chunk.bulk?.accepted ?? 0
}
check(accepted === 5, 'a bulk is sent in chunks')

const invalid = await errorOf(svc.messages.send(sms('0049')))
check(invalid instanceof ValidationError && invalid.details[0].path === 'to', 'a fault is named')
const poor = await errorOf(
  svc.bulks.send({
    ...body,
    recipients: Array.from({ length: 500 }, (_, n) => `+1415556${1000 + n}`),
  }),
)
check(poor instanceof InsufficientCreditsError && poor.required === 500, 'credits are missing')
const away = new Svc({ baseUrl: 'http://127.0.0.1:9', apiKey: SVC_API_KEY, maxRetries: 0 })
const unreachable = await errorOf(away.messages.list())
check(unreachable instanceof ConnectionError, `no service answers: ${unreachable}`)
check(!String(unreachable.stack).includes(SVC_API_KEY), 'an error has no key')

const { headers, body: raw } = JSON.parse(SVC_DELIVERY)
const event = await unwrapWebhook(raw, headers, SVC_WEBHOOK_SECRET)
check(event.event === 'message.delivered' && event.event_id, 'a delivery is verified')
const forged = await errorOf(unwrapWebhook(`${raw} `, headers, SVC_WEBHOOK_SECRET))
check(forged instanceof WebhookVerificationError, 'a forged delivery is refused')

const handled = []
const hooks = webhookHandler({
  secret: async () => SVC_WEBHOOK_SECRET,
  dedupe: createMemoryStore(),
  on: { 'message.delivered': ({ data }) => void handled.push(data.message_id) },
})
const post = (text) =>
  new Request('https://app.example.com/', { method: 'POST', headers, body: text })
const statuses = []
for (const text of [raw, raw, `${raw} `]) statuses.push((await hooks.fetch(post(text))).status)
check(statuses.join() === '200,200,403', `the handler answers ${statuses}`)
check(handled.join() === event.data.message_id, 'the handler handles an event once')
console.log(`ok ${SVC_URL}`)
