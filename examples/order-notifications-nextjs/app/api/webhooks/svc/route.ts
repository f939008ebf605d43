import { type WebhookEvent, webhookHandler } from '@svc/client'
import { orders } from '@/lib/orders'

type Change = WebhookEvent<'message.sent' | 'message.delivered' | 'message.failed'>

/** Deliveries can arrive out of order, so a change with a lower number than the stored one is ignored. */
function storeStatus({ data }: Change): void {
  const order = orders.get(String(data.metadata.order_id))
  if (!order || data.sequence <= (order.notification?.sequence ?? 0)) return
  order.notification = { status: data.status, sequence: data.sequence }
}

const hooks = webhookHandler({
  // A function, because `next build` loads this file without the secret.
  secret: () => process.env.SVC_WEBHOOK_SECRET,
  on: {
    'message.sent': storeStatus,
    'message.delivered': storeStatus,
    'message.failed': storeStatus,
  },
})

export const POST = hooks.fetch
