import {
  type Fate,
  type PeerMessage,
  type ProviderBench,
  providerContract,
} from '@svc/testkit/provider'
import { describe, it } from 'vitest'
import { isRecord } from '../../../src/contract/fields/fields.ts'
import { createProviderClient } from '../../../src/providers/http-client.ts'
import { whatsappCloudType } from '../../../src/providers/whatsapp-cloud/type.ts'
import { openWhatsappCloud } from '../../../src/providers/whatsapp-cloud/whatsapp-cloud.ts'
import { APP_SECRET, type MetaFault, startMetaPeer, VERIFY_TOKEN } from './peer.ts'
import { type MetaRequest, NUMBERS } from './requests.ts'
import { notificationOf, signedCallback, statusOf, updatesOf } from './webhooks.ts'

const FAULTS: Record<Exclude<Fate, 'accept'>, MetaFault> = {
  reject: { type: 'error', status: 400, code: 131026 },
  throttle: { type: 'error', status: 400, code: 130429 },
  unavailable: { type: 'error', status: 500, code: 131000 },
  hang_after_read: 'hang_after',
  drop_after_read: 'drop_after',
}

const ACCESS_TOKEN = 'EAAcanary4712'

providerContract(
  'whatsapp_cloud',
  { describe, it },
  {
    channel: 'whatsapp',
    traits: whatsappCloudType.traits(
      whatsappCloudType.settings.parse({
        type: 'whatsapp_cloud',
        name: 'wa',
        access_token: ACCESS_TOKEN,
        app_secret: APP_SECRET,
        verify_token: VERIFY_TOKEN,
        senders: NUMBERS,
      }),
    ),
    fates: ['accept', 'reject', 'throttle', 'unavailable', 'hang_after_read', 'drop_after_read'],
    refusals: ['refuse_connection', 'bad_credentials'],
    identifies: true,
    callbacks: { signs_body: true },
    open: openBench,
  },
)

async function openBench(deadline_ms: number): Promise<ProviderBench> {
  const peer = await startMetaPeer({ access_token: ACCESS_TOKEN })
  const http = createProviderClient({ connect_ms: deadline_ms, deadline_ms })
  const provider = openWhatsappCloud(peer.settings(), { http })
  const [number] = NUMBERS
  let count = 0
  return {
    provider,
    secrets: [ACCESS_TOKEN, APP_SECRET, VERIFY_TOKEN],
    recipient(fate) {
      count += 1
      const to = `+1415555${String(count).padStart(4, '0')}`
      if (fate !== 'accept') peer.meet(to, FAULTS[fate])
      return to
    },
    peer: {
      seen: () => peer.requests.filter(({ method }) => method === 'POST').map(seenOf),
      connections: peer.connections,
      turn: async (refusal) => {
        if (refusal === 'bad_credentials') peer.revoke()
        else await peer.refuse()
      },
    },
    callbacks: {
      of({ workspace_id, message_id, provider_message_id }, status) {
        const opaque = `${workspace_id}.${message_id}`
        const message = { wamid: provider_message_id ?? 'wamid.any', to: '+14155550100', opaque }
        const update = statusOf(message, status, status === 'failed' ? { code: 131026 } : {})
        return signedCallback(APP_SECRET, notificationOf(updatesOf(number, { statuses: [update] })))
      },
      signed: (body) => signedCallback(APP_SECRET, null, { body }),
    },
    async close() {
      await http.close()
      await peer.close()
    },
  }
}

function seenOf({ body, taken }: MetaRequest): PeerMessage {
  const message: unknown = JSON.parse(body)
  const { to, biz_opaque_callback_data: identity } = isRecord(message) ? message : {}
  return {
    recipient: String(to),
    accepted: taken !== null,
    identity: typeof identity === 'string' ? identity : null,
    provider_message_id: taken?.wamid ?? null,
  }
}
