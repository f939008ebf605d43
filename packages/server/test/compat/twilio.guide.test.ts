import { readFileSync } from 'node:fs'
import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { expect, it } from 'vitest'
import { openReceiver } from '../receiver.ts'
import { useWorld } from '../world.ts'

const world = useWorld({ listen: true, dispatch: true })

const GUIDE = readFileSync(
  new URL('../../../../docs/guides/from-twilio.md', import.meta.url),
  'utf8',
)

it('the program of from-twilio.md sends', async () => {
  const owner = await world().signup()
  const { key } = await world().key(owner, { mode: 'test' })
  const program = /```js twilio\n([\s\S]*?)```/.exec(GUIDE)?.[1] ?? ''
  const body = program
    .replace(/^import .*$/m, '')
    .replace('AC…', sidOf('account', owner.id))
    .replace('svc_…', key)
    .replace('https://svc.example.com', world().url)
  const run = Object.getPrototypeOf(async () => {}).constructor('twilio', `${body}; return message`)
  expect(await run(twilio)).toMatchObject({ status: 'queued', body: 'Your order A1 is ready' })
})

it('the reply of from-twilio.md is sent', async () => {
  const text = /```xml reply\n([\s\S]*?)```/.exec(GUIDE)?.[1] ?? ''
  const receiver = await openReceiver({ text, type: 'text/xml' })
  try {
    const owner = await world().signup({ credits: 10 })
    const { id: api_key_id, key } = await world().key(owner, { signs: true })
    const json = {
      url: receiver.url,
      format: 'twilio',
      api_key_id,
      events: ['message.received'],
    }
    await world().call('POST', '/api/v1/webhooks', { token: owner.token, json })
    // This recipient of the sandbox answers.
    const send = { to: '+15005550008', channel: 'sms', content: { text: 'Hi' } }
    await world().call('POST', '/api/v1/messages/send', { key, json: send })
    await world().advance(1_000)
    const { messages } = await world().core.messages.list(owner.id, { limit: 10 })
    expect(messages.map(({ content }) => content)).toContainEqual({
      text: 'Thanks, your order is on its way.',
    })
  } finally {
    await receiver.close()
  }
})
