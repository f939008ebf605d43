import { expect, it } from 'vitest'
import { CONTENTS_PATH } from '../../../core/test/providers/twilio/peer.ts'
import { carries, openCarriage } from './carriage.contract.ts'
import { CANARY } from './service.ts'
import { openTwilio } from './twilio-carrier.ts'

carries('Twilio with SMS', {
  channel: 'sms',
  price: 1,
  senders: `Invalid sender. Must be one of: +15550100001, MG${'5'.repeat(32)}`,
  open: () => openTwilio(),
})

carries('Twilio with WhatsApp', {
  channel: 'whatsapp',
  price: 0.5,
  senders: 'Invalid sender. Must be one of: +15550100003',
  open: () => openTwilio(),
})

const SALE = `HX${'c'.repeat(32)}`

/** A send of a template that WhatsApp has rejected, and what it cost. */
async function sendRejected(settings: Parameters<typeof openTwilio>[0], answer?: object) {
  const peer = await openTwilio(settings)
  const stage = await openCarriage(async () => peer)
  const { service, tenant } = stage
  const { key } = tenant
  const approval = { name: 'sale', status: 'rejected' }
  peer.twilio.hasContents([{ sid: SALE, language: 'en', approval }])
  if (answer) peer.twilio.readsAnswer({ status: 403, body: answer }, CONTENTS_PATH)
  const balance = async () =>
    (await service.call('GET', '/api/v1/balance', { key })).body.data.credits_balance
  const before = await balance()
  const json = {
    ...{ channel: 'whatsapp', to: peer.recipient() },
    content: { template: { id: SALE, language: 'en' } },
  }
  const { status, body } = await service.call('POST', '/api/v1/messages/send', { key, json })
  const cost = before - (await balance())
  // `close` checks the log of a service that sends.
  await service.accepted(key, { ...json, content: { text: CANARY } })
  await stage.close()
  return { status, message: body.message, cost }
}

it('refuses templates that WhatsApp has not approved, before any charge', async () => {
  expect(await sendRejected({})).toEqual({
    ...{ status: 400, cost: 0 },
    message: `The WhatsApp template ${SALE} (en) has the status rejected: only approved templates can be sent. Answers within 24 hours need no approval: the operator allows such templates with check_approvals: false in the settings of the provider`,
  })
})

it.each<[string, Parameters<typeof openTwilio>[0], object | undefined]>([
  ['the settings say so', { check_approvals: false }, undefined],
  ['the key has no right to read the approvals', {}, { code: 70_051 }],
])('sends such templates if %s', async (_, settings, answer) => {
  expect(await sendRejected(settings, answer)).toMatchObject({ status: 201, cost: 0.5 })
})
