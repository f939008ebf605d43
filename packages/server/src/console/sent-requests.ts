import { endpoint, uuid } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../routes/mount.ts'

const header = z.object({ name: z.string(), value: z.string().nullable() })

/** The requests to a webhook as the receiver got them. The API shows no signatures; only people who develop see them here. */
export const sentRequestEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/api/webhooks/:id/deliveries/:delivery_id/requests',
    auth: 'jwt',
    needs: 'develop',
    rate: 'general',
    status: 200,
    params: z.object({ id: uuid, delivery_id: uuid }),
    not_found: 'Delivery not found',
    data: z.object({
      requests: z.array(z.object({ number: z.int(), headers: z.array(header), body: z.string() })),
    }),
    summary: 'Show the requests of a delivery with their headers',
  }),
} as const

/** The handlers of the requests to a webhook. */
export function sentRequestHandlers(core: DecodedCore): Handlers<typeof sentRequestEndpoints> {
  return {
    async list({ viewer, params: { id, delivery_id } }) {
      return { requests: await core.webhooks.requests(viewer, id, delivery_id) }
    },
  }
}
