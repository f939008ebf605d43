import { expect, it } from 'vitest'
import { VERIFY_TOKEN } from '../../../core/test/providers/whatsapp-cloud/peer.ts'
import { verificationCall } from '../../../core/test/providers/whatsapp-cloud/webhooks.ts'
import { carries, openCarriage } from './carriage.contract.ts'
import { openMeta } from './meta-carrier.ts'
import { CANARY } from './service.ts'

carries('WhatsApp Cloud', {
  channel: 'whatsapp',
  price: 0.5,
  senders: 'Invalid sender. Must be one of: +15550783881, +15550783882',
  open: () => openMeta(),
})

it('answers the verification request of Meta, and of no other client', async () => {
  const stage = await openCarriage(() => openMeta())
  const { service, tenant, peer } = stage
  const content = { text: CANARY }
  await service.accepted(tenant.key, { to: peer.recipient(), channel: 'whatsapp', content })
  const verification = verificationCall(VERIFY_TOKEN, { challenge: '4711' })
  expect(await service.called(verification)).toEqual({ status: 200, text: '4711' })
  expect(await service.called(verificationCall('guessed-by-somebody'))).toMatchObject({
    status: 403,
  })
  await stage.close()
})
