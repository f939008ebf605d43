import { expect, it } from 'vitest'
import { jsonSettings, signedJson } from '../../../core/test/providers/http/gateway.ts'
import { idOf } from '../../../core/test/providers/http-peer.ts'
import { carries } from './carriage.contract.ts'
import { openGateway } from './gateway-carrier.ts'
import { openService, useStage } from './service.ts'

const RECEIPTS = { provider_message_id: '/id', status: '/state', statuses: { DONE: 'delivered' } }
const { auth } = jsonSettings('http://127.0.0.1').callback

carries('a gateway over HTTP', {
  channel: 'sms',
  price: 1,
  senders: 'Invalid sender. Must be one of: +15005550100',
  open: () => openGateway(),
})

const stage = useStage(async () => {
  const peer = await openGateway({ callback: { auth, receipts: RECEIPTS } })
  const service = await openService({ providers: [peer.settings], secrets: peer.secrets })
  return {
    peer,
    service,
    async close() {
      await service.close()
      await peer.close()
    },
  }
})

it('a receipt with only the gateway’s id belongs to the message with this id', async () => {
  const { peer, service } = stage()
  const { key } = await service.tenant()
  const to = peer.recipient()
  const id = await service.accepted(key, { channel: 'sms', to, content: { text: 'Hello' } })
  await service.idle()
  expect(await service.statusOf(key, id)).toBe('sent')
  const [request] = peer.sends(to)
  if (!request) throw new Error('the gateway accepted no message')
  const { status } = await service.called(signedJson({ id: idOf(request), state: 'DONE' }))
  expect(status).toBe(200)
  expect(await service.statusOf(key, id)).toBe('delivered')
})
