import { describe, it } from 'node:test'
import { providerContract } from '@svc/testkit/provider'
import acme from './acme.js'
import { FATES, signed, startAcme } from './peer.js'

const SETTINGS = {
  api_key: 'acme-key',
  report_secret: 'acme-report-secret',
  sender: '+14155550190',
}
const CONTEXT = {
  public_url: 'https://svc.test',
  callback_url: 'https://svc.test/callbacks/acme',
  secret: 'service-secret',
}

/** Opens a provider and its peer, for one test of the suite. */
async function open(timeout_ms) {
  const fates = new Map()
  const peer = await startAcme({ api_key: SETTINGS.api_key, fates })
  const signedRequest = (body) => ({
    method: 'POST',
    url: CONTEXT.callback_url,
    headers: signed(body, SETTINGS.report_secret),
    body,
  })
  return {
    provider: acme({ ...SETTINGS, url: peer.url, timeout_ms }).open(CONTEXT),
    secrets: [SETTINGS.api_key, SETTINGS.report_secret, CONTEXT.secret],
    recipient(fate) {
      const recipient = `+1415555${1000 + fates.size}`
      fates.set(recipient, fate)
      return recipient
    },
    peer: {
      seen: () =>
        peer.messages.map(({ to, id, identity, accepted }) => ({
          recipient: to,
          accepted,
          identity,
          provider_message_id: id,
        })),
      async turn(refusal) {
        if (refusal === 'refuse_connection') peer.stop()
        else peer.changeKey()
      },
    },
    callbacks: {
      of({ workspace_id, message_id, provider_message_id: id }, status) {
        const report = { reference: `${workspace_id} ${message_id}`, id, status }
        return signedRequest(Buffer.from(JSON.stringify(report)))
      },
      signed: signedRequest,
    },
    close: async () => peer.stop(),
  }
}

providerContract(
  'acme',
  { describe, it },
  {
    channel: 'sms',
    traits: acme(SETTINGS).traits,
    fates: FATES,
    refusals: ['refuse_connection', 'bad_credentials'],
    identifies: true,
    callbacks: { signs_body: true },
    open,
  },
)
